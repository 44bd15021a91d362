// What a Decide wants: all of it, as data.
//
// A Plan is complete: children that it does not name any more are removed, actions that it does not name any more are
// not started. A Plan that causes no call means done.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/resource.h"
#include "plan/action.h"
#include "plan/ownership.h"
#include "plan/question.h"

namespace capstan::plan {

// An object that belongs to the key alone and is wanted as it says here: server-side applied, left alone while it is
// so. REQUIRES: there is a store of its kind (Stores::Add) whose selectors and namespaces cover it and whose struct
// keeps a json::ObjectMeta. Without a store it is never applied; one that its store does not show is applied once. Both
// are failures that name what is missing, tried again after five minutes.
struct Child {
  const kube::Resource* resource = nullptr;
  kube::Key key;
  std::string body;    // canonical JSON with apiVersion, kind, metadata (owner reference included) and what we want set
  std::string reason;  // why it is there, for log and Event
  std::vector<ActionId> after;
  Adoption adoption = {};  // how one that exists already is known to be ours, besides by its controller
  // Members ("spec/replicas", see Apply) that stay as they are once the body names them no longer, for somebody else to set. Of all
  // others server-side apply takes away what it set, so that a default is there instead.
  std::vector<std::string> keeps = {};
  // Told each time that it has been applied; a restart applies once more, whatever is there. None: nothing a user cares
  // about.
  std::optional<EventText> event = {};
};

// How the service reaches Slurm for a cluster. Wanted by the one key that owns the cluster's configuration.
struct SlurmConnection {
  std::string server;      // "http://main-restapi.slurm.svc.cluster.local.:6820"
  kube::Key token_secret;  // where the signing key is
  std::string token_key;   // under which name
  // Or, instead of the two above, a file that holds a token which somebody else keeps fresh: read again and again, as
  // slurm::TokenFrom (slurm/token_file.h) says.
  std::string token_file = {};
  friend bool operator==(const SlurmConnection&, const SlurmConnection&) = default;
};

struct Plan {
  std::vector<Child> children;
  std::vector<Action> actions;
  // Children are the whole set. False while it cannot be told (a question is open): nothing is pruned then.
  bool children_complete = true;

  std::optional<std::string> status;  // the object's status as JSON: what the World shows, never what is hoped for

  std::optional<SlurmConnection> slurm;    // from the key that owns a cluster: keep this connection
  std::vector<std::string> slurm_expects;  // nodes of `slurm_cluster` about to change: poll them closely
  std::string slurm_cluster;               // "ns/controller"; the lane's name
  // Read the jobs of `slurm_cluster`, too (SlurmView::Jobs), until a Plan of this key no longer says so. That is expensive.
  bool slurm_jobs = false;
  // Look at these jobs of `slurm_cluster` closely (SlurmView::FindJob), until a Plan of this key no longer says so.
  std::vector<int64_t> slurm_follows;

  // Jobs of `slurm_cluster` that another key has to look after, as it has forgotten them with the memory of a process: the key
  // (of a Reconciler with `index`, by the entry's name "ns/name") is decided, and finds each among World::follows().
  struct Handed {
    std::string kind, key;
    int64_t job = 0;
  };
  std::vector<Handed> hands_over;

  // Of a key that is a group of objects (Reconciler::index): whom its Events regard, as its own object those of any other key.
  // Stays until a Plan says another.
  std::optional<EventObject> about;

  // Look again after this long even if nothing is heard. The engine has its own five minutes on top.
  Duration requeue_after = Duration::max();

  ActionId Add(Action action) {
    actions.push_back(std::move(action));
    return actions.back().id();
  }
  void RequeueAfter(Duration wait) { requeue_after = std::min(requeue_after, wait); }
};

}  // namespace capstan::plan
