// Where the workers of a NodeSet in DaemonSet mode belong: one on each Kubernetes node that its template fits, as
// Kubernetes' DaemonSet controller reads nodeSelector, node affinity, taints and tolerations. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "base/result.h"
#include "operator/objects.h"
#include "operator/render/json.h"

namespace capstan::op::nodeset {

enum class Fit : uint8_t {
  kRuns,    // a worker belongs there
  kStays,   // one that is there stays, and none is made: a taint NoSchedule came later
  kLeaves,  // one that is there goes
};

// What decides about a node, read off `spec.template.spec` once. In StatefulSet mode, of a node that a worker is pinned to.
class Placement {
 public:
  // kInvalid: the template cannot be read; the message names the field.
  static Result<Placement> Of(const api::NodeSet& set);

  Fit On(const Node& node) const;

 private:
  struct Requirement {
    std::string key;  // "": the node's name
    std::string op;   // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
    std::vector<std::string> values;
  };
  using Term = std::vector<Requirement>;  // all of them

  static Result<Term> TermOf(const render::Json& term);
  static bool Meets(const Node& node, const Requirement& requirement);
  bool IsTolerated(const Taint& taint) const;
  bool IsSelected(const Node& node) const;

  std::vector<Requirement> selector_;
  std::optional<std::vector<Term>> terms_;  // one of them; none given: every node
  struct Toleration {
    std::string key, op, value, effect;
  };
  std::vector<Toleration> tolerations_;
};

// What every worker of this mode tolerates, as pods of a DaemonSet do: a node that is not ready, unreachable, short of
// something, or cordoned. A JSON array.
render::JsonArray DaemonTolerations(bool host_network);

// The name in Slurm of the worker on this node: the annotation hostname-override, else the node's name up to the first dot.
std::string DaemonHost(const Node& node);

// The pod's name of the worker on the node of this name: the same for each worker that comes after another there.
std::string DaemonPodName(const api::NodeSet& set, std::string_view node);

}  // namespace capstan::op::nodeset
