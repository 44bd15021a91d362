// What the bridge was told at its start. The same for the whole life of the process, and part of the World.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "kube/quantity.h"
#include "plan/world.h"

namespace capstan::bridge {

struct Settings {
  std::string bridge;  // its own name among all bridges of the cluster: "<namespace>.<fullname>", a label's value
  std::string slurm_rest_api;                             // "http://slurm-restapi.slurm.svc:6820"
  std::string token_file;                                 // holds a token of SlurmUser; read again and again
  std::string scheduler_name = "slurm-bridge-scheduler";  // of the taint and of its toleration
  std::string mcs_label = "kubernetes";
  std::string shared =
      "mcs";  // of orders that do not want their nodes alone (ExternalJob::shared): "" with any job of Slurm
  std::string partition = "slurm-bridge";  // of orders that name none
  // The ids of our jobs: `first_id` and `ids - 1` after it.
  int64_t first_id = 40'000'000, ids = 27'043'328;
  Duration bind_timeout = 5min;  // for what has been allocated and cannot be used
  // Of machines that are nodes of Slurm, too (node/decide.h): the effect of their taint, "": they get none; and what of
  // their allocatable resources is left to pods that Slurm knows nothing of.
  std::string node_taint = "NoSchedule";
  kube::Quantity reserved_cpu = {}, reserved_memory = {};
  // Of namespaces (policy.h): one that does not say whose its jobs are is refused; and pods of one without a policy may name a user,
  // a group and a priority.
  bool policy_required = false, allow_identity = false;
  bool take_over = false;  // pods of Slinky's slurm-bridge, which is gone, become this bridge's (take_over.h)
  bool ungate = false;     // the bridge is to be taken away: what waits is left to Kubernetes

  friend bool operator==(const Settings&, const Settings&) = default;
};

// REQUIRES: the program was given them.
inline const Settings& SettingsOf(const plan::World& world) { return *world.Settings<Settings>(); }

// Of the one Slurm cluster that a bridge talks to; the name of its lane.
inline constexpr auto kSlurm = "slurm";

}  // namespace capstan::bridge
