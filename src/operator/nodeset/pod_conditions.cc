#include "operator/nodeset/pod_conditions.h"

#include <algorithm>

#include "base/text.h"
#include "plan/objects/lists.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeBase;
using slurm::NodeFlag;

constexpr std::string_view kConditionPrefix = "SlurmNodeState";
constexpr size_t kLongestMessage = 1024;  // bytes

constexpr std::pair<NodeBase, std::string_view> kBases[] = {
    {NodeBase::kAllocated, "Allocated"}, {NodeBase::kMixed, "Mixed"},   {NodeBase::kDown, "Down"},
    {NodeBase::kError, "Error"},         {NodeBase::kFuture, "Future"}, {NodeBase::kIdle, "Idle"},
};

constexpr std::pair<NodeFlag, std::string_view> kFlags[] = {
    {NodeFlag::kCompleting, "Completing"},
    {NodeFlag::kDrain, "Drain"},
    {NodeFlag::kFail, "Fail"},
    {NodeFlag::kInvalid, "Invalid"},
    {NodeFlag::kInvalidReg, "InvalidReg"},
    {NodeFlag::kMaintenance, "Maintenance"},
    {NodeFlag::kUndrain, "Undrain"},
    {NodeFlag::kNotResponding, "NotResponding"},
};

// Calls `take` with each state that holds, as conditions end.
void ForEachState(const slurm::NodeState& state, auto take) {
  const auto* base = std::ranges::find(kBases, state.base(), &std::pair<NodeBase, std::string_view>::first);
  take(base != std::end(kBases) ? base->second : std::string_view("Unknown"));
  for (const auto& [flag, name] : kFlags) {
    if (state.Has(flag)) take(name);
  }
}

// Nothing is to be written, which is nearly always so.
bool SaysAll(const Pod& pod, const slurm::NodeState& state, std::string_view message) {
  size_t wanted = 0, found = 0, there = 0;
  for (const PodCondition& condition : pod.status.conditions) there += condition.type.starts_with(kConditionPrefix);
  ForEachState(state, [&](std::string_view name) {
    ++wanted;
    found += std::ranges::any_of(pod.status.conditions, [&](const PodCondition& condition) {
      return condition.type.starts_with(kConditionPrefix) &&
             std::string_view(condition.type).substr(kConditionPrefix.size()) == name && condition.status == "True" &&
             condition.message == message;
    });
  });
  return wanted == found && found == there;
}

}  // namespace

std::set<std::string> NodeStateConditions(const slurm::NodeState& state) {
  std::set<std::string> types;
  ForEachState(state, [&](std::string_view name) { types.insert(std::string(kConditionPrefix) + std::string(name)); });
  return types;
}

std::optional<plan::Action> TellNodeState(const Worker& worker) {
  // One that is not placed has not registered: a record of its name is its predecessor's.
  if (worker.stage == Stage::kUnknown || worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded ||
      worker.stage == Stage::kUnbound)
    return std::nullopt;
  std::set<std::string> missing;
  std::string message;
  if (worker.node != nullptr) {
    if (!worker.node->reason.empty()) message = OneLine(worker.node->reason, kLongestMessage);
    if (SaysAll(*worker.pod, worker.node->state, message)) return std::nullopt;
    missing = NodeStateConditions(worker.node->state);
  }
  std::vector<plan::ConditionText> set;
  std::vector<std::string> gone;
  for (const PodCondition& condition : worker.pod->status.conditions) {
    if (!condition.type.starts_with(kConditionPrefix)) continue;
    if (missing.erase(condition.type) == 0)
      gone.push_back(condition.type);
    else if (condition.status != "True" || condition.message != message)
      set.push_back({condition.type, "True", "", message, condition.status != "True"});
  }
  for (const std::string& type : missing) set.push_back({type, "True", "", message, true});
  if (set.empty() && gone.empty()) return std::nullopt;
  const json::ObjectMeta& pod = worker.pod->metadata;
  return plan::Action{.effect = plan::ChangeConditions({&kube::kPods, {pod.namespace_, pod.name}}, pod.uid,
                                                       std::move(set), std::move(gone)),
                      .reason = "what Slurm says of the worker"};
}

}  // namespace capstan::op::nodeset
