// What the kind of a group says of its job: how many places, what it is called, whose annotations count, and what is still
// missing before anything can be asked of Slurm.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "bridge/group/members.h"
#include "bridge/policy.h"
#include "kube/quantity.h"
#include "plan/world.h"

namespace capstan::bridge::group {

// One place is one pod's share of the job.
struct Shape {
  int64_t least = 1, most = 1;  // places
  std::string name;             // of the job: "ns/NAME", unless an annotation says otherwise
  // slurmjob.slinky.slurm.net/..., of the object that stands for the group; for single pods of their highest controller, and
  // their own above them.
  std::map<std::string, std::string> annotations;
  std::optional<int64_t> limit_minutes;  // of the object that stands for the group
  Policy policy;                         // of its namespace
  std::string refused;                   // why that makes no sense; "": it does
  kube::Quantity cpu, memory;            // of each of its pods, where they name none
  // "2 of 4 pods are there"; "": nothing. Whoever is gone for a moment is waited for, too.
  std::string missing;
  // Why its annotations are not known yet; "": they are.
  std::string unread;
  // Why its pods cannot start together, so that nothing is asked for them; "": they can.
  std::string no_gang;
  bool settled = true;  // false: more pods may come, and a while without a new one is waited for
  bool ends = true;     // false: others follow the pods that have ended, in the same job
};

// `for_order`: something is to be asked of Slurm, so that controllers are read whom nobody watches.
Shape ShapeOf(const plan::World& world, const kube::Key& key, const Members& members, bool for_order);

}  // namespace capstan::bridge::group
