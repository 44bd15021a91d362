// What a kind promises, from the outside: everything that a key of it may ever send, what must never happen, and what
// done means for the user. A contract is written against the API alone and shares no code with the Decide, which the
// simulator holds to it. testing/contracts.h has the one of each kind.
//
// Objects are JSON as the API server has them, with their defaults; a custom resource is of the contract's kind.
//
// Functions without state; any thread.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kube/resource.h"
#include "slurm/snapshot.h"

namespace capstan::op {

// One write as it reaches the API server.
struct Call {
  std::string verb;  // "apply", "create", "patch", "delete"
  std::string kind;  // "StatefulSet"
  kube::Key key;
  std::string subresource = {};
  std::string body = {};
  bool refused = false;  // it has had no effect
};

// One write as it reaches slurmrestd.
struct SlurmCall {
  std::string cluster;  // "namespace/controller", whose slurmrestd it is
  std::string verb;     // "update", "delete"
  std::string node;     // "": a reservation is written or deleted
  std::string state;    // "DRAIN", "UNDRAIN", "RESUME", ...; "": unchanged
  std::string reason;
  std::string reservation = {};
};

// What there is around one custom resource at one moment. Pointers are valid until the next change.
struct Around {
  std::function<const json::Value*(std::string_view kind, const kube::Key& key)> find = nullptr;  // nullptr: not there
  std::vector<const json::Value*> pods = {};                                                      // of its namespace
  std::vector<slurm::Node> records = {};                                                          // of its cluster
  std::vector<std::string> reservations = {};                                                     // of its cluster
  std::set<std::string> cordoned = {};                                                            // Kubernetes nodes
  std::vector<const json::Value*> nodes = {};                                                     // all of Kubernetes
  // No machine of that name could take work for so long that whoever asks knows: it is gone, cordoned or not ready.
  std::function<bool(const std::string& machine)> takes_no_work = nullptr;
  std::function<bool(const std::string& host)> is_busy = nullptr;  // jobs hold that Slurm node of its cluster
  bool may_be_late = false;   // the operator may see Kubernetes as it was some minutes ago
  bool jobs_may_end = false;  // somebody has asked for an end of its workers whatever runs on them

  const json::Value* Find(std::string_view kind, const kube::Key& key) const {
    return find ? find(kind, key) : nullptr;
  }
  bool IsBusy(const std::string& host) const { return is_busy && is_busy(host); }
};

// All answer with a sentence about the first thing that is wrong; nullopt: nothing is.
using Broken = std::optional<std::string>;

struct Contract {
  const kube::Resource* resource = nullptr;
  // Why the key of `object`, which is as it was when the write was begun, must not send `call`.
  Broken (*breach)(const json::Value& object, const Call& call, const Around& around) = nullptr;
  // The same for a write to Slurm. `before` is the node's record when the call was made; nullopt: there was none.
  // nullptr: keys of this kind write nothing to Slurm.
  Broken (*slurm_breach)(const json::Value& object, const SlurmCall& call, const std::optional<slurm::Node>& before,
                         const Around& around) = nullptr;
  // What is not yet as its user wants it.
  Broken (*unmatched)(const json::Value& object, const Around& around) = nullptr;
  // What is left of one that was deleted with all that it made, but for what people hold. nullptr: Kubernetes collects it.
  Broken (*remains)(const json::Value& object, const Around& around) = nullptr;
};

kube::Key KeyOf(const json::Value& object);

// `object` is controlled by the one with this uid, and belongs to nobody else.
bool Owned(const json::Value& object, std::string_view uid);

// Its condition `type` has this status; what it says instead.
Broken Says(const json::Value& object, std::string_view type, bool wanted);
inline Broken SaysReady(const json::Value& object) { return Says(object, "Ready", true); }

// The write is one of the custom resource's own status.
bool IsOwnStatus(const json::Value& object, const Call& call);

// The call, a patch, does no more than note on a workload that a former operator's is left as it is.
Broken OnlyNotesTakeOver(const Call& call);

// The call writes a Secret that `object` controls: creates it so, or patches the one that was seen.
Broken WritesOwnSecret(const json::Value& object, const Call& call);

// The call, a deletion of a pod, deletes it as it was seen.
Broken PodDeletionBreach(const Call& call);

// The call, a write to a Secret of host keys, creates one that outlives who asked for it and that nobody changes.
Broken MakesHostKeys(const Call& call);

}  // namespace capstan::op
