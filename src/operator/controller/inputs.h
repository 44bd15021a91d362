// What the configuration of a cluster is made from, collected from the World.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/controller.h"
#include "operator/controller/config.h"
#include "operator/findings.h"
#include "operator/objects.h"
#include "plan/world.h"

namespace capstan::op::controller {

struct ConfigInputs {
  Config config;
  bool own_cgroup_conf = false;              // the user brings a cgroup.conf
  bool tree_by_labels = false;               // topology.yaml is made for the places of workers (topology.h)
  std::vector<std::string> digests;          // of the user's ConfigMaps, in the order of FileConfigMaps
  std::map<std::string, std::string> files;  // of the user's: the SHA-256 (hex) of each
  std::vector<std::string> nodes;            // hostlists of nodes that the user's files name (slurm/named_nodes.h)
  bool complete = true;  // false: something is not known, or not as it must be; `findings` says what
};

// Reads NodeSets, Accounting and the user's ConfigMaps. `controller` has its defaults; `set` is its StatefulSet, and
// `published` the configuration that is published, nullptr when there is none. Adds to `findings` what is missing (a problem) or not known yet (a wait).
ConfigInputs Collect(const plan::World& world, const api::Controller& controller, const StatefulSet* set,
                     const PublishedConfig* published, Findings& findings);

// The configuration as it is to be published. kInvalid: Slurm would not start with it.
Result<PublishedConfig> MakeConfig(const api::Controller& controller, const ConfigInputs& inputs,
                                   std::vector<std::string>& doubts);

// Equal while slurmctld would see the same, whatever comments and empty lines say.
std::string ConfigHash(const PublishedConfig& config, const std::vector<std::string>& digests);

}  // namespace capstan::op::controller
