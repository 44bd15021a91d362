// The configuration that the chart writes for all programs of a bridge: `config.yaml` of the ConfigMap `<fullname>-config`. The
// keys of Slinky's slurm-bridge mean what they mean there; which namespaces are bridged stands in the webhook's own
// configuration, so that `managedNamespaces` and `managedNamespaceSelector` are read by nobody here.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bridge/settings.h"

namespace capstan::bridge {

struct Config {
  std::string scheduler_name = "slurm-bridge-scheduler";               // schedulerName
  std::string target_scheduler_name = "default-scheduler";             // targetSchedulerName: who binds what is let go
  std::string slurm_rest_api = "http://slurm-restapi.slurm.svc:6820";  // slurmRestApi
  std::string mcs_label = "kubernetes";                                // mcsLabel
  std::string sharing = "mcs";                                         // sharing: or "any"
  std::string partition = "slurm-bridge";                              // partition
  std::string job_ids = "40000000-67043327";                           // jobIds: first and last
  int64_t bind_timeout_seconds = 300;                                  // bindTimeout
  std::string node_taint = "NoSchedule";                               // nodeTaint: or "NoExecute", "none"
  std::string reserved_cpu = "0", reserved_memory = "0";               // nodeReserve*: quantities
  bool policy_required = false, allow_identity = false;                // policyRequired, policyAllowIdentity
  bool take_over = false;                                              // takeOver
  bool ungate = false;                                                 // ungate

  bool operator==(const Config&) const = default;
};

// `name`: of the file, for messages. kInvalid: one sentence that names the file, the key, and what would be right. Keys that
// nobody knows are left alone.
Result<Config> ReadConfig(std::string_view text, std::string_view name);

// kInvalid: its jobIds, sharing, nodeTaint or nodeReserve* make no sense.
Result<Settings> SettingsFrom(const Config& config, std::string bridge, std::string token_file);

// A bridge's name among all of a cluster, fit for a label's value: "<namespace>.<fullname>", or its beginning and a hash.
std::string BridgeName(std::string_view ns, std::string_view fullname);

}  // namespace capstan::bridge
