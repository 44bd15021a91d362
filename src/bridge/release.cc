#include "bridge/release.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "bridge/names.h"
#include "json/value.h"

namespace capstan::bridge {
namespace {

namespace bj = boost::json;

bj::object Pin(const std::string& node) {
  return {{"key", "metadata.name"}, {"operator", "In"}, {"values", bj::array{node}}};
}

bool IsEmpty(const bj::object& term) {
  const auto none = [&](std::string_view key) {
    const bj::value* list = term.if_contains(key);
    return list == nullptr || !list->is_array() || list->as_array().empty();
  };
  return none("matchExpressions") && none("matchFields");
}

// Adds the pin to each term; one that is empty matches nothing and must stay so. kInvalid: all are.
Result<void> PinTerms(bj::array& terms, const std::string& node) {
  bool any = false;
  for (bj::value& one : terms) {
    if (!one.is_object()) return Fail(Code::kInvalid, "its node affinity makes no sense");
    bj::object& term = one.as_object();
    if (IsEmpty(term)) continue;
    any = true;
    bj::value& fields = term["matchFields"];
    if (!fields.is_array()) fields = bj::array();
    fields.as_array().push_back(Pin(node));
  }
  if (any) return {};
  return Fail(Code::kInvalid, "its node affinity matches no node: all of its terms are empty");
}

Result<bj::object> Pinned(const bj::value& affinity, const std::string& node) {
  bj::object pinned = affinity.is_object() ? affinity.as_object() : bj::object();
  bj::value& of_nodes = pinned["nodeAffinity"];
  if (!of_nodes.is_object()) of_nodes = bj::object();
  bj::value& required = of_nodes.as_object()[kRequiredAffinity];
  if (!required.is_object()) required = bj::object();
  bj::value& terms = required.as_object()["nodeSelectorTerms"];
  if (!terms.is_array() || terms.as_array().empty()) {
    terms = bj::array{bj::object{{"matchFields", bj::array{Pin(node)}}}};
    return pinned;
  }
  CAPSTAN_CHECK_OK(PinTerms(terms.as_array(), node));
  return pinned;
}

// Ours is taken out of the list of gates.
void RemoveGate(const Pod& pod, json::JsonPatch& patch) {
  constexpr std::string_view kGates = "/spec/schedulingGates";
  bj::array left;
  for (const SchedulingGate& gate : pod.spec.scheduling_gates)
    if (gate.name != kGate) left.push_back(bj::object{{"name", gate.name}});
  if (left.empty())
    patch.Remove(kGates);
  else
    patch.Replace(kGates, bj::serialize(left));
}

}  // namespace

json::JsonPatch Unchanged(const Pod& pod) {
  json::JsonPatch patch;
  patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(pod.metadata.resource_version)));
  return patch;
}

bj::array Tolerations(const std::string& scheduler_name) {
  return {{{"key", kManagedNodeTaint}, {"operator", "Equal"}, {"value", scheduler_name}},
          {{"key", kDrainedTaint}, {"operator", "Exists"}, {"effect", "NoSchedule"}}};
}

void AddTolerations(const Pod& pod, const std::string& scheduler_name, json::JsonPatch& patch) {
  const bj::array tolerations = Tolerations(scheduler_name);
  if (pod.spec.tolerations.empty()) {
    patch.Add("/spec/tolerations", bj::serialize(tolerations));
  } else {
    for (const bj::value& one : tolerations) patch.Add("/spec/tolerations/-", bj::serialize(one));
  }
}

std::string Binding(const Pod& pod, const std::string& node) {
  return bj::serialize(bj::object{{"apiVersion", "v1"},
                                  {"kind", "Binding"},
                                  {"metadata", bj::object{{"name", pod.metadata.name},
                                                          {"uid", pod.metadata.uid},
                                                          {"annotations", bj::object{{kSlurmNode, node}}}}},
                                  {"target", bj::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
}

json::JsonPatch UngatePatch(const Pod& pod) {
  json::JsonPatch patch = Unchanged(pod);
  RemoveGate(pod, patch);
  if (pod.metadata.labels.contains(std::string(kJobId)))
    patch.Remove(json::JsonPointer({"metadata", "labels", kJobId}));
  if (pod.metadata.annotations.contains(std::string(kAttempt)))
    patch.Remove(json::JsonPointer({"metadata", "annotations", kAttempt}));
  return patch;
}

Result<json::JsonPatch> ReleasePatch(const Pod& pod, const std::string& node, const std::string& scheduler_name) {
  json::JsonPatch patch = Unchanged(pod);
  bj::value affinity;
  if (!pod.spec.affinity.empty()) {
    CAPSTAN_TRY(affinity, json::Parse(pod.spec.affinity.text));
  }
  CAPSTAN_TRY(const bj::object pinned, Pinned(affinity, node));
  patch.Add("/spec/affinity", bj::serialize(pinned));
  AddTolerations(pod, scheduler_name, patch);
  if (pod.metadata.annotations.empty()) patch.Add("/metadata/annotations", "{}");
  patch.Add(json::JsonPointer({"metadata", "annotations", kSlurmNode}), JsonQuoted(node));
  RemoveGate(pod, patch);
  return patch;
}

}  // namespace capstan::bridge
