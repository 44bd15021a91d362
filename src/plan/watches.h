// The watches that feed the stores: which kinds, in which namespaces.
//
// Kinds marked `everywhere` (custom resources) are watched in all namespaces, or in those the service was given. The
// others are watched in a namespace from the moment a custom resource is seen there, so that a cluster full of other
// people's objects costs nothing; and until none has been there for ten minutes, so that namespaces that come and go do
// not add up. Kinds without namespaces are watched as a whole. The objects of a custom resource without a namespace may
// have their children in any: where there is such a reconciler, all kinds are watched like those marked.
//
// Each watch is a connection: net::HttpClient::Options::max_streams bounds how many there can be.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
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

  // Starts the watches of the kinds that are watched everywhere: in `namespaces`, or in all when it is empty. With
  // `every_kind` those are all kinds, and no namespace is followed.
  void Start(const std::vector<std::string>& namespaces, bool every_kind = false);

  // A custom resource lives in `ns`: watch the other kinds there too.
  void Follow(const std::string& ns);

  // Called now and then: whatever `in_use` has denied for ten minutes is no longer followed, and its objects leave the
  // stores.
  void LeaveUnused(const std::function<bool(const std::string& ns)>& in_use);

  // Every watch has listed once, or is of an optional kind that is not served. False before Start, and again while a
  // namespace that is followed anew, or an optional kind that has appeared, is listed for the first time: nothing is
  // decided on half a picture. A kind that may not be listed (403) in a single namespace therefore holds up everything
  // until it may be, or the namespace is left.
  bool Synced() const;

  // What keeps it from that, in words: "pods in slurm (forbidden: ...)".
  std::vector<std::string> Unlisted() const;

  async::Task<void> Stop();

 private:
  // Watches that begin and end together.
  struct Watched {
    const kube::Feed* feed;
    std::unique_ptr<kube::Watcher> watcher;
  };
  struct Followed {
    explicit Followed(async::Loop& loop) : group(loop) {}
    std::vector<Watched> watchers;
    std::optional<Tick> unused_since;
    bool leaving = false;
    async::TaskGroup group;  // after what its tasks use
  };
  bool Everywhere(const Stores::Entry& entry) const;
  void Watch(Followed& with, const Stores::Entry& entry, const std::string& ns);
  async::Task<void> Leave(std::string ns);
  static void NameUnlisted(const Followed& followed, std::vector<std::string>& names);

  async::Loop& loop_;
  kube::Client& client_;
  Stores& stores_;
  Random random_;
  bool started_ = false;
  bool every_kind_ = false;
  Followed everywhere_;
  std::map<std::string, std::unique_ptr<Followed>> followed_;  // by namespace
  std::optional<kube::StoreMetrics> figures_;                  // where the client counts
  async::TaskGroup group_;
};

}  // namespace capstan::plan
