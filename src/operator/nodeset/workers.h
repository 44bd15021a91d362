// The workers of a NodeSet, and where each of them stands: read off its pod and its Slurm record, never stored.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/nodeset.h"
#include "operator/objects.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// The name of a label or annotation as the maps of objects are asked for it: made once for each.
template <const std::string_view& kName>
const std::string& AsKey() {
  static const std::string key(kName);
  return key;
}

// The first that applies, in this order.
enum class Stage : uint8_t {
  kLeaving,       // the pod is terminating
  kEnded,         // the pod has failed or succeeded: no container of it runs, and none will again
  kUnbound,       // not placed on a node: nothing of it can have run
  kUnknown,       // Slurm is not heard, or which node the worker is cannot be told (Worker::named): mend the pod,
                  // leave the node alone
  kUnregistered,  // placed, perhaps running already (a pod's status lags behind), and Slurm has no record of it, or one
                  // that waits for a slurmd to begin (Worker::powering_up)
  kPoweredDown,   // Slurm has powered its node down, or is doing so
  kHeld,          // drained by somebody else, or set to FAIL: hands off
  kDrained,       // drained by us, and no job is left, as the last read had it
  kDraining,      // drained by us, jobs are still running
  kDown,          // DOWN
  kServing,
};

struct Worker {
  int ordinal = 0;      // made in DaemonSet mode: its place by name among those
  bool daemon = false;  // made in DaemonSet mode, whatever the mode is now
  std::string host;     // its name in Slurm; "": it is called as its machine, and not placed on one yet
  const Pod* pod = nullptr;
  const slurm::Node* node = nullptr;  // nullptr: no record, or that of another slurmd, or kUnknown
  // Slurm waits for a slurmd of its name, or will at once (NodeState::AwaitsSlurmd); the record is none of this pod's yet.
  bool powering_up = false;
  // The record is that of the pod's own slurmd: it has the pod's address; or it has another, as behind a gateway, and answers,
  // and has begun since the pod was made. Otherwise what it says of jobs is no proof.
  bool record_is_sure = true;
  const Node* machine = nullptr;  // the Kubernetes node; nullptr: not placed, or it is gone
  Stage stage = Stage::kUnknown;
  // Why others than the NodeSet want it out of service, as a reason in Slurm (drains.h). Empty: nobody does.
  std::string cordon;
  bool held = false;           // somebody else, a person or Slurm itself, has taken it out of service (IsHeld)
  bool may_be_lifted = false;  // its drain, by an undrain of ours that may still be on its way (SlurmView::MayBeLifted)

  // Its Slurm node is known by name: another operator's with hostNetwork has that of its machine, whatever that is.
  bool named() const;
  bool named_by_machine() const;  // ours, with hostNetwork: it is called as its Kubernetes node
  bool marked() const;            // marked by us as going: the scale-in annotation
};

// The ordinal in "<set>-<ordinal>", with or without padding; nullopt for any other name.
std::optional<int> OrdinalOf(std::string_view set, std::string_view pod);

// The ordinal in the name that a worker of StatefulSet mode has in Slurm; nullopt for any other name. `prefix`: render::HostPrefixOf.
std::optional<int> HostOrdinal(std::string_view prefix, std::string_view host);

// `pod` is called as a worker of this NodeSet is, in either mode.
bool IsWorkerNameOf(const api::NodeSet& set, std::string_view pod);

// Every pod of the set, once: by ordinal, then those of DaemonSet mode by name. Points into `world`.
std::vector<Worker> Workers(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm);

// The Slurm nodes of the set's cluster behind which there is a worker's pod of this namespace, and one such pod of each: of the
// set, of another one, or of none (it was orphaned).
using PodsByHost = std::map<std::string, const Pod*, std::less<>>;
PodsByHost HostsWithPod(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers);

// What the record's comment is to say about who stands behind a Slurm node (worker_comment.h). `life`: of slurmctld, for a record
// without a comment.
std::string RecordComment(const Worker& worker, const api::NodeSet& set, std::string life = "");

// The Kubernetes node, the pod and the NodeSet that the record's comment names; "": it names none, or, of the first two, it is of a life that
// Slurm's power saving has ended.
std::string MachineOfRecord(const slurm::Node& node);
std::string PodOfRecord(const slurm::Node& node);
std::string SetOfRecord(const slurm::Node& node);

// The record is one of this set's workers, or of a set's that had its name before: by its comment, or, where a worker
// went before one was written, by having come as a dynamic node with the set's feature, and by its name or a reason of ours.
bool IsRecordOf(const slurm::Node& node, const api::NodeSet& set);

// When the jobs on a Slurm node end at the latest, by the node's name. Time::min() or none: no job is there, or it is
// not known; Time::max(): one has no limit.
using JobEnds = std::map<std::string, Time, std::less<>>;

// Of the nodes of these workers.
JobEnds JobEndsOf(const std::vector<slurm::Job>& jobs, const std::vector<const Worker*>& workers);

// The workers from the one that goes first to the one that goes last when there are too many. A strict weak order that
// depends on nothing but the pods, their records and `ends`.
void SortForScaleIn(std::vector<const Worker*>& workers, const JobEnds& ends = {});

// Both are busy, neither has been chosen before, and the ends of their jobs come first of all that may tell which of
// them goes.
bool JobEndsTell(const Worker& a, const Worker& b);

}  // namespace capstan::op::nodeset
