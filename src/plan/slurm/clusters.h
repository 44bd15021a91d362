// The Slurm clusters that the service talks to, each through one Source.
//
// Which clusters there are is decided like everything else: the key that owns a cluster's configuration says in its
// Plan how to reach it, and this keeps one Source for each. Tokens are signed here with the cluster's own key. The key
// is read from its Secret before the Source begins, and again whenever a token is asked for, so a rotated key is picked
// up at the second attempt.
//
// All that is written to nodes goes through here, since a proof must know of it: see ReadForProof.
//
// Thread: the loop's.
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

  // What changed of a cluster: names of nodes, and among them World::kSlurmJobs for its jobs, World::JobName for one that is
  // followed and World::EntryName for an entry of the index; none for its reachability.
  using Changed = std::function<void(const std::string& cluster, const std::vector<std::string>& nodes)>;

  SlurmClusters(async::Loop& loop, kube::Client& client, Factory factory, Changed changed, uint64_t seed);
  ~SlurmClusters();

  // By what the nodes of all clusters are found (Stores::IndexSlurmNodes). Before the first Keep.
  void IndexNodes(NodeEntry entry) { node_entry_ = entry; }

  // Keeps a Source to `cluster` as `how` says, replaces it when that changes, ends it for nullopt.
  void Keep(const std::string& cluster, const std::optional<SlurmConnection>& how);

  // What is known of it now.
  SlurmLook Look(const std::string& cluster) const;

  // nullptr: nobody knows how to reach it, or not yet. Whoever waits for a call of it keeps it alive.
  std::shared_ptr<slurm::Source> Find(const std::string& cluster) const;
  Result<std::shared_ptr<slurm::Source>> Reach(const std::string& cluster) const;  // the same: kUnavailable, in words

  // `who` expects that these nodes will change, and no others any more: they are looked at often for as long. Forgotten
  // as in WantJobs.
  void ExpectChange(const std::string& cluster, const Key& who, const std::vector<std::string>& nodes);

  // `who` wants the jobs of `cluster` in its snapshots, or no longer. Forgotten when the Source is replaced, and nothing
  // while there is none: say it again when the cluster is heard.
  void WantJobs(const std::string& cluster, const Key& who, bool wanted);

  // `who` wants a close look at these jobs, and at no others any more. Forgotten as in WantJobs.
  void Follow(const std::string& cluster, const Key& who, const std::vector<int64_t>& jobs);

  // A read of `node` that begins after this call, shared with everybody who asks the same of this cluster in the same
  // turn. nullopt: slurmctld has no record of it.
  struct FreshNode {
    std::optional<slurm::Node> node;
    bool absence_counts = false;  // had slurmctld been up long enough for the absence to mean something?
    bool holds_job = false;       // of ReadForProof: a job holds it, though it may be suspended and the node IDLE
  };
  async::Task<Result<FreshNode>> Fresh(std::string cluster, std::string node, async::Deadline deadline);

  // The same for a proof that no job is on the node and none will begin there: with the jobs that hold it, from reads
  // that all begin after this call, and after our last write of the node's state was answered. kUnavailable also when
  // such a write is under way, or when one that lifts a drain has failed in a way that leaves open whether it will still
  // be done: until a drain that was sent afterwards has been answered, or kLiftTimeout has passed. A process that led
  // before this one may have sent such a write just before its end: of a node that is drained the same holds from the
  // first Keep of its cluster.
  async::Task<Result<FreshNode>> ReadForProof(std::string cluster, std::string node, async::Deadline deadline);

  // Writes (slurm/source.h); kUnavailable too when nobody knows how to reach the cluster.
  async::Task<Result<void>> UpdateNode(std::string cluster, slurm::NodeUpdate update, async::Deadline deadline);
  async::Task<Result<void>> CreateNode(std::string cluster, slurm::NewNode node, async::Deadline deadline);
  async::Task<Result<void>> DeleteNode(std::string cluster, std::string node, async::Deadline deadline);

  // Longer than a request is kept anywhere between us and slurmctld.
  static constexpr Duration kLiftTimeout = 10min;

  // Ends all Sources.
  async::Task<void> Stop();

 private:
  struct Entry;
  struct Batch;

  // What we have written of one node's state.
  struct Written {
    size_t under_way = 0;
    Tick answered = Tick::min();
    bool drained = false;           // a drain was answered: what a predecessor has sent was done before it
    uint64_t lifts = 0;             // those that took a drain back, or may have
    std::optional<Tick> open_lift;  // since when one of them may still be on its way
  };

  async::Task<Result<FreshNode>> ReadShared(std::string cluster, std::string node, bool with_jobs,
                                            async::Deadline deadline);
  static async::Task<void> Read(slurm::Source& source, Batch& batch, bool with_jobs, async::Deadline deadline);
  bool MayBeLifted(const Written& written) const;
  bool MayBeLiftedByPredecessor(const std::string& cluster, const slurm::Node& node) const;

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
  NodeEntry node_entry_ = nullptr;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
  // By cluster and node; of every node that was ever written to or proven. Outlives the Sources, as what they sent does.
  std::map<std::string, std::map<std::string, Written>> written_;
  std::map<std::string, Tick> followed_since_;  // each cluster that ever was: its first Keep
  uint64_t entries_made_ = 0;
  async::TaskGroup group_;
  async::TaskGroup ends_;  // never cancelled: what has begun to end ends
};

}  // namespace capstan::plan
