// One NodeSet of a run, and what its user does to it.
#pragma once

#include <string>
#include <vector>

#include "site.h"

namespace capstan::sim {

class SetStory {
 public:
  // REQUIRES: `site` outlives this.
  SetStory(Site& site, std::string name, int most);

  const kube::Key key;
  Site& site;
  const int most;  // workers for which there are machines

  void Install(int replicas);  // and its cluster, as far as that is not there
  void Scale(int replicas);
  void Delete(const std::string& propagation);  // as `kubectl delete --cascade=...` does
  void ForceDeletion();
  void LetJobsEnd() { jobs_may_end_ = true; }

  bool IsGone() const;
  bool IsDeleting() const;
  int replicas() const;
  int most_replicas() const { return most_replicas_; }  // ever asked for
  std::vector<std::string> Workers() const;             // names of its pods, orphans included, by name
  // Somebody has asked for an end of the workers whatever runs on them, or has left the operator nobody to ask.
  bool JobsMayEnd() const { return jobs_may_end_ || site.JobsMayEnd(); }

 private:
  int most_replicas_ = 0;
  bool jobs_may_end_ = false;  // until it is installed again
};

}  // namespace capstan::sim
