#include "operator/nodeset/placement.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "plan/objects/derived_name.h"

namespace capstan::op::nodeset {
namespace {

using render::Json;
using render::JsonArray;
using render::JsonObject;

struct Tolerated {
  std::string_view key, effect;
};
constexpr Tolerated kTolerated[] = {
    {"node.kubernetes.io/not-ready", "NoExecute"},      {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"}, {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},  {"node.kubernetes.io/unschedulable", "NoSchedule"},
};

const JsonArray* ListAt(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* found = json::Find(object, path);
  return found != nullptr && found->is_array() ? &found->get_array() : nullptr;
}

std::string TextAt(const Json& object, std::string_view member) {
  return std::string(json::FindText(object, {member}));
}

}  // namespace

Result<Placement::Term> Placement::TermOf(const Json& term) {
  Term all;
  for (const std::string_view list : {"matchExpressions", "matchFields"}) {
    const JsonArray* found = ListAt(term, {list});
    if (found == nullptr) continue;
    for (const Json& one : *found) {
      Requirement requirement{.key = TextAt(one, "key"), .op = TextAt(one, "operator"), .values = {}};
      const bool field = list == "matchFields";
      if (field && requirement.key != "metadata.name")
        return Fail(Code::kInvalid, "spec.template.spec.affinity: matchFields knows metadata.name only, not " +
                                        JsonQuoted(requirement.key));
      if (field) requirement.key.clear();
      if (const JsonArray* values = ListAt(one, {"values"})) {
        for (const Json& value : *values)
          requirement.values.emplace_back(value.is_string() ? std::string(value.get_string()) : "");
      }
      all.push_back(std::move(requirement));
    }
  }
  return all;
}

Result<Placement> Placement::Of(const api::NodeSet& set) {
  CAPSTAN_TRY(const Json spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  Placement placement;
  if (const Json* selector = json::Find(spec, {"nodeSelector"}); selector != nullptr && selector->is_object()) {
    for (const auto& member : selector->get_object()) {
      const std::string value = member.value().is_string() ? std::string(member.value().get_string()) : "";
      placement.selector_.push_back({.key = std::string(member.key()), .op = "In", .values = {value}});
    }
  }
  if (const JsonArray* terms = ListAt(
          spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
    placement.terms_.emplace();
    for (const Json& one : *terms) {
      CAPSTAN_TRY(Term term, TermOf(one));
      if (!term.empty()) placement.terms_->push_back(std::move(term));  // an empty one selects nothing
    }
  }
  const auto tolerate = [&](const Json& one) {
    placement.tolerations_.push_back(
        {TextAt(one, "key"), TextAt(one, "operator"), TextAt(one, "value"), TextAt(one, "effect")});
  };
  if (set.spec.IsDaemonSet()) {
    const Json* host_network = json::Find(spec, {"hostNetwork"});
    for (const Json& one : DaemonTolerations(host_network != nullptr && *host_network == Json(true))) tolerate(one);
  }
  placement.tolerations_.push_back({std::string(kTolerationWorker), "Equal", "", "NoExecute"});
  if (const JsonArray* given = ListAt(spec, {"tolerations"})) {
    for (const Json& one : *given) tolerate(one);
  }
  return placement;
}

bool Placement::Meets(const Node& node, const Requirement& requirement) {
  const std::string* value = nullptr;
  if (requirement.key.empty()) {
    value = &node.metadata.name;
  } else if (const auto label = node.metadata.labels.find(requirement.key); label != node.metadata.labels.end()) {
    value = &label->second;
  }
  const auto is_listed = [&] { return std::ranges::find(requirement.values, *value) != requirement.values.end(); };
  if (requirement.op == "In") return value != nullptr && is_listed();
  if (requirement.op == "NotIn") return value == nullptr || !is_listed();
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  if (value == nullptr || requirement.values.size() != 1) return false;
  const auto has = ParseInt(*value), limit = ParseInt(requirement.values.front());
  if (!has || !limit) return false;
  return requirement.op == "Gt" ? *has > *limit : requirement.op == "Lt" && *has < *limit;
}

bool Placement::IsSelected(const Node& node) const {
  const auto meets_all = [&](const Term& term) {
    return std::ranges::all_of(term, [&](const Requirement& one) { return Meets(node, one); });
  };
  return meets_all(selector_) && (!terms_ || std::ranges::any_of(*terms_, meets_all));
}

bool Placement::IsTolerated(const Taint& taint) const {
  return std::ranges::any_of(tolerations_, [&](const Toleration& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.key.empty()) return one.op == "Exists";
    return one.key == taint.key && (one.op == "Exists" || one.value == taint.value);
  });
}

Fit Placement::On(const Node& node) const {
  if (!IsSelected(node)) return Fit::kLeaves;
  const bool tolerates_cordons = IsTolerated({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
  Fit fit = node.spec.unschedulable && !tolerates_cordons ? Fit::kStays : Fit::kRuns;
  for (const Taint& taint : node.spec.taints) {
    if (IsTolerated(taint)) continue;
    if (taint.effect == "NoExecute") return Fit::kLeaves;
    if (taint.effect == "NoSchedule") fit = Fit::kStays;
  }
  return fit;
}

JsonArray DaemonTolerations(bool host_network) {
  JsonArray tolerations;
  for (const Tolerated& one : kTolerated)
    tolerations.push_back(JsonObject{{"key", one.key}, {"operator", "Exists"}, {"effect", one.effect}});
  if (host_network) {
    tolerations.push_back(JsonObject{
        {"key", "node.kubernetes.io/network-unavailable"}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
  }
  return tolerations;
}

std::string DaemonHost(const Node& node) {
  const std::string& asked = node.metadata.Annotation(std::string(kAnnotationHostnameOverride));
  return asked.empty() ? node.metadata.name.substr(0, node.metadata.name.find('.')) : asked;
}

std::string DaemonPodName(const api::NodeSet& set, std::string_view node) {
  return plan::DerivedName(set.metadata.name, set.metadata.uid, node, "");
}

}  // namespace capstan::op::nodeset
