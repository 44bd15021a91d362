// A worker: the pod of a NodeSet in which slurmd runs, the volume claims it needs, and the configuration of its sshd.
#pragma once

#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "base/result.h"
#include "operator/render/settings.h"
#include "plan/plan.h"

namespace capstan::op::render {

struct Claim {
  std::string name;
  std::string body;  // canonical JSON; no owner: it outlives the pod
};

struct Worker {
  std::string name;  // of the pod
  std::string host;  // the Slurm node's name
  std::string revision;
  std::string body;           // canonical JSON
  std::vector<Claim> claims;  // to be there before the pod
};

// "w-3", with the set's padding "w-003".
std::string WorkerPodName(const api::NodeSet& set, int ordinal);

// kInvalid: the template asks for what no worker can have, or cannot be read. WorkerPod refuses the same.
Result<void> CheckTemplate(const api::NodeSet& set);

// The worker of that ordinal in StatefulSet mode, as it is created now. kInvalid: a template or extraConf cannot be
// used; the message says which field and why.
Result<Worker> WorkerPod(const api::NodeSet& set, const api::Controller& controller, int ordinal,
                         const Settings& settings = {});

// The ConfigMap with the workers' sshd_config. REQUIRES: spec.ssh.enabled.
plan::Child SshConfig(const api::NodeSet& set);

}  // namespace capstan::op::render
