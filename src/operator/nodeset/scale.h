// How many workers there should be, and which: ordinals to create, workers to take away, workers to keep.
#pragma once

#include <vector>

#include "operator/nodeset/workers.h"

namespace capstan::op::nodeset {

// The most objects that one Plan asks for; the rest follows when some of them are there.
inline constexpr int kMostCreations = 250;

struct Scale {
  int missing = 0;                     // how many workers there are too few
  std::vector<int> create;             // ordinals of the first of them, ascending; at most kMostCreations
  std::vector<const Worker*> surplus;  // too many: in the order in which they go
  std::vector<const Worker*> kept;     // by ordinal; none that is leaving
  // So many of the surplus, the last ones, go rather than others because their jobs end first. Where the World does
  // not show the jobs, that was left out.
  size_t by_job_end = 0;
};

// New ordinals are the lowest that no pod has; an ordinal is free again only when its pod is gone. Pods that are
// leaving still count against creating, so a deleted worker comes back under its own ordinal.
Scale ScaleTo(int replicas, const std::vector<Worker>& workers, const plan::SlurmView& slurm);

}  // namespace capstan::op::nodeset
