#include "bridge/admission.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "bridge/names.h"
#include "json/value.h"

namespace capstan::bridge {
namespace {

namespace bj = boost::json;

constexpr std::string_view kStockScheduler = "default-scheduler";
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

const bj::array* ListAt(const json::Value& pod, std::initializer_list<std::string_view> path) {
  const json::Value* found = json::Find(pod, path);
  return found != nullptr && found->is_array() && !found->as_array().empty() ? &found->as_array() : nullptr;
}

bool IsOfDaemonSet(const json::Value& pod) {
  const bj::array* owners = ListAt(pod, {"metadata", "ownerReferences"});
  return owners != nullptr && std::ranges::any_of(*owners, [](const json::Value& owner) {
           return json::FindText(owner, {"kind"}) == "DaemonSet" &&
                  json::FindText(owner, {"apiVersion"}).starts_with("apps/");
         });
}

bool HasGate(const json::Value& pod) {
  const bj::array* gates = ListAt(pod, {"spec", "schedulingGates"});
  return gates != nullptr &&
         std::ranges::any_of(*gates, [](const json::Value& gate) { return json::FindText(gate, {"name"}) == kGate; });
}

std::string SchedulerOf(const json::Value& pod) {
  const std::string_view name = json::FindText(pod, {"spec", "schedulerName"});
  return std::string(name.empty() ? kStockScheduler : name);
}

// Nobody's business: placed by somebody else, or by nobody.
bool IsNotForUs(const AdmissionSettings& settings, const json::Value& pod) {
  const std::string scheduler = SchedulerOf(pod);
  const bool asks = scheduler == kStockScheduler || scheduler == settings.scheduler_name ||
                    scheduler == settings.target_scheduler_name;
  return !asks || IsOfDaemonSet(pod) || json::Find(pod, {"metadata", "annotations", kMirror}) != nullptr;
}

bool TermIsEmpty(const json::Value& term) {
  return ListAt(term, {"matchExpressions"}) == nullptr && ListAt(term, {"matchFields"}) == nullptr;
}

// Why the pod is refused; "": it is not.
std::string Refusal(const json::Value& pod) {
  const auto set_by_us = [](std::string_view what, std::string_view kind) {
    return std::string(kind) + " " + std::string(what) +
           " is set by the bridge; remove it from the pod (or its template)";
  };
  if (!json::FindText(pod, {"metadata", "labels", kJobId}).empty()) return set_by_us(kJobId, "label");
  if (!json::FindText(pod, {"metadata", "annotations", kSlurmNode}).empty()) return set_by_us(kSlurmNode, "annotation");
  if (!json::FindText(pod, {"metadata", "annotations", kAttempt}).empty()) return set_by_us(kAttempt, "annotation");
  const bj::array* terms = ListAt(pod, {"spec", "affinity", "nodeAffinity", kRequiredAffinity, "nodeSelectorTerms"});
  if (terms != nullptr && std::ranges::all_of(*terms, TermIsEmpty))
    return "this nodeAffinity matches no node: all of its nodeSelectorTerms are empty";
  return {};
}

std::vector<std::string> Warnings(const json::Value& pod) {
  std::vector<std::string> warnings;
  for (const std::string_view kind : {std::string_view("podAffinity"), std::string_view("podAntiAffinity")}) {
    if (ListAt(pod, {"spec", "affinity", kind, kRequiredAffinity}) != nullptr)
      warnings.push_back("a required " + std::string(kind) +
                         " may keep the pod from the node that Slurm chooses for it");
  }
  const bj::array* spread = ListAt(pod, {"spec", "topologySpreadConstraints"});
  const auto is_hard = [](const json::Value& one) {
    return json::FindText(one, {"whenUnsatisfiable"}) != "ScheduleAnyway";
  };
  if (spread != nullptr && std::ranges::any_of(*spread, is_hard))
    warnings.emplace_back(
        "a topologySpreadConstraint with DoNotSchedule may keep the pod from the node that Slurm chooses for it");
  return warnings;
}

void LetItWait(const AdmissionSettings& settings, json::Value& pod) {
  const std::string asked = SchedulerOf(pod);
  bj::object& metadata = json::MakeObject(pod, {"metadata"});
  json::MakeObject(pod, {"metadata", "labels"})[kBridged] = settings.bridge;
  bj::object& spec = json::MakeObject(pod, {"spec"});
  if (!HasGate(pod)) {
    bj::value& gates = spec["schedulingGates"];
    if (!gates.is_array()) gates = bj::array();
    gates.as_array().push_back(bj::object{{"name", kGate}});
  }
  const bj::value* annotations = metadata.if_contains("annotations");
  if (annotations == nullptr || !annotations->is_object() || !annotations->as_object().contains(kRequestedScheduler))
    json::MakeObject(pod, {"metadata", "annotations"})[kRequestedScheduler] = asked;
  spec.erase("nodeName");
  spec["schedulerName"] = settings.target_scheduler_name;
}

}  // namespace

Result<kube::AdmissionAnswer> Admit(const AdmissionSettings& settings, const kube::AdmissionRequest& request) {
  if (request.operation != "CREATE" || request.resource.resource != "pods" || !request.subresource.empty())
    return kube::Allow();
  CAPSTAN_TRY(const json::Value pod, json::ParseObject(request.object, "the review's object"));
  if (IsNotForUs(settings, pod)) return kube::Allow();
  if (std::string why = Refusal(pod); !why.empty()) return kube::Deny(std::move(why));
  CAPSTAN_TRY(kube::AdmissionAnswer answer,
              kube::AllowChanged(request, [&](json::Value& changed) { LetItWait(settings, changed); }));
  answer.warnings = Warnings(pod);
  return answer;
}

}  // namespace capstan::bridge
