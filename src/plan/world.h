// Everything that a Decide may know, at one moment, read only.
//
// Pointers and spans from here are good for this one Decide. All that is handed out is noted, and wakes the key when it
// changes; there is nothing to subscribe to. Absence proves nothing by itself: whoever would destroy something because
// of it asks for a guard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/ledger.h"
#include "plan/question.h"
#include "plan/reads.h"
#include "plan/slurm/node_index.h"
#include "plan/stores.h"
#include "slurm/snapshot.h"
#include "slurm/source.h"

namespace capstan::plan {

// What the engine can say of a cluster at this moment.
struct SlurmLook {
  enum class State : uint8_t {
    kNone,         // nobody has said how to reach it: no RestApi, or not yet
    kUnheard,      // there is a way, and no answer yet
    kHeard,        // the snapshot is current
    kUnreachable,  // it answered once, and does not now; the snapshot is old
  };
  State state = State::kNone;
  std::string error;  // why it is not heard, in words
  std::shared_ptr<const slurm::Snapshot> snapshot;
  std::shared_ptr<const NodeIndex> index = {};  // of the snapshot's nodes; null: there is none
  bool absence_counts = false;
  Duration age{0};                                   // of the snapshot: since the read began that confirmed it
  Duration jobs_age{0};                              // the same of its jobs; means nothing while it has none
  std::set<std::string, std::less<>> may_be_lifted;  // nodes (SlurmView::MayBeLifted)
  std::shared_ptr<const slurm::FollowedJobs> followed;
  Duration followed_age{0};  // since the last look at all of those began
};

// What is known of one Slurm cluster.
class SlurmView {
 public:
  using State = SlurmLook::State;

  State state() const { return look_.state; }
  bool heard() const { return look_.state == State::kHeard; }
  const std::string& error() const { return look_.error; }

  // nullptr: no record of that name, as far as the snapshot shows; or no snapshot. Notes the node.
  const slurm::Node* Find(std::string_view node) const;

  // All nodes, by name. Notes every one, and that there may be more.
  std::span<const slurm::Node> All() const;

  // The nodes in this entry of the index (Stores::IndexSlurmNodes), by name. Notes the entry.
  std::vector<const slurm::Node*> By(std::string_view entry) const;

  // A drain of this node may be lifted at any moment, by a write of ours that nobody knows the end of: no proof about it
  // counts until it has been drained anew (SlurmClusters::ReadForProof).
  bool MayBeLifted(std::string_view node) const { return look_.may_be_lifted.contains(node); }

  // May a missing record be taken for what it seems? Not while unheard, nor before a new slurmctld has been up long
  // enough for its nodes to come back (SlurmdTimeout and a minute).
  bool absence_counts() const { return look_.absence_counts; }

  // The life of slurmctld (slurm::Incarnation) in which the snapshot's nodes were read, or the next one; "": no snapshot. A change
  // of it wakes whoever has looked at the cluster.
  std::string life() const { return look_.snapshot ? look_.snapshot->incarnation.id : std::string(); }

  // How old the snapshot is: what it says was true at some moment since then.
  Duration age() const { return look_.age; }

  // Its jobs, by id; nullptr: not known, as no Plan wants them (Plan::slurm_jobs) or they have not been read yet. Notes
  // them.
  const std::vector<slurm::Job>* Jobs() const;

  // One job that a Plan follows (Plan::slurm_follows), as the last look at it found it, or what points at nothing: slurmctld says
  // that it has no job of that id. nullptr: nobody follows it, or it has not been looked at yet. Notes it.
  const std::shared_ptr<const slurm::Job>* FindJob(int64_t id) const;

  // How old that is at most: what it says was true at some moment since then. Grows while looks fail.
  Duration followed_age() const { return look_.followed_age; }

  // How old those are, as age(). They may be read anew and found unchanged, which wakes nobody.
  Duration jobs_age() const { return look_.jobs_age; }

 private:
  friend class World;
  SlurmLook look_;
  std::string cluster_;
  Reads* reads_ = nullptr;
};

class World {
 public:
  // What a World shows. The engine fills it; a test may, too.
  struct Parts {
    Time now{};
    Tick tick{};
    const Stores* stores = nullptr;
    std::function<SlurmLook(const std::string& cluster)> slurm;
    const Answers* answers = nullptr;
    std::set<std::string> in_flight;         // targets of this key's actions that have started and not ended
    std::vector<Failure> failures;           // of this key's actions
    std::map<std::string, Tick> held_since;  // facts that this key's last Decide stated
    std::vector<int64_t> follows;            // jobs that this key's last Plan followed
    const void* settings = nullptr;          // what the service was started with; of its own type
  };
  explicit World(Parts parts) : parts_(std::move(parts)) {}

  Time now() const { return parts_.now; }

  // What the service was started with, the same for every Decide of a process; nullptr: nothing was given. REQUIRES: it
  // is a T.
  template <class T>
  const T* Settings() const {
    return static_cast<const T*>(parts_.settings);
  }

  // --- Kubernetes ----------------------------------------------------------------------------------------------------

  // nullptr: not there, as far as we know.
  template <class T>
  const T* Find(const kube::Key& key) const {
    const kube::Store<T>& store = parts_.stores->Of<T>();
    reads_.Note(MakeRead(store.name(), key.ToString()));
    return store.Find(key);
  }

  // Everything whose controller has this uid, by name.
  template <class T>
  kube::ObjectList<T> OwnedBy(std::string_view uid) const {
    return By<T>("owner", uid);
  }

  // Everything in a namespace, by name.
  template <class T>
  kube::ObjectList<T> In(std::string_view ns) const {
    const kube::Store<T>& store = parts_.stores->Of<T>();
    reads_.Note(IndexRead(store.name(), "namespace", ns));
    return store.InNamespace(ns);
  }

  // The entry `value` of the index `index` (store.h), by namespace and name.
  template <class T>
  kube::ObjectList<T> By(std::string_view index, std::string_view value) const {
    const kube::Store<T>& store = parts_.stores->Of<T>();
    reads_.Note(IndexRead(store.name(), index, value));
    return store.By(index, value);
  }

  // Does the API server have this kind? False only of kinds that are optional (Watching), from a 404 in any namespace
  // until the kind has been listed in all. A child of it would be refused: leave it out of the Plan until this is true,
  // which wakes the key. Nothing of the kind is pruned meanwhile.
  template <class T>
  bool Served() const {
    const kube::Store<T>& store = parts_.stores->Of<T>();
    reads_.Note(ServedRead(store.name()));
    return store.Served();
  }

  // --- Slurm ---------------------------------------------------------------------------------------------------------

  SlurmView Slurm(const std::string& cluster) const;

  // --- What is asked, and what happened ------------------------------------------------------------------------------

  // The answer to a question, at most `max_age` old if it could be had; see question.h.
  template <class Q>
  Answer<typename Q::Value> Ask(Q question, Duration max_age) const {
    return Typed<typename Q::Value>(AskAny(std::make_shared<const Q>(std::move(question)), max_age));
  }

  // The actions of this key that did not work out, by target; without the write of its status.
  std::span<const Failure> failures() const { return parts_.failures; }

  // An action of this key on `target` is under way: what it will have done cannot be seen yet. Its end wakes the key.
  bool InFlight(const std::string& target) const { return parts_.in_flight.contains(target); }

  // The jobs that this key follows (Plan::slurm_follows of its last Plan), as far as this process knows, and those that
  // another key has handed over: whoever decides that a group is gone finds here what it leaves behind. Losing the memory loses
  // these: another key looks for them (Plan::hands_over).
  std::span<const int64_t> follows() const { return parts_.follows; }

  // How long `fact` has held without interruption, as far as this process knows: since the first of the consecutive
  // Decides that called this with it. Losing the memory (a restart) starts the wait anew and never shortens it.
  Duration HeldFor(std::string_view fact) const;

  // For the engine: what this World handed out and was told.
  const Reads& reads() const { return reads_; }
  void NoteRead(Read read) const { reads_.Note(read); }
  const std::vector<Asked>& asked() const { return asked_; }
  const std::map<std::string, Tick>& facts() const { return facts_; }

  // `store`: its name.
  static Read IndexRead(std::string_view store, std::string_view index, std::string_view value) {
    return MakeRead(std::string(store) + "/" + std::string(index), value);
  }
  static Read ServedRead(std::string_view store) { return MakeRead("served", store); }
  // In place of a node's name: the jobs.
  static constexpr std::string_view kSlurmJobs = "/jobs";
  // The same for an entry of the index, and for one job.
  static std::string EntryName(std::string_view entry) { return "/by/" + std::string(entry); }
  static std::string JobName(int64_t id) { return "/job/" + std::to_string(id); }
  static Read NodeRead(std::string_view cluster, std::string_view node) {
    return MakeRead("slurm/" + std::string(cluster), node);
  }

 private:
  Answer<void> AskAny(std::shared_ptr<const Question> question, Duration max_age) const;

  template <class T>
  static Answer<T> Typed(const Answer<void>& any) {
    return {any.state, static_cast<const T*>(any.value), any.error, any.age};
  }

  Parts parts_;
  mutable Reads reads_;
  mutable std::vector<Asked> asked_;
  mutable std::map<std::string, Tick> facts_;
};

}  // namespace capstan::plan
