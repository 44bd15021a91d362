// The Slurm clusters that the service talks to, each through one Source.
//
// Which clusters there are is decided like everything else: the key that owns a cluster's configuration says in its
// Plan how to reach it, and this keeps one Source for each. Tokens are signed here with the cluster's own key. The key
// is read from its Secret before the Source begins, and again whenever a token is asked for, so a rotated key is picked
// up at the second attempt.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "kube/client.h"
#include "plan/key.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/source.h"

namespace capstan::plan {

class SlurmClusters {
 public:
  using SignToken = std::function<Result<Secret>(Duration lifetime)>;

  // A Source, and what keeps it up to date until it is cancelled.
  struct Link {
    std::shared_ptr<slurm::Source> source;
    std::function<async::Task<void>()> run;  // called once; ends before the source does
  };
  // Makes the link to a cluster. In production over HTTP, in tests to a fake slurmrestd. kInvalid: `how` makes no
  // sense.
  using Factory = std::function<Result<Link>(const SlurmConnection& how, SignToken sign)>;

  // What changed of a cluster: names of nodes, World::kSlurmJobs among them for its jobs; none for its reachability.
  using Changed = std::function<void(const std::string& cluster, const std::vector<std::string>& nodes)>;

  SlurmClusters(async::Loop& loop, kube::Client& client, Factory factory, Changed changed, uint64_t seed);
  ~SlurmClusters();

  // Keeps a Source to `cluster` as `how` says, replaces it when that changes, ends it for nullopt.
  void Keep(const std::string& cluster, const std::optional<SlurmConnection>& how);

  // What is known of it now.
  SlurmLook Look(const std::string& cluster) const;

  // nullptr: nobody knows how to reach it, or not yet. Whoever waits for a call of it keeps it alive.
  std::shared_ptr<slurm::Source> Find(const std::string& cluster) const;

  // These nodes are about to change; look at them often for a while.
  void ExpectChange(const std::string& cluster, const std::vector<std::string>& nodes);

  // `who` wants the jobs of `cluster` in its snapshots, or no longer. Forgotten when the Source is replaced, and nothing
  // while there is none: say it again when the cluster is heard.
  void WantJobs(const std::string& cluster, const Key& who, bool wanted);

  // A read of `node` that begins after this call, shared with everybody who asks of this cluster in the same turn.
  // nullopt: slurmctld has no record of it.
  struct FreshNode {
    std::optional<slurm::Node> node;
    bool absence_counts = false;  // had slurmctld been up long enough for the absence to mean something?
  };
  async::Task<Result<FreshNode>> Fresh(std::string cluster, std::string node, async::Deadline deadline);

  // Ends all Sources.
  async::Task<void> Stop();

 private:
  struct Entry;
  struct Batch;

  // An entry is known by its number across a wait: its cluster may have been ended, or followed anew, meanwhile.
  Entry* EntryOf(const std::string& cluster, uint64_t number) const;
  async::Task<void> Begin(std::string cluster, uint64_t number);
  async::Task<void> End(std::unique_ptr<Entry> entry);
  async::Task<void> ReadKey(std::string cluster, uint64_t number);
  Result<Secret> Sign(const std::string& cluster, uint64_t number, Duration lifetime);
  void Heard(const std::string& cluster);

  async::Loop& loop_;
  kube::Client& client_;
  Factory factory_;
  Changed changed_;
  Random random_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  uint64_t entries_made_ = 0;
  async::TaskGroup group_;
  async::TaskGroup ends_;  // never cancelled: what has begun to end ends
};

}  // namespace capstan::plan
