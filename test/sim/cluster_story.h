// The SlurmCluster of a site that is one object, and what its user does to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "machines.h"

namespace capstan::sim {

class ClusterStory {
 public:
  // REQUIRES: `machines` outlives this.
  ClusterStory(Machines& machines, kube::Key key);

  const kube::Key key;
  bool has_root = false;  // wants a shared root when it is applied

  // Adds a NodeSet, or the SlurmCluster with it; once the former one is gone. `spec`: members of spec.nodeSets[].spec, as JSON text.
  void Want(const std::string& set, const std::string& spec, std::optional<int> replicas);
  void TakeOut(const std::string& set);
  void Scale(const std::string& set, int replicas);  // by its own words
  void SetMode(std::string_view mode);
  void SetPaused(bool paused);
  void Run();  // neither paused nor in another mode
  void SetRoot(const std::string& revision, const std::string& keep, int history);  // REQUIRES: has_root
  void SetDeletionPolicy(std::string_view policy);
  void Delete();

  bool IsGone() const;
  bool IsHeld() const;  // its deletion waits for its workers
  bool Wants(const std::string& set) const;

 private:
  void Edit(const std::function<void(boost::json::object& spec)>& change);
  void Say(const std::string& what) { machines_.story.Add("user: SlurmCluster " + key.ToString() + " " + what); }
  bool IsDeleting() const;

  Machines& machines_;
};

}  // namespace capstan::sim
