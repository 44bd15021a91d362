// Where the pods of a group go once its job runs. Pure, and stable: who has a node keeps it.
#pragma once

#include <string>
#include <vector>

#include "bridge/group/members.h"
#include "plan/world.h"

namespace capstan::bridge::group {

struct Placing {
  // Why nobody can be released now; "": nothing.
  std::string trouble;
  bool unsuitable = false;  // it is that a node does not suit a pod, which no waiting mends
  struct Release {
    const Pod* pod;
    std::string slurm_node, node;  // and the Kubernetes node
  };
  std::vector<Release> releases;          // of gated pods of the job
  std::vector<const Pod*> newcomers;      // gated pods that are not of the job yet, and for whom it has a place
  std::vector<const Pod*> without_place;  // gated pods for whom it has none
};

// `job`: runs, and is of the group. `cluster`: uid of kube-system. Gated pods are placed by rank, `pods_per_node` to each of the
// job's nodes; those that were released count where they are.
Placing PlaceIn(const plan::World& world, const Members& members, const slurm::Job& job, int64_t pods_per_node,
                const std::string& cluster);

}  // namespace capstan::bridge::group
