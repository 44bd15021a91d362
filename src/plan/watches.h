// The watches that feed the stores: which kinds, in which namespaces.
//
// Kinds marked `everywhere` (custom resources) are watched in all namespaces, or in those the service was given. The
// others are watched in a namespace from the moment a custom resource is seen there, so that a cluster full of other
// people's objects costs nothing.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "kube/client.h"
#include "kube/store_metrics.h"
#include "kube/watch.h"
#include "plan/stores.h"

namespace capstan::plan {

class Watches {
 public:
  Watches(async::Loop& loop, kube::Client& client, Stores& stores, uint64_t seed);
  ~Watches();

  // Starts the watches of the kinds that are watched everywhere: in `namespaces`, or in all when it is empty.
  void Start(const std::vector<std::string>& namespaces);

  // A custom resource lives in `ns`: watch the other kinds there too.
  void Follow(const std::string& ns);

  // Every watch has listed once. False before Start. A namespace that is followed anew makes it false again for a
  // moment: nothing is decided on half a picture.
  bool Synced() const;

  async::Task<void> Stop();

 private:
  void Watch(const Stores::Entry& entry, const std::string& ns);

  async::Loop& loop_;
  kube::Client& client_;
  Stores& stores_;
  Random random_;
  bool started_ = false;
  std::set<std::string> followed_;
  std::vector<std::unique_ptr<kube::Watcher>> watchers_;
  std::optional<kube::StoreMetrics> figures_;  // where the client counts
  async::TaskGroup group_;
};

}  // namespace capstan::plan
