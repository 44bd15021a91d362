#include "operator/nodeset/drains.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/takeover.h"

namespace capstan::op::nodeset {
namespace {

constexpr std::string_view kScaleInSuffix = ") is pending termination for scale-in";
constexpr std::string_view kPodCordonedSuffix = ") was cordoned";
constexpr std::string_view kPodNamed = "Pod (";
constexpr std::string_view kBetween = "; ";  // owners, and conditions of a Kubernetes node
constexpr size_t kLongestReason = 256;       // bytes of what one owner says why
constexpr size_t kLongestCheck = 63, kMostChecks = 16;

std::string PodText(const Pod& pod) { return "Pod (" + pod.metadata.namespace_ + "/" + pod.metadata.name; }

// Words that begin as ours about a pod would be taken for those of another NodeSet.
std::string NotAboutAPod(std::string text, const Node& node) {
  const std::string second = std::string(kBetween) + std::string(kPodNamed);
  for (size_t at = text.find(second); at != text.npos; at = text.find(second, at)) text[at] = ',';
  return text.starts_with(kPodNamed) ? "Node (" + node.metadata.name + "): " + text : text;
}

// What a person says of the node, else what its conditions of these types say; "": nothing.
std::string WhyCordoned(const Node& node, const std::vector<std::string>& types) {
  std::string why = OneLine(node.metadata.Annotation(AsKey<kAnnotationNodeCordonReason>()), kLongestReason);
  if (!why.empty()) return why;
  for (const std::string& type : types) {
    for (const NodeCondition& condition : node.status.conditions) {
      if (condition.type != type || condition.status != "True") continue;
      why += (why.empty() ? "" : std::string(kBetween)) + "(" + condition.reason + ": " + condition.message + ")";
    }
  }
  return OneLine(why, kLongestReason);
}

bool IsCheckName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestCheck && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

// As the annotation has them, in order, each once.
std::vector<std::string> ChecksOf(const Pod& pod) {
  std::vector<std::string> checks;
  for (const std::string_view one : Split(pod.metadata.Annotation(AsKey<kAnnotationFailedChecks>()), ',')) {
    if (!Trim(one).empty()) checks.emplace_back(Trim(one));
  }
  std::ranges::sort(checks);
  checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
  return checks;
}

std::string Joined(const std::vector<std::string>& owners) {
  return owners.empty() ? "" : std::string(kReasonPrefix) + Join(owners, kBetween);
}

// `text` is "Pod (NAMESPACE/NAME" and then `suffix`, and the pod is one of the set's.
bool NamesPodOf(const api::NodeSet& set, std::string_view text, std::string_view suffix) {
  const std::string before = std::string(kPodNamed) + set.metadata.namespace_ + "/";
  if (!text.starts_with(before) || !text.ends_with(suffix) || text.size() < before.size() + suffix.size()) return false;
  return IsWorkerNameOf(set, text.substr(before.size(), text.size() - before.size() - suffix.size()));
}

// Words that name a pod are for that pod's own sake: two NodeSets with one name in Slurm would otherwise lift each
// other's drains. Anything else may follow the prefix: the Slinky projects' operator drains for a cordoned Kubernetes node
// in the words of its annotation, or of conditions of the node.
bool IsOurReason(std::string_view reason, const api::NodeSet& set) {
  if (!reason.starts_with(kReasonPrefix)) return false;
  for (std::string_view left = reason.substr(kReasonPrefix.size()); !left.empty();) {
    const size_t end = std::min(left.find(kBetween), left.size());
    const std::string_view words = left.substr(0, end);
    left = left.substr(std::min(end + kBetween.size(), left.size()));
    if (words.starts_with(kPodNamed) && !NamesPodOf(set, words, kScaleInSuffix) &&
        !NamesPodOf(set, words, kPodCordonedSuffix))
      return false;
  }
  return true;
}

}  // namespace

std::string ReasonToKeepOut(const Node* machine, const Pod& pod, const std::vector<std::string>& propagated) {
  std::vector<std::string> owners;
  if (machine != nullptr && machine->spec.unschedulable) {
    std::string why = NotAboutAPod(WhyCordoned(*machine, propagated), *machine);
    if (why.empty()) why = "Node (" + machine->metadata.name + ") was cordoned, " + PodText(pod) + ") must be cordoned";
    owners.push_back(std::move(why));
  }
  if (pod.metadata.annotations.empty()) return Joined(owners);
  if (IsCordonedByPerson(pod)) owners.push_back(PodText(pod) + std::string(kPodCordonedSuffix));
  size_t checks = 0;
  for (const std::string& check : ChecksOf(pod)) {
    if (IsCheckName(check) && ++checks <= kMostChecks) owners.push_back("check " + check);
  }
  return Joined(owners);
}

std::string ScaleInReason(const kube::Key& pod) {
  return std::string(kReasonPrefix) + "Pod (" + pod.ToString() + std::string(kScaleInSuffix);
}

std::string ReasonToGo(const Worker& worker) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  const std::string going = ScaleInReason({pod.namespace_, pod.name});
  if (worker.cordon.empty()) return going;
  return worker.cordon + std::string(kBetween) + going.substr(kReasonPrefix.size());
}

std::string CheckTrouble(const Pod& pod) {
  if (pod.metadata.annotations.empty()) return "";
  const std::vector<std::string> checks = ChecksOf(pod);
  const auto bad = std::ranges::find_if_not(checks, &IsCheckName);
  if (bad != checks.end()) {
    return "has an annotation " + std::string(kAnnotationFailedChecks) + " that names " +
           JsonQuoted(OneLine(*bad, kLongestReason)) +
           ", which is no name of a check: letters, digits, dots, dashes and underscores, 63 at most; the others count";
  }
  if (checks.size() <= kMostChecks) return "";
  return "has an annotation " + std::string(kAnnotationFailedChecks) + " of " + std::to_string(checks.size()) +
         " checks; the first " + std::to_string(kMostChecks) + " are named in Slurm";
}

bool IsOurDrain(const slurm::Node& node, const api::NodeSet& set) {
  return node.state.IsDraining() && !node.state.IsFailing() && IsOurReason(node.reason, set);
}

bool IsOurDown(const slurm::Node& node, const api::NodeSet& set) {
  return node.state.IsDown() && !node.state.IsFailing() && IsOurReason(node.reason, set);
}

bool MayBeResumed(const slurm::Node& node, const api::NodeSet& set) {
  if (IsOurDown(node, set)) return true;
  return node.state.IsDown() && !node.state.IsDraining() && slurm::IsReasonOfSlurmctld(node.reason);
}

bool IsHeld(const slurm::Node& node, const api::NodeSet& set) {
  if (node.state.IsDraining()) return !IsOurDrain(node, set);
  return node.state.IsDown() && !MayBeResumed(node, set);
}

}  // namespace capstan::op::nodeset
