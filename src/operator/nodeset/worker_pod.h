// A worker: the pod of a NodeSet in which slurmd runs, the volume claims it needs, and the configuration of its sshd.
#pragma once

#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "base/result.h"
#include "operator/nodeset/scale.h"
#include "operator/render/json.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::nodeset {

struct NewClaim {
  std::string name;
  std::string body;  // canonical JSON; no owner: it outlives the pod
};

struct NewWorker {
  std::string name;  // of the pod
  std::string host;  // the Slurm node's name; "": that of the machine that it will be placed on
  std::string revision;
  std::string body;              // canonical JSON
  std::vector<NewClaim> claims;  // to be there before the pod
};

// "w-3", with the set's padding "w-003".
std::string WorkerPodName(const api::NodeSet& set, int ordinal);

// What it is called in Slurm; in StatefulSet mode, without hostNetwork.
std::string WorkerHost(const api::NodeSet& set, int ordinal);

// With hostNetwork in StatefulSet mode: workers are called as their machines, which nobody knows before they are placed. kInvalid: no JSON.
Result<bool> AreNamedByMachine(const api::NodeSet& set);

// What a worker may use of its machine: whole CPUs and MiB; 0: there is no limit. kInvalid: it is no quantity.
struct WorkerShare {
  int64_t cpus = 0, memory_mib = 0;
};
Result<WorkerShare> ShareOf(const api::NodeSet& set);

// The value of its slurmd's --conf. kInvalid: spec.extraConf, or a template, cannot be used.
Result<std::string> RegistersWith(const api::NodeSet& set, const api::Controller& controller);

// kInvalid: the template asks for what no worker can have, or cannot be read. WorkerTemplate::Of refuses the same.
Result<void> CheckTemplate(const api::NodeSet& set);

// A claim of which only the name is missing.
struct ClaimTemplate {
  std::string volume;
  render::Json object;
};

// The workers of a NodeSet as they are created now: what they have in common is merged once, and each is stamped from it. Refers to `set`, which outlives it.
class WorkerTemplate {
 public:
  // kInvalid: a template or extraConf cannot be used; the message says which field and why.
  // `boots`: slurmctld waits for some of them as for machines that boot (slurm/cloud_node.h).
  static Result<WorkerTemplate> Of(const api::NodeSet& set, const api::Controller& controller,
                                   const Settings& settings = {}, bool boots = false);

  // REQUIRES: `place` is one of the set's mode.
  NewWorker Stamp(const Place& place);

 private:
  void BindTo(const std::string& node);
  void Unbind();
  void StampClaims(const std::string& ending, NewWorker& worker);

  const api::NodeSet* set_ = nullptr;
  std::string revision_;
  std::string host_prefix_;  // of the Slurm node's name; empty: it has the pod's
  bool named_by_machine_ = false;
  render::Json pod_;        // as it was stamped last
  render::Json free_spec_;  // where it is bound to a node: the parts that this took the place of
  bool bound_ = false;
  std::vector<ClaimTemplate> claims_;
};

// spec.ssh.enabled: people come into the workers.
bool HasSsh(const api::NodeSet& set);

// As render/ssh.h has it. With an image that does not, its sshd_config and sssd.conf are those of the worker's start, and its
// host keys its own. kInvalid: spec.slurmd is no object.
Result<bool> ReadsFilesLive(const api::NodeSet& set, const Settings& settings);

// The ConfigMap with the workers' sshd_config. REQUIRES: HasSsh(set).
plan::Child SshConfig(const api::NodeSet& set);

}  // namespace capstan::op::nodeset
