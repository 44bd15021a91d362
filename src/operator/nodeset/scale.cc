#include "operator/nodeset/scale.h"

#include <algorithm>
#include <set>
#include <unordered_set>

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
  scale.missing = std::max(0, replicas - int(workers.size()));
  const auto now = size_t(std::min(scale.missing, kMostCreations));
  for (int ordinal = 0; scale.create.size() < now; ++ordinal) {
    if (!taken.contains(ordinal)) scale.create.push_back(ordinal);
  }
  const size_t surplus = size_t(std::max(0, int(staying.size()) - replicas));
  std::vector<const Worker*> ranked = staying;
  if (surplus > 0) SortForScaleIn(ranked);  // else nobody asks who would go first
  scale.by_job_end = ByJobEnd(ranked, surplus);
  if (const auto* jobs = scale.by_job_end > 0 ? slurm.Jobs() : nullptr)
    SortForScaleIn(ranked, JobEndsOf(*jobs, ranked));
  scale.surplus.assign(ranked.begin(), ranked.begin() + std::ptrdiff_t(surplus));
  const std::unordered_set<const Worker*> going(scale.surplus.begin(), scale.surplus.end());
  for (const Worker* worker : staying) {
    if (!going.contains(worker)) scale.kept.push_back(worker);
  }
  return scale;
}

}  // namespace capstan::op::nodeset
