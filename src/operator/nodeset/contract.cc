#include "operator/nodeset/contract.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "json/value.h"

namespace capstan::op::nodeset {
namespace {

using json::FindText;
using json::Value;

constexpr std::string_view kOurs = "slurm-operator: ";

constexpr std::string_view kProtect = "nodeset.slinky.slurm.net/pod-protect";

bool IsProtectionWanted(const api::NodeSet& set) { return set.spec.workload_disruption_protection.value_or(true); }

bool IsWorkerName(std::string_view set, std::string_view pod) {
  if (!pod.starts_with(std::string(set) + "-")) return false;
  const std::string_view ordinal = pod.substr(set.size() + 1);
  return !ordinal.empty() && ordinal.find_first_not_of("0123456789") == std::string_view::npos;
}

bool IsControlledBy(const Value& object, std::string_view uid) {
  const Value* owners = json::Find(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return false;
  return std::ranges::any_of(owners->get_array(), [&](const Value& owner) {
    const Value* controller = json::Find(owner, {"controller"});
    return FindText(owner, {"uid"}) == uid && controller != nullptr && *controller == Value(true);
  });
}

std::optional<std::string> CreateBreach(const api::NodeSet& set, const Call& call) {
  if (call.kind == "Event" || call.kind == "PersistentVolumeClaim") return std::nullopt;
  if (call.kind != "Pod" || !IsWorkerName(set.metadata.name, call.key.name)) {
    return "a NodeSet creates no " + call.kind + " " + call.key.name;
  }
  const auto body = json::Parse(call.body);
  if (!body || !IsControlledBy(*body, set.metadata.uid)) return "pod " + call.key.name + " would outlive its NodeSet";
  const bool protect = FindText(*body, {"metadata", "labels", kProtect}) == "true";
  if (protect != IsProtectionWanted(set)) return "pod " + call.key.name + " is not protected from its birth as wanted";
  return std::nullopt;
}

// Its finalizer is all that a NodeSet's key changes in it; `busy` as in the header.
std::optional<std::string> FinalizerBreach(const api::NodeSet& set, const Call& call, bool busy) {
  constexpr std::string_view kFinalizer = "capstan.dev/drain";
  constexpr std::string_view kFormer = "nodeset.slinky.slurm.net/drain";
  constexpr std::string_view kReservation =
      "nodeset.slinky.slurm.net/reservation";  // a former operator's: may stay or go
  const auto patch = json::Parse(call.body);
  if (!patch || !patch->is_object() || patch->get_object().size() != 1) return "a patch touches more than metadata";
  const Value* finalizers = json::Find(*patch, {"metadata", "finalizers"});
  if (finalizers == nullptr || !finalizers->is_array()) return "a patch of the NodeSet has no finalizers";
  if (json::Find(*patch, {"metadata"})->get_object().size() != 3 ||
      FindText(*patch, {"metadata", "uid"}) != set.metadata.uid ||
      FindText(*patch, {"metadata", "resourceVersion"}).empty())
    return "a patch of the NodeSet's finalizers does not name uid and version, or more than these";
  std::vector<std::string> wanted = set.metadata.finalizers;
  std::vector<std::string> given;
  for (const Value& one : finalizers->get_array()) given.emplace_back(one.is_string() ? one.get_string() : "");
  std::erase(wanted, kReservation);
  std::erase(given, kReservation);
  const auto is_ours = [&](const std::string& name) { return name == kFinalizer || name == kFormer; };
  const auto held = std::ranges::count_if(wanted, is_ours);
  const auto kept = std::ranges::count_if(given, is_ours);
  if (std::ranges::count(given, kFormer) > std::ranges::count(wanted, kFormer)) return "a former finalizer is added";
  std::erase_if(wanted, is_ours);
  std::erase_if(given, is_ours);
  std::ranges::sort(wanted);
  std::ranges::sort(given);
  if (given != wanted) return "somebody else's finalizer of the NodeSet is touched";
  if (kept > held && set.metadata.deleting()) return "a NodeSet that is being deleted is held";
  if (kept == 0 && held > 0 && !set.metadata.deleting()) return "a NodeSet that stays is let go";
  if (kept == 0 && busy) return "the NodeSet is let go while jobs run on its workers";
  return std::nullopt;
}

// Only these members are ours in a pod that lives.
std::optional<std::string> PatchBreach(const api::NodeSet& set, const Call& call, bool busy) {
  const auto patch = json::Parse(call.body);
  if (!patch || !patch->is_object()) return "a patch of " + call.key.name + " is not JSON";
  for (const auto& member : patch->get_object()) {
    if (member.key() != "metadata") return "a patch touches more of pod " + call.key.name + " than its metadata";
  }
  const std::set<std::pair<std::string_view, std::string_view>> ours = {
      {"labels", kProtect},
      {"labels", "controller.kubernetes.io/hash"},
      {"annotations", "capstan.dev/scale-in"},
      {"annotations", "nodeset.slinky.slurm.net/scale-in"},
  };
  // A former operator's; only taken away, and only as it was seen, since a person may write it at any time.
  const std::string_view cordon = "nodeset.slinky.slurm.net/pod-cordon";
  const bool as_seen = !FindText(*patch, {"metadata", "resourceVersion"}).empty();
  const Value* protect = json::Find(*patch, {"metadata", "labels", kProtect});
  if (protect != nullptr && *protect != Value("true") && busy && IsProtectionWanted(set))
    return "pod " + call.key.name + " may be evicted while a job holds its node";
  for (const auto& part : json::Find(*patch, {"metadata"})->get_object()) {
    if (part.key() == "uid" || part.key() == "resourceVersion") continue;
    if (part.key() != "labels" && part.key() != "annotations")
      return "a patch touches metadata." + std::string(part.key()) + " of pod " + call.key.name;
    for (const auto& entry : part.value().get_object()) {
      const bool uncordons = part.key() == "annotations" && entry.key() == cordon && entry.value().is_null() && as_seen;
      if (!uncordons && !ours.contains({part.key(), entry.key()}))
        return "a patch touches " + std::string(entry.key()) + " of pod " + call.key.name;
    }
  }
  return FindText(*patch, {"metadata", "uid"}).empty()
             ? std::optional("a patch of pod " + call.key.name + " names no uid")
             : std::nullopt;
}

// Of its status only the conditions of a former operator, which go.
std::optional<std::string> StatusBreach(const Call& call) {
  const auto patch = json::Parse(call.body);
  const Value* conditions = patch ? json::Find(*patch, {"status", "conditions"}) : nullptr;
  const bool alone = conditions != nullptr && conditions->is_array() && patch->get_object().size() == 2 &&
                     json::Find(*patch, {"status"})->get_object().size() == 1;
  const bool only_formers =
      alone && std::ranges::all_of(conditions->get_array(), [](const Value& one) {
        return FindText(one, {"$patch"}) == "delete" && FindText(one, {"type"}).starts_with("SlurmNodeState");
      });
  if (only_formers) return std::nullopt;
  return "a patch of the status of pod " + call.key.name + " does more than remove a former operator's conditions";
}

// sshd's configuration is all that a NodeSet applies, and removes when ssh is not wanted any more.
std::optional<std::string> SshConfigBreach(const api::NodeSet& set, const Call& call) {
  if (call.verb == "delete") return std::nullopt;
  if (call.verb != "apply") return "a NodeSet never sends " + call.verb + " ConfigMap " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !IsControlledBy(*body, set.metadata.uid))
    return "ConfigMap " + call.key.name + " would outlive its NodeSet";
  return std::nullopt;
}

std::optional<std::string> DeleteBreach(const Call& call, bool busy) {
  const auto options = json::Parse(call.body);
  if (!options || FindText(*options, {"preconditions", "uid"}).empty()) {
    return "the deletion of pod " + call.key.name + " names no uid";
  }
  if (json::Find(*options, {"gracePeriodSeconds"}) != nullptr)
    return "pod " + call.key.name + " is not given its time to end";
  if (busy) return "pod " + call.key.name + " is deleted while a job runs on it";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Breach(const api::NodeSet& set, const Call& call, bool busy) {
  if (call.key.ns != set.metadata.namespace_) return "namespace " + call.key.ns + " is not the NodeSet's";
  if (call.verb == "apply" && call.kind == "NodeSet" && call.subresource == "status" &&
      call.key.name == set.metadata.name) {
    return std::nullopt;
  }
  if (call.verb == "patch" && call.kind == "NodeSet" && call.subresource.empty() &&
      call.key.name == set.metadata.name) {
    return FinalizerBreach(set, call, busy);
  }
  if (call.kind == "ConfigMap" && call.key.name == set.metadata.name + "-ssh-config") return SshConfigBreach(set, call);
  if (call.verb == "create") return CreateBreach(set, call);
  const bool worker = call.kind == "Pod" && call.subresource.empty() && IsWorkerName(set.metadata.name, call.key.name);
  if (worker && call.verb == "patch") return PatchBreach(set, call, busy);
  if (call.kind == "Pod" && call.verb == "patch" && call.subresource == "status" &&
      IsWorkerName(set.metadata.name, call.key.name))
    return StatusBreach(call);
  if (worker && call.verb == "delete") return DeleteBreach(call, busy);
  return "a NodeSet never sends " + call.verb + " " + call.kind + " " + call.key.name;
}

bool IsHeldByPerson(const slurm::Node& node) {
  if (node.state.Has(slurm::NodeFlag::kFail)) return true;
  const bool out = node.state.IsDraining() || node.state.IsDown();
  return out && !node.reason.empty() && !node.reason.starts_with(kOurs) && node.reason != "Not responding" &&
         !node.reason.starts_with("Node unexpectedly rebooted");
}

std::optional<std::string> Breach(const SlurmCall& call, const std::optional<slurm::Node>& before) {
  const bool held = before && IsHeldByPerson(*before);
  if (call.verb == "delete") {
    if (held) return "the record of " + call.node + ", which a person holds (\"" + before->reason + "\"), is removed";
    if (before && before->state.IsBusy()) return "the record of " + call.node + " is removed while jobs run there";
    return std::nullopt;
  }
  if (call.state == "IDLE" || call.state == "DOWN") return call.state + " is written to " + call.node;
  if ((call.state == "UNDRAIN" || call.state == "RESUME") && held) {
    return "the drain of " + call.node + " by a person (\"" + before->reason + "\") is lifted";
  }
  if (call.state == "DRAIN" && before && before->state.Has(slurm::NodeFlag::kFail)) {
    return call.node + ", which a person has set to FAIL, is drained";
  }
  if (call.state == "DRAIN" && !call.reason.starts_with(kOurs) && (!held || call.reason != before->reason)) {
    return "the drain of " + call.node + " does not say that it is ours: \"" + call.reason + "\"";
  }
  if (!call.reason.empty() && held && call.reason != before->reason) {
    return "a person's reason on " + call.node + " (\"" + before->reason + "\") is replaced by \"" + call.reason + "\"";
  }
  return std::nullopt;
}

// --- What done means -------------------------------------------------------------------------------------------------

namespace {

class Matching {
 public:
  Matching(const Value& set, const Surroundings& around)
      : set_(set),
        name_(FindText(set, {"metadata", "name"})),
        uid_(FindText(set, {"metadata", "uid"})),
        cordoned_(around.cordoned) {
    for (const std::string& text : around.pods) {
      auto pod = json::Parse(text);
      if (pod && IsControlledBy(*pod, uid_)) pods_.push_back(*std::move(pod));
    }
    for (const slurm::Node& node : around.records) nodes_.emplace(node.name, &node);
  }

  std::optional<std::string> Run() {
    Held();
    CountPods();
    for (const Value& pod : pods_) Worker(pod);
    StrayRecords();
    Said();
    return wrong_;
  }

 private:
  void Wrong(std::string text) {
    if (!wrong_) wrong_ = std::move(text);
  }

  static int64_t Number(const Value* value) { return value != nullptr && value->is_int64() ? value->get_int64() : -1; }

  void Held() {
    const Value* finalizers = json::Find(set_, {"metadata", "finalizers"});
    const Value drain("capstan.dev/drain");
    if (finalizers == nullptr || std::ranges::find(finalizers->as_array(), drain) == finalizers->as_array().end())
      Wrong("the NodeSet could be deleted before its workers are drained");
  }

  void CountPods() {
    const int64_t wanted = Number(json::Find(set_, {"spec", "replicas"}));
    if (int64_t(pods_.size()) != wanted) {
      Wrong("there are " + std::to_string(pods_.size()) + " workers, and " + std::to_string(wanted) + " are wanted");
    }
  }

  void Worker(const Value& pod) {
    const std::string name(FindText(pod, {"metadata", "name"}));
    if (!FindText(pod, {"metadata", "deletionTimestamp"}).empty()) return Wrong(name + " is terminating");
    if (!IsReady(pod)) return Wrong(name + " is not ready");
    if (!FindText(pod, {"metadata", "annotations", "capstan.dev/scale-in"}).empty()) {
      return Wrong(name + " is still marked as leaving");
    }
    const std::string host(FindText(pod, {"spec", "hostname"}));
    hosts_.push_back(host);
    const auto found = nodes_.find(host);
    if (found == nodes_.end()) return Wrong("Slurm does not know " + host);
    const slurm::Node& node = *found->second;
    if (node.comment.find("\"" + name + "\"") == std::string::npos)
      Wrong("the comment on " + host + " does not name " + name);
    const bool busy = node.state.IsBusy();
    const bool protect = FindText(pod, {"metadata", "labels", kProtect}) == "true";
    const bool out = (node.state.IsDrained() || node.state.IsDown()) && !IsHeldByPerson(node);  // as it is cordoned
    if (out == protect)
      Wrong(name + " is " + (out ? "out of service" : "in service") + ", and its protection says otherwise");
    if (IsHeldByPerson(node)) {
      ++held_;
      return;
    }
    if (cordoned_.contains(std::string(FindText(pod, {"spec", "nodeName"})))) {
      ++held_;
      if (!node.state.IsDraining() && !node.state.IsDown())
        Wrong("node " + host + " takes jobs, and its Kubernetes node is cordoned");
      return;
    }
    if (!node.state.IsUsable() && !busy)
      Wrong("node " + host + " is " + node.state.ToString() + " (" + node.reason + ")");
    if (node.state.IsDraining()) Wrong("node " + host + " is still drained (" + node.reason + ")");
  }

  static bool IsReady(const Value& pod) {
    const Value* conditions = json::Find(pod, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return false;
    return std::ranges::any_of(conditions->get_array(), [](const Value& one) {
      return FindText(one, {"type"}) == "Ready" && FindText(one, {"status"}) == "True";
    });
  }

  void StrayRecords() {
    for (const auto& [name, node] : nodes_) {
      const bool ours = node->comment.find(uid_) != std::string::npos || IsWorkerName(name_, name);
      if (!ours || IsHeldByPerson(*node) || std::ranges::find(hosts_, name) != hosts_.end()) continue;
      Wrong("the record of " + name + " has no worker: " + node->state.ToString() + " (" + node->reason + ")");
    }
  }

  void Said() {
    Says("Ready", held_ == 0);
    Says("Degraded", held_ > 0);
    Says("Progressing", false);
    const int64_t ready = Number(json::Find(set_, {"status", "readyReplicas"}));
    if (ready != int64_t(pods_.size()) && !pods_.empty()) Wrong("status.readyReplicas is " + std::to_string(ready));
    if (Number(json::Find(set_, {"status", "observedGeneration"})) !=
        Number(json::Find(set_, {"metadata", "generation"}))) {
      Wrong("the status is of an older generation");
    }
  }

  void Says(std::string_view type, bool wanted) {
    const Value* conditions = json::Find(set_, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return Wrong("the NodeSet has no conditions");
    for (const Value& one : conditions->get_array()) {
      if (FindText(one, {"type"}) != type) continue;
      if (FindText(one, {"status"}) == (wanted ? "True" : "False")) return;
      return Wrong("condition " + std::string(type) + " is " + std::string(FindText(one, {"status"})) + ": " +
                   std::string(FindText(one, {"message"})));
    }
    Wrong("there is no condition " + std::string(type));
  }

  const Value& set_;
  const std::string name_, uid_;
  const std::set<std::string>& cordoned_;
  std::vector<Value> pods_;
  std::map<std::string, const slurm::Node*> nodes_;
  std::vector<std::string> hosts_;
  int held_ = 0;
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> Unmatched(const std::string& set, const Surroundings& around) {
  const auto value = json::Parse(set);
  if (!value) return "the NodeSet is not JSON";
  return Matching(*value, around).Run();
}

std::optional<std::string> Remains(const std::string& set, const Surroundings& around) {
  const auto value = json::Parse(set);
  if (!value) return "the NodeSet is not JSON";
  const std::string_view name = FindText(*value, {"metadata", "name"});
  for (const std::string& text : around.pods) {
    const auto pod = json::Parse(text);
    const std::string_view pod_name = pod ? FindText(*pod, {"metadata", "name"}) : "";
    if (IsWorkerName(name, pod_name)) return std::string(pod_name) + " is still there";
  }
  const std::string_view uid = FindText(*value, {"metadata", "uid"});
  for (const slurm::Node& node : around.records) {
    const bool ours = node.comment.find(uid) != std::string::npos || IsWorkerName(name, node.name);
    if (ours && !IsHeldByPerson(node))
      return "the record of " + node.name + " is left: " + node.state.ToString() + " (" + node.reason + ")";
  }
  return std::nullopt;
}

std::optional<std::string> Clash(const std::string& set, const Surroundings& around) {
  const auto value = json::Parse(set);
  if (!value) return "the NodeSet is not JSON";
  const std::string_view uid = FindText(*value, {"metadata", "uid"});
  std::map<int64_t, std::string> ordinals;
  std::map<std::string, std::string, std::less<>> hosts;
  for (const std::string& text : around.pods) {
    const auto pod = json::Parse(text);
    if (!pod || !IsControlledBy(*pod, uid)) continue;
    const std::string name(FindText(*pod, {"metadata", "name"}));
    const int64_t ordinal = ParseInt(name.substr(name.rfind('-') + 1)).value_or(-1);
    const auto [same, only] = ordinals.emplace(ordinal, name);
    if (!only) return same->second + " and " + name + " have one ordinal";
    const auto [twin, unique] = hosts.emplace(FindText(*pod, {"spec", "hostname"}), name);
    if (!unique) return twin->second + " and " + name + " are both " + twin->first + " in Slurm";
  }
  return std::nullopt;
}

}  // namespace capstan::op::nodeset
