// The Slurm clusters that the service talks to, each through one Source.
//
// Which clusters there are is decided like everything else: the key that owns a cluster's configuration says in its Plan
// how to reach it, and this keeps one Source for each. Tokens are signed here, with the cluster's own key, read from its
// Secret when a token is needed and at most once a minute; they last 15 minutes and are renewed after 12.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "slurm/source.h"

namespace capstan::plan {

class SlurmClusters {
 public:
  // Makes the Source of a cluster. In production over HTTP, in tests over a fake slurmrestd.
  using Factory = std::function<std::unique_ptr<slurm::Source>(const std::string& cluster, const SlurmConnection& how)>;

  // `changed` is called with the cluster and what changed: names of nodes, or "" for reachability and incarnation.
  using Changed = std::function<void(const std::string& cluster, const std::vector<std::string>& nodes)>;

  SlurmClusters(Factory factory, Changed changed) : factory_(std::move(factory)), changed_(std::move(changed)) {}

  // Keeps a Source to `cluster` as `how` says, replaces it when that changes, ends it for nullopt.
  void Keep(const std::string& cluster, const std::optional<SlurmConnection>& how);

  // nullptr: nobody knows how to reach it.
  slurm::Source* Find(const std::string& cluster) const;

 private:
  struct Entry {
    SlurmConnection how;
    std::unique_ptr<slurm::Source> source;
  };
  Factory factory_;
  Changed changed_;
  std::map<std::string, Entry> entries_;
};

}  // namespace capstan::plan
