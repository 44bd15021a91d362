// The comment that the operator gives a worker's record in Slurm: who stands behind the node. JSON text in the Slinky projects'
// key order, and one key of ours.
#pragma once

#include <optional>
#include <string>

#include "json/schema.h"
#include "slurm/snapshot.h"

namespace capstan::op {

struct WorkerComment {
  std::string ns, pod, node, set, set_uid;
  // The life of slurmctld (Incarnation::id) in which the record came, or was first seen: what names the node and was read at that
  // life's beginning leaves it out. "": an older release wrote the comment.
  std::string life;

  // nullopt: the record's comment is empty or another's.
  static std::optional<WorkerComment> Of(const slurm::Node& node);
  std::string ToString() const;

  static const json::Schema& Schema();
  bool operator==(const WorkerComment&) const = default;
};

}  // namespace capstan::op
