#include "operator/nodeset/contract.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/nodeset.h"
#include "base/text.h"
#include "json/value.h"
#include "operator/nodeset/contract_reading.h"
#include "operator/nodeset/matched.h"

namespace capstan::op::nodeset {
namespace contract {
namespace {

using json::FindText;
using json::Value;

bool IsProtectionWanted(const Value& set) {
  const Value* wanted = json::Find(set, {"spec", "workloadDisruptionProtection"});
  return wanted == nullptr || *wanted != Value(false);
}

// Jobs hold the node of the pod that is named. What was refused has done no harm: the pod had changed since it was seen.
bool IsBusy(const Call& call, const Around& around) {
  const Value* pod = around.Find("Pod", call.key);
  return !call.refused && around.IsBusy(pod != nullptr ? HostOf(*pod) : call.key.name);
}

// Jobs hold a node of any worker, and nobody has asked for their end.
bool IsAnyBusy(const Value& set, const Around& around) {
  return !around.jobs_may_end && std::ranges::any_of(around.pods, [&](const Value* pod) {
    return Owned(*pod, UidOf(set)) && around.IsBusy(HostOf(*pod));
  });
}

Broken CreateBreach(const Value& set, const Call& call) {
  if (call.kind == "PersistentVolumeClaim") return std::nullopt;
  if (call.kind != "Pod" || !IsWorkerName(NameOf(set), call.key.name)) {
    return "a NodeSet creates no " + call.kind + " " + call.key.name;
  }
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, UidOf(set))) return "pod " + call.key.name + " would outlive its NodeSet";
  const bool protect = FindText(*body, {"metadata", "labels", kProtect}) == "true";
  if (protect != IsProtectionWanted(set)) return "pod " + call.key.name + " is not protected from its birth as wanted";
  return std::nullopt;
}

std::vector<std::string> Texts(const Value* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->is_array()) return texts;
  for (const Value& one : list->get_array()) texts.emplace_back(one.is_string() ? one.get_string() : "");
  return texts;
}

// Its finalizer is all that a NodeSet's key changes in it.
Broken FinalizerBreach(const Value& set, const Call& call, const Around& around) {
  constexpr std::string_view kFinalizer = "capstan.dev/drain";
  constexpr std::string_view kFormer = "nodeset.slinky.slurm.net/drain";
  constexpr std::string_view kReservation =
      "nodeset.slinky.slurm.net/reservation";  // a NodeSet's that is updated in one; where it is not asked for, it goes
  const auto patch = json::Parse(call.body);
  if (!patch || !patch->is_object() || patch->get_object().size() != 1) return "a patch touches more than metadata";
  const Value* finalizers = json::Find(*patch, {"metadata", "finalizers"});
  if (finalizers == nullptr || !finalizers->is_array()) return "a patch of the NodeSet has no finalizers";
  if (json::Find(*patch, {"metadata"})->get_object().size() != 3 ||
      FindText(*patch, {"metadata", "uid"}) != UidOf(set) || FindText(*patch, {"metadata", "resourceVersion"}).empty())
    return "a patch of the NodeSet's finalizers does not name uid and version, or more than these";
  std::vector<std::string> wanted = Texts(json::Find(set, {"metadata", "finalizers"})), given = Texts(finalizers);
  const bool had = std::erase(wanted, kReservation) > 0, has = std::erase(given, kReservation) > 0;
  if (has && !had && !AsksForReservation(set)) return "a NodeSet without scheduled updates is held for a reservation";
  const auto is_ours = [&](const std::string& name) { return name == kFinalizer || name == kFormer; };
  const auto held = std::ranges::count_if(wanted, is_ours);
  const auto kept = std::ranges::count_if(given, is_ours);
  if (std::ranges::count(given, kFormer) > std::ranges::count(wanted, kFormer)) return "a former finalizer is added";
  std::erase_if(wanted, is_ours);
  std::erase_if(given, is_ours);
  std::ranges::sort(wanted);
  std::ranges::sort(given);
  if (given != wanted) return "somebody else's finalizer of the NodeSet is touched";
  if (kept > held && IsDeleting(set)) return "a NodeSet that is being deleted is held";
  if (kept == 0 && held > 0 && !IsDeleting(set)) return "a NodeSet that stays is let go";
  if (kept == 0 && IsAnyBusy(set, around)) return "the NodeSet is let go while jobs run on its workers";
  return std::nullopt;
}

// The patch makes an object the NodeSet's, as it was seen, and does nothing else.
bool IsAdoption(const Value& set, const Value& patch) {
  const Value* metadata = json::Find(patch, {"metadata"});
  return patch.get_object().size() == 1 && metadata->get_object().size() == 3 && Owned(patch, UidOf(set)) &&
         !FindText(patch, {"metadata", "uid"}).empty() && !FindText(patch, {"metadata", "resourceVersion"}).empty();
}

// Only these members are ours in a pod that lives.
Broken PatchBreach(const Value& set, const Call& call, const Around& around) {
  const auto patch = json::Parse(call.body);
  if (!patch || !patch->is_object()) return "a patch of " + call.key.name + " is not JSON";
  for (const auto& member : patch->get_object()) {
    if (member.key() != "metadata") return "a patch touches more of pod " + call.key.name + " than its metadata";
  }
  // One that had changed since it was seen, as by another owner, is as it was.
  if (json::Find(*patch, {"metadata", "ownerReferences"}) != nullptr) {
    if (IsDeleting(set) && !call.refused)
      return "pod " + call.key.name + " is adopted by a NodeSet that is being deleted";
    return IsAdoption(set, *patch) ? std::nullopt : std::optional("pod " + call.key.name + " gets another owner");
  }
  const std::set<std::pair<std::string_view, std::string_view>> ours = {
      {"labels", kProtect},
      {"labels", "controller.kubernetes.io/hash"},
      {"annotations", "capstan.dev/scale-in"},
      {"annotations", "nodeset.slinky.slurm.net/scale-in"},
      {"annotations", "topology.slinky.slurm.net/spec"},
      {"annotations", "nodeset.slinky.slurm.net/pod-deadline"},
  };
  // Put back where somebody has removed them.
  const std::set<std::string_view> known_by = {"app.kubernetes.io/name",
                                               "app.kubernetes.io/instance",
                                               "slinky.slurm.net/cluster",
                                               "nodeset.slinky.slurm.net/pod-name",
                                               "nodeset.slinky.slurm.net/pod-index",
                                               "nodeset.slinky.slurm.net/pod-hostname",
                                               "nodeset.slinky.slurm.net/scaling-mode"};
  // A former operator's; only taken away, and only as it was seen, since a person may write it at any time.
  const std::string_view cordon = "nodeset.slinky.slurm.net/pod-cordon";
  const bool as_seen = !FindText(*patch, {"metadata", "resourceVersion"}).empty();
  const Value* protect = json::Find(*patch, {"metadata", "labels", kProtect});
  if (protect != nullptr && *protect != Value("true") && IsProtectionWanted(set) && IsBusy(call, around))
    return "pod " + call.key.name + " may be evicted while a job holds its node";
  for (const auto& part : json::Find(*patch, {"metadata"})->get_object()) {
    if (part.key() == "uid" || part.key() == "resourceVersion") continue;
    if (part.key() != "labels" && part.key() != "annotations")
      return "a patch touches metadata." + std::string(part.key()) + " of pod " + call.key.name;
    for (const auto& entry : part.value().get_object()) {
      const bool uncordons = part.key() == "annotations" && entry.key() == cordon && entry.value().is_null() && as_seen;
      const bool puts_back = part.key() == "labels" && known_by.contains(entry.key()) && entry.value().is_string();
      if (!uncordons && !puts_back && !ours.contains({part.key(), entry.key()}))
        return "a patch touches " + std::string(entry.key()) + " of pod " + call.key.name;
    }
  }
  return FindText(*patch, {"metadata", "uid"}).empty()
             ? std::optional("a patch of pod " + call.key.name + " names no uid")
             : std::nullopt;
}

// Of its status only the conditions that say what Slurm says of it.
Broken StatusBreach(const Call& call) {
  const auto patch = json::Parse(call.body);
  const Value* conditions = patch ? json::Find(*patch, {"status", "conditions"}) : nullptr;
  const bool alone = conditions != nullptr && conditions->is_array() && patch->get_object().size() == 2 &&
                     json::Find(*patch, {"status"})->get_object().size() == 1;
  const bool only_ours = alone && std::ranges::all_of(conditions->get_array(), [](const Value& one) {
                           return FindText(one, {"type"}).starts_with("SlurmNodeState");
                         });
  if (only_ours) return std::nullopt;
  return "a patch of the status of pod " + call.key.name + " touches more than the conditions SlurmNodeState*";
}

// sshd's configuration is all that a NodeSet applies, and removes when ssh is not wanted any more.
Broken SshConfigBreach(const Value& set, const Call& call) {
  if (call.verb == "delete") return std::nullopt;
  if (call.verb != "apply") return "a NodeSet never sends " + call.verb + " ConfigMap " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, UidOf(set))) return "ConfigMap " + call.key.name + " would outlive its NodeSet";
  return std::nullopt;
}

Broken DeleteBreach(const Call& call, const Around& around) {
  const auto options = json::Parse(call.body);
  if (!options || FindText(*options, {"preconditions", "uid"}).empty()) {
    return "the deletion of pod " + call.key.name + " names no uid";
  }
  if (json::Find(*options, {"gracePeriodSeconds"}) != nullptr)
    return "pod " + call.key.name + " is not given its time to end";
  if (IsBusy(call, around)) return "pod " + call.key.name + " is deleted while a job runs on it";
  return std::nullopt;
}

// Of a worker that is gone, and only as the policy says. (An operator that renews a worker keeps its data.)
Broken ClaimBreach(const Value& set, const Call& call, const Around& around) {
  const Value* policy = json::Find(set, {"spec", "persistentVolumeClaimRetentionPolicy"});
  const auto says = [&](std::string_view when) { return policy != nullptr && FindText(*policy, {when}) == "Delete"; };
  if (!says(IsDeleting(set) ? "whenDeleted" : "whenScaled")) return "claim " + call.key.name + " is to be kept";
  const std::string ordinal = call.key.name.substr(call.key.name.rfind('-') + 1);
  for (const Value* pod : around.pods) {
    if (FindText(*pod, {"metadata", "name"}) == NameOf(set) + "-" + ordinal)
      return "claim " + call.key.name + " is deleted under its worker";
  }
  return std::nullopt;
}

// What workers are made from is written down once; only its number changes, and its owner where there was none.
Broken RevisionBreach(const Value& set, const Call& call) {
  if (!call.key.name.starts_with(NameOf(set) + "-"))
    return "ControllerRevision " + call.key.name + " is not the NodeSet's";
  const auto body = json::Parse(call.body);
  if (!body) return "a write to ControllerRevision " + call.key.name + " is not JSON";
  if (call.verb == "create" && !Owned(*body, UidOf(set)))
    return "ControllerRevision " + call.key.name + " would outlive its NodeSet";
  const bool numbers = body->get_object().size() == 2 && json::Find(*body, {"revision"}) != nullptr;
  if (call.verb == "patch" && !numbers && !IsAdoption(set, *body))
    return "a patch of ControllerRevision " + call.key.name + " touches more than its number";
  if (call.verb == "delete" && FindText(*body, {"preconditions", "resourceVersion"}).empty())
    return "ControllerRevision " + call.key.name + " is deleted, whoever has made it today's again";
  return std::nullopt;
}

// A claim goes with a NodeSet that is being deleted, if its user wants that.
Broken HandOverBreach(const Value& set, const Call& call) {
  const Value* policy = json::Find(set, {"spec", "persistentVolumeClaimRetentionPolicy"});
  if (!IsDeleting(set) || policy == nullptr || FindText(*policy, {"whenDeleted"}) != "Delete")
    return "claim " + call.key.name + " is to be kept";
  const auto body = json::Parse(call.body);
  if (!body || !IsAdoption(set, *body)) return "a patch of claim " + call.key.name + " does more than hand it over";
  return std::nullopt;
}

Broken Breach(const Value& set, const Call& call, const Around& around) {
  const auto [ns, name] = KeyOf(set);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the NodeSet's";
  if (IsOwnStatus(set, call)) return std::nullopt;
  if (call.verb == "patch" && call.kind == "NodeSet" && call.subresource.empty() && call.key.name == name) {
    // One that had changed since it was seen is as it was.
    return call.refused ? std::nullopt : FinalizerBreach(set, call, around);
  }
  if (call.kind == "ConfigMap" && call.key.name == name + "-ssh-config") return SshConfigBreach(set, call);
  if (call.kind == "Secret" && call.key.name == name + "-ssh-host-keys") return MakesHostKeys(call);
  if (call.kind == "ControllerRevision") return RevisionBreach(set, call);
  if (call.verb == "create") return CreateBreach(set, call);
  if (call.kind == "PersistentVolumeClaim" && call.verb == "delete") return ClaimBreach(set, call, around);
  if (call.kind == "PersistentVolumeClaim" && call.verb == "patch") return HandOverBreach(set, call);
  const bool worker = call.kind == "Pod" && IsWorkerName(name, call.key.name);
  if (worker && call.verb == "patch" && call.subresource == "status") return StatusBreach(call);
  if (worker && call.verb == "patch" && call.subresource.empty()) return PatchBreach(set, call, around);
  if (worker && call.verb == "delete" && call.subresource.empty()) return DeleteBreach(call, around);
  return "a NodeSet never sends " + call.verb + " " + call.kind + " " + call.key.name;
}

Broken ReservationBreach(const Value& set, const SlurmCall& call) {
  if (call.reservation != ReservationOf(set)) return "reservation " + call.reservation + " is not the NodeSet's";
  if (call.verb != "delete" && !AsksForReservation(set)) return "a reservation is made that nobody asks for";
  return std::nullopt;
}

// How many workers an update may take out of service.
int64_t MaxUnavailable(const Value& set, int64_t replicas) {
  const std::string_view type = FindText(set, {"spec", "updateStrategy", "type"});
  if (!type.empty() && type != "RollingUpdate") return 0;
  const Value* most = json::Find(set, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
  if (most != nullptr && most->is_int64()) return most->get_int64();
  const std::string_view text = most == nullptr ? "25%" : std::string_view(most->as_string());
  return (replicas * ParseInt(text.substr(0, text.size() - 1)).value_or(0) + 99) / 100;
}

bool IsDrainToGo(std::string_view reason) { return reason.ends_with(") is pending termination for scale-in"); }

// The drain takes a worker away that serves and is not too many, beside as many as may be out for an update's sake.
Broken BudgetBreach(const Value& set, const SlurmCall& call, const slurm::Node& before, const Around& around) {
  if (around.may_be_late || call.state != "DRAIN" || !IsDrainToGo(call.reason) || before.state.IsDraining() ||
      !before.state.IsUsable())
    return std::nullopt;
  const std::string_view type = FindText(set, {"spec", "updateStrategy", "type"});
  if (IsDeleting(set) || FindText(set, {"spec", "scalingMode"}) == "DaemonSet" || type == "ScheduledUpdate" ||
      IsOnDemand(set))  // all go over to that
    return std::nullopt;
  const int64_t replicas = std::max<int64_t>(0, WantedReplicas(set));
  int64_t there = 0, out = 0;
  bool serves = false;  // else its pod has ended while the drain was on its way
  for (const Value* pod : around.pods) {
    if (!Owned(*pod, UidOf(set))) continue;
    if (FindText(*pod, {"metadata", "labels", "nodeset.slinky.slurm.net/scaling-mode"}) == "DaemonSet")
      return std::nullopt;  // the mode is being changed
    const std::string host = HostOf(*pod);
    if (host == call.node && !IsTrue(*pod, "Ready")) return std::nullopt;
    serves |= host == call.node;
    ++there;
    const auto record = std::ranges::find(around.records, host, &slurm::Node::name);
    const bool goes =
        !FindText(*pod, {"metadata", "annotations", "capstan.dev/scale-in"}).empty();  // else it is lifted
    out += goes && host != call.node && record != around.records.end() && record->state.IsDraining() &&
           IsDrainToGo(record->reason);
  }
  if (!serves || there > replicas) return std::nullopt;  // whoever is too many is out for no update's sake
  out += replicas - there;
  const int64_t most = MaxUnavailable(set, replicas);
  if (out < most) return std::nullopt;
  return call.node + " is drained while " + std::to_string(out) + " are out; an update may take " +
         std::to_string(most) + " of " + std::to_string(replicas);
}

// It is known that nothing runs there: by a person's taint, or by Kubernetes and Slurm both.
bool IsLost(const slurm::Node& node, const Around& around) {
  if (IsMachineGone(node, around)) return node.state.IsNotResponding();
  const auto comment = json::Parse(node.comment);
  const std::string_view machine = comment ? FindText(*comment, {"node"}) : "";
  return std::ranges::any_of(around.nodes, [&](const Value* one) {
    const Value* taints = json::Find(*one, {"spec", "taints"});
    return FindText(*one, {"metadata", "name"}) == machine && taints != nullptr && taints->is_array() &&
           std::ranges::any_of(taints->get_array(), [](const Value& taint) {
             return FindText(taint, {"key"}) == "node.kubernetes.io/out-of-service";
           });
  });
}

// Jobs would begin on a machine that is gone, cordoned or not ready.
Broken LetsJobsIn(const Value& set, const SlurmCall& call, const Around& around) {
  if ((call.state != "UNDRAIN" && call.state != "RESUME") || !around.takes_no_work) return std::nullopt;
  for (const Value* pod : around.pods) {
    const std::string machine(FindText(*pod, {"spec", "nodeName"}));
    if (HostOf(*pod) != call.node || !Owned(*pod, UidOf(set)) || machine.empty()) continue;
    if (around.takes_no_work(machine))
      return call.node + " is given jobs again although its machine " + machine + " takes none";
  }
  return std::nullopt;
}

Broken SlurmBreach(const Value& set, const SlurmCall& call, const std::optional<slurm::Node>& before,
                   const Around& around) {
  const std::string cluster = KeyOf(set).ns + "/" + std::string(FindText(set, {"spec", "controllerRef", "name"}));
  if (call.cluster != cluster) return "cluster " + call.cluster + " is not the NodeSet's";
  if (!call.reservation.empty()) return ReservationBreach(set, call);
  if (call.verb == "create") {
    if (!IsOnDemand(set) || IsDeleting(set))
      return "Slurm node " + call.node + " is made by a NodeSet that is not on demand";
    return IsWorkerName(NameInSlurm(set), call.node)
               ? std::nullopt
               : std::optional("Slurm node " + call.node + " is made, which is no worker's");
  }
  if (!before) return std::nullopt;  // nothing is there that could be harmed
  // One that is called as its machine takes over the record of whoever was there before it.
  const bool stands_there = std::ranges::any_of(
      around.pods, [&](const Value* pod) { return Owned(*pod, UidOf(set)) && HostOf(*pod) == call.node; });
  if (!stands_there && !IsOwnRecord(set, call.node, before)) return "node " + call.node + " is not the NodeSet's";
  if (const Broken beyond = BudgetBreach(set, call, *before, around)) return beyond;
  if (const Broken in = LetsJobsIn(set, call, around)) return in;
  const bool held = IsHeldByPerson(*before);
  if ((call.state == "DRAIN" || call.state == "DOWN") && before->state.AwaitsSlurmd())
    return call.state + " of " + call.node + " takes it from whoever waits for its slurmd to begin";
  if (call.verb == "delete") {
    if (held) return "the record of " + call.node + ", which a person holds (\"" + before->reason + "\"), is removed";
    if (before->state.IsBusy()) return "the record of " + call.node + " is removed while jobs run there";
    return std::nullopt;
  }
  const bool lost = call.state == "DOWN" && !held && call.reason.starts_with(kOurs) && IsLost(*before, around);
  if (call.state == "IDLE" || (call.state == "DOWN" && !lost)) return call.state + " is written to " + call.node;
  if ((call.state == "UNDRAIN" || call.state == "RESUME") && held) {
    return "the drain of " + call.node + " by a person (\"" + before->reason + "\") is lifted";
  }
  if (call.state == "DRAIN" && before->state.Has(slurm::NodeFlag::kFail)) {
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

}  // namespace
}  // namespace contract

constinit const Contract kContract{.resource = &api::NodeSet::kResource,
                                   .breach = &contract::Breach,
                                   .slurm_breach = &contract::SlurmBreach,
                                   .unmatched = &contract::Unmatched,
                                   .remains = &contract::Remains};

bool IsWorkerName(std::string_view set, std::string_view pod) {
  if (!pod.starts_with(std::string(set) + "-")) return false;
  const std::string_view place = pod.substr(set.size() + 1);
  return !place.empty() && place.find('-') == std::string_view::npos;
}

bool IsHeldByPerson(const slurm::Node& node) {
  if (node.state.Has(slurm::NodeFlag::kFail)) return true;
  const bool out = node.state.IsDraining() || node.state.IsDown();
  return out && !node.reason.empty() && !node.reason.starts_with(contract::kOurs) && node.reason != "Not responding" &&
         node.reason != "ResumeTimeout reached" && !node.reason.starts_with("Node unexpectedly rebooted");
}

std::string HostOf(const json::Value& pod) {
  const bool by_machine = json::FindText(pod, {"metadata", "annotations", "capstan.dev/named"}) == "machine";
  return std::string(json::FindText(pod, {"spec", by_machine ? "nodeName" : "hostname"}));
}

Broken Clash(const json::Value& set, const Around& around) {
  std::map<int64_t, std::string> ordinals;
  std::map<std::string, std::string, std::less<>> hosts;
  for (const json::Value* pod : around.pods) {
    if (!Owned(*pod, contract::UidOf(set))) continue;
    const std::string name(json::FindText(*pod, {"metadata", "name"}));
    const int64_t ordinal = ParseInt(name.substr(name.rfind('-') + 1)).value_or(-1);
    const auto [same, only] = ordinals.emplace(ordinal, name);
    if (!only && ordinal >= 0) return same->second + " and " + name + " have one ordinal";
    const std::string host = HostOf(*pod);
    const std::string_view phase = json::FindText(*pod, {"status", "phase"});
    if (host.empty() || phase == "Failed" || phase == "Succeeded") continue;  // nobody speaks for one that has ended
    const auto [twin, unique] = hosts.emplace(host, name);
    if (!unique) return twin->second + " and " + name + " are both " + twin->first + " in Slurm";
  }
  return std::nullopt;
}

}  // namespace capstan::op::nodeset
