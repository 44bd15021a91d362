// One NodeSet of a run, and what its user does to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "site.h"

namespace capstan::sim {

class SetStory {
 public:
  // REQUIRES: `site` outlives this.
  SetStory(Site& site, const std::string& name, int most);

  const std::string name;  // in the SlurmCluster, where there is one
  const kube::Key key;
  Site& site;
  const int most;  // workers for which there are machines

  void Install(int replicas);  // and its cluster, as far as that is not there
  void Scale(int replicas);
  // The slurmd of each pod that is made from now on calls itself kAlias and then its worker's name; or no longer.
  static constexpr auto kAlias = "x-";
  void CallOtherwise(bool otherwise, bool mute = false);
  void SetMode(bool daemon);
  void SetOnDemand(bool on_demand);
  void ChangeTemplate();                       // workers that are made from now on are of another revision
  void UpdateBy(const std::string& strategy);  // JSON of spec.updateStrategy
  // May be put in DaemonSet mode: nobody else's workers stand in its way, or have the names of machines in Slurm.
  bool may_be_daemon = false;
  bool names_replicas = false;                  // its SlurmCluster does, so that nobody else may
  bool may_be_on_demand = false;                // never called as machines, and no SlurmCluster is above it
  bool host_network = false;                    // its workers are called as their machines
  void Delete(const std::string& propagation);  // as `kubectl delete --cascade=...` does
  void ForceDeletion();
  void LetJobsEnd() { jobs_may_end_ = true; }

  bool IsGone() const;
  bool IsDeleting() const;
  int replicas() const;
  std::optional<Time> UpdateStart() const;              // when its scheduled update begins; nullopt: it has none
  int most_replicas() const { return most_replicas_; }  // ever asked for
  bool IsDaemonSet() const;
  std::vector<std::string> Workers() const;   // names of its pods, orphans included, by name
  std::vector<std::string> Hosts() const;     // theirs in Slurm, in the same order
  std::vector<std::string> Misnamed() const;  // those whose slurmd calls itself otherwise
  // Somebody has asked for an end of the workers whatever runs on them, or has left the operator nobody to ask.
  bool JobsMayEnd() const { return jobs_may_end_ || site.JobsMayEnd(); }
  // What its user has written to the NodeSet itself, beside a SlurmCluster that says nothing of it, and is no longer there.
  std::optional<std::string> Lost() const;

 private:
  std::string SpecText() const;
  void ScaleOnceThere(int replicas, int install);

  int installs_ = 0;
  std::optional<int> scaled_;  // by its user, since it is there
  std::string conf_;           // the same
  int most_replicas_ = 0;
  int templates_ = 0;
  bool jobs_may_end_ = false;  // until it is installed again
};

}  // namespace capstan::sim
