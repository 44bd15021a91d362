#include "operator/nodeset/scale.h"

#include <algorithm>
#include <set>

namespace capstan::op::nodeset {

namespace {

// How many of the first `surplus` the end of their jobs tells from those that follow.
size_t ByJobEnd(const std::vector<const Worker*>& ranked, size_t surplus) {
  if (surplus == 0 || surplus == ranked.size()) return 0;
  size_t first = surplus;
  while (first > 0 && JobEndsTell(*ranked[first - 1], *ranked[surplus])) --first;
  return surplus - first;
}

}  // namespace

Scale ScaleTo(int replicas, const std::vector<Worker>& workers, const plan::SlurmView& slurm) {
  Scale scale;
  std::set<int> taken;
  std::vector<const Worker*> staying;
  for (const Worker& worker : workers) {
    taken.insert(worker.ordinal);
    if (worker.stage != Stage::kLeaving) staying.push_back(&worker);
  }
  int missing = replicas - int(workers.size());
  for (int ordinal = 0; missing > 0; ++ordinal) {
    if (taken.contains(ordinal)) continue;
    scale.create.push_back(ordinal);
    --missing;
  }
  const size_t surplus = size_t(std::max(0, int(staying.size()) - replicas));
  std::vector<const Worker*> ranked = staying;
  SortForScaleIn(ranked);
  scale.by_job_end = ByJobEnd(ranked, surplus);
  if (const auto* jobs = scale.by_job_end > 0 ? slurm.Jobs() : nullptr)
    SortForScaleIn(ranked, JobEndsOf(*jobs, ranked));
  scale.surplus.assign(ranked.begin(), ranked.begin() + std::ptrdiff_t(surplus));
  for (const Worker* worker : staying) {
    if (std::ranges::find(scale.surplus, worker) == scale.surplus.end()) scale.kept.push_back(worker);
  }
  return scale;
}

}  // namespace capstan::op::nodeset
