#include "operator/nodeset/scale.h"

#include <algorithm>
#include <set>

namespace capstan::op::nodeset {

Scale ScaleTo(int replicas, const std::vector<Worker>& workers) {
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
  const int surplus = std::max(0, int(staying.size()) - replicas);
  std::vector<const Worker*> ranked = staying;
  SortForScaleIn(ranked);
  scale.condemned.assign(ranked.begin(), ranked.begin() + surplus);
  for (const Worker* worker : staying) {
    if (std::ranges::find(scale.condemned, worker) == scale.condemned.end()) scale.kept.push_back(worker);
  }
  return scale;
}

}  // namespace capstan::op::nodeset
