// How many workers there should be, and which: places to fill, workers to take away, workers to keep.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "operator/nodeset/placement.h"
#include "operator/nodeset/workers.h"

namespace capstan::op::nodeset {

// The most objects that one Plan asks for; the rest follows when some of them are there.
inline constexpr int kMostCreations = 250;

// Where a worker is missing.
struct Place {
  int ordinal = -1;  // in StatefulSet mode
  std::string node;  // the Kubernetes node that it must be on; "": any
  std::string host;  // in DaemonSet mode: the worker's name in Slurm
};

struct Scale {
  int wanted = 0;                      // how many workers there should be
  int missing = 0;                     // how many are too few
  std::vector<Place> create;           // the first of them; at most kMostCreations
  std::vector<const Worker*> surplus;  // too many: in the order in which they go
  std::vector<const Worker*> kept;     // in the order of Workers(); none that is leaving
  // So many of the surplus, the last ones, go rather than others because their jobs end first. Where the World does
  // not show the jobs, that was left out.
  size_t by_job_end = 0;
  std::map<const Worker*, std::string> why;  // of those of the surplus that go for another reason than their number
  std::vector<std::string> refused;          // of places that cannot be filled, why; sentences
  std::vector<std::string> waiting;          // of places that are filled later, for what; no sentences
  bool unknown = false;                      // nobody can tell who should be there: no mark is taken back either
  std::vector<const Worker*> powered_down;   // not kept: Slurm has powered them down
  std::vector<int> nodes;           // on demand: ordinals whose Slurm nodes are to be made; at most kMostCreations
  std::map<int, std::string> keep;  // on demand: Slurm nodes that stay without a pod, by ordinal
  std::set<const Worker*> twins;    // pods behind the Slurm node of one that is kept; they are left alone
};

// Of `staying`, as many as are too many go, those that lose least first; the others are kept.
void ChooseSurplus(Scale& scale, std::vector<const Worker*> staying, size_t surplus, const plan::SlurmView& slurm);

// `some` go, for another reason than their number.
void GoFor(Scale& scale, std::vector<const Worker*>& some, const std::string& why);

// All stay, and none is made.
Scale KeepAll(const std::vector<Worker>& workers);

// StatefulSet mode. New ordinals are the lowest that no pod has; an ordinal is free again only when its pod is gone. Pods
// that are leaving still count against creating, so a deleted worker comes back under its own ordinal. Those that were made
// in DaemonSet mode go.
// `daemons_go`: why workers of a DaemonSet do.
Scale ScaleTo(int replicas, const std::vector<Worker>& workers, const plan::SlurmView& slurm,
              std::string_view daemons_go = "spec.scalingMode is StatefulSet now");

// DaemonSet mode: one worker on each node that fits. A node gets its worker when no other of the set is on it, so that
// those of StatefulSet mode, which go, are not waited for in vain. Without any node, all stay: that is not to be believed.
Scale ScaleToNodes(const api::NodeSet& set, const Placement& placement, const kube::ObjectList<Node>& nodes,
                   const std::vector<Worker>& workers, const plan::SlurmView& slurm);

}  // namespace capstan::op::nodeset
