#include "operator/nodeset/matched.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "json/value.h"
#include "operator/nodeset/contract.h"
#include "operator/nodeset/contract_reading.h"

namespace capstan::op::nodeset::contract {
namespace {

using json::FindText;
using json::Value;

// The template's nodeSelector is all that the simulator's users write of what a worker wants.
bool Fits(const Value& set, const Value& node) {
  const Value* selector = json::Find(set, {"spec", "template", "spec", "nodeSelector"});
  if (selector == nullptr) return true;
  return std::ranges::all_of(selector->get_object(), [&](const auto& label) {
    return FindText(node, {"metadata", "labels", label.key()}) == label.value().as_string();
  });
}

class Matching {
 public:
  Matching(const Value& set, const Around& around)
      : set_(set),
        uid_(FindText(set, {"metadata", "uid"})),
        around_(around),
        cordoned_(around.cordoned),
        machines_(around.nodes),
        reservations_(around.reservations) {
    for (const Value* pod : around.pods) {
      if (Owned(*pod, uid_)) pods_.push_back(pod);
    }
    for (const slurm::Node& node : around.records) nodes_.emplace(node.name, &node);
  }

  Broken Run() {
    Held();
    CanBePutBack();
    CountPods();
    for (const Value* pod : pods_) Worker(*pod);
    StrayRecords();
    for (const std::string& reservation : reservations_) {
      if (reservation == ReservationOf(set_))
        Wrong("reservation " + reservation +
              (AsksForReservation(set_) ? " is not over" : " is left, and not asked for"));
    }
    if (IsTrue(set_, "ReservationCreated"))
      Wrong("the condition ReservationCreated is True, and the reservation is over");
    Said();
    return wrong_;
  }

 private:
  void Wrong(std::string text) {
    if (!wrong_) wrong_ = std::move(text);
  }

  void Held() {
    const Value* finalizers = json::Find(set_, {"metadata", "finalizers"});
    const Value drain("capstan.dev/drain");
    if (finalizers == nullptr || std::ranges::find(finalizers->as_array(), drain) == finalizers->as_array().end())
      Wrong("the NodeSet could be deleted before its workers are drained");
  }

  // Its template is there to be read, and no other is newer.
  void CanBePutBack() {
    const auto [ns, name] = KeyOf(set_);
    const std::string revision(FindText(set_, {"status", "nodeSetHash"}));
    const Value* todays = around_.Find("ControllerRevision", {ns, name + "-" + revision});
    if (todays == nullptr || !Owned(*todays, uid_)) return Wrong("there is no ControllerRevision of " + revision);
    for (const Value* pod : pods_) {
      const std::string former(FindText(*pod, {"metadata", "labels", "controller.kubernetes.io/hash"}));
      const Value* its = around_.Find("ControllerRevision", {ns, name + "-" + former});
      if (its != nullptr && former != revision &&
          Number(json::Find(*its, {"revision"})) >= Number(json::Find(*todays, {"revision"})))
        Wrong("the ControllerRevision of " + former + " is newer than that of " + revision);
    }
  }

  void CountPods() {
    if (IsDaemonSet(set_)) return CountPodsOfNodes();
    if (IsOnDemand(set_)) return CountNodesOnDemand();
    const int64_t wanted = WantedReplicas(set_), there = int64_t(pods_.size());
    // Of a NodeSet that was on demand: its record has to go first.
    const auto off = std::ranges::count_if(nodes_, [&](const auto& named) {
      const slurm::Node& node = *named.second;
      return IsOwnForGood(set_, node) && IsHeldByPerson(node) && node.state.IsPoweredDown() &&
             std::ranges::none_of(pods_, [&](const Value* pod) { return HostOf(*pod) == node.name; });
    });
    off_ = std::clamp(wanted - there, int64_t{0}, int64_t{off});
    if (there + off_ != wanted)
      Wrong("there are " + std::to_string(there) + " workers, and " + std::to_string(wanted) + " are wanted");
  }

  // Each is there, and has a pod if it is not powered down.
  void CountNodesOnDemand() {
    int64_t there = 0;
    for (const auto& [name, node] : nodes_) {
      if (!IsOwnForGood(set_, *node)) continue;
      ++there;
      const bool has_pod = std::ranges::any_of(pods_, [&](const Value* pod) { return HostOf(*pod) == name; });
      const bool held = IsHeldByPerson(*node) || node->state.IsDraining();
      if (!held && !node->state.IsPoweredDown() && !node->state.IsBusy())
        Wrong("Slurm node " + name + " is " + node->state.ToString() + ", and no job is there");
      // It has been left as it was.
      if (held && (!node->state.Has(slurm::NodeFlag::kCloud) || node->state.IsDown())) continue;
      if (has_pod == node->state.IsOff())
        Wrong("Slurm node " + name + " is " + node->state.ToString() + ", and has " + (has_pod ? "a pod" : "none"));
    }
    const int64_t wanted = WantedReplicas(set_);
    if (there < wanted)
      Wrong("there are " + std::to_string(there) + " Slurm nodes, and " + std::to_string(wanted) + " are wanted");
    for (const auto& [name, node] : nodes_) {
      if (there > wanted && IsOwnForGood(set_, *node) && !IsHeldByPerson(*node))
        Wrong("there are " + std::to_string(there) + " Slurm nodes, and " + std::to_string(wanted) + " are wanted");
    }
  }

  void CountPodsOfNodes() {
    for (const Value* node : machines_) {
      const std::string_view name = FindText(*node, {"metadata", "name"});
      const auto count =
          std::ranges::count_if(pods_, [&](const Value* pod) { return FindText(*pod, {"spec", "nodeName"}) == name; });
      if (count != Fits(set_, *node))
        Wrong("Kubernetes node " + std::string(name) + " has " + std::to_string(count) + " workers");
    }
    for (const Value* pod : pods_) {
      const std::string_view host = FindText(*pod, {"spec", "hostname"});
      if (host != FindText(*pod, {"spec", "nodeName"}))
        Wrong("the worker " + std::string(host) + " is not called after its node");
    }
  }

  // What stands on its Kubernetes node is known to Slurm.
  void FollowsItsNode(const Value& pod, const slurm::Node& record) {
    for (const Value* node : machines_) {
      if (FindText(*node, {"metadata", "name"}) != FindText(pod, {"spec", "nodeName"})) continue;
      const std::string_view said = FindText(*node, {"metadata", "annotations", "features.slinky.slurm.net/spec"});
      for (const std::string& feature : record.features) {
        if (feature.starts_with("k8s/") && feature != "k8s/" + std::string(said))
          Wrong(record.name + " has the feature " + feature + ", and its Kubernetes node does not say so");
      }
      if (!said.empty() && std::ranges::find(record.features, "k8s/" + std::string(said)) == record.features.end())
        Wrong(record.name + " lacks the feature " + std::string(said) + " of its Kubernetes node");
    }
  }

  // Of the SlurmCluster that the NodeSet is a part of.
  bool IsInMaintenance(const slurm::Node& node) const {
    const std::string ours = "capstan-" + std::string(FindText(set_, {"spec", "controllerRef", "name"}));
    return node.state.Has(slurm::NodeFlag::kMaintenance) &&
           std::ranges::find(reservations_, ours) != reservations_.end();
  }

  void Worker(const Value& pod) {
    const std::string name(FindText(pod, {"metadata", "name"}));
    if (!FindText(pod, {"metadata", "deletionTimestamp"}).empty()) return Wrong(name + " is terminating");
    if (!IsTrue(pod, "Ready")) return Wrong(name + " is not ready");
    if (!FindText(pod, {"metadata", "annotations", "capstan.dev/scale-in"}).empty()) {
      return Wrong(name + " is still marked as leaving");
    }
    const std::string host = HostOf(pod);
    hosts_.push_back(host);
    const auto found = nodes_.find(host);
    if (found == nodes_.end()) return Wrong("Slurm does not know " + host);
    const slurm::Node& node = *found->second;
    if (node.comment.find("\"" + name + "\"") == std::string::npos)
      Wrong("the comment on " + host + " does not name " + name);
    if (std::ranges::find(node.features, NameInSlurm(set_)) == node.features.end())
      Wrong(host + " lacks the feature by which the NodeSet's partition finds it");
    SaysOnThePod(pod, node);
    IsOfTheTemplate(pod);
    FollowsItsNode(pod, node);
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
    if (!node.state.IsUsable() && !busy && !IsInMaintenance(node))
      Wrong("node " + host + " is " + node.state.ToString() + " (" + node.reason + ")");
    if (node.state.IsDraining()) Wrong("node " + host + " is still drained (" + node.reason + ")");
  }

  // A rolling update ends with all; others when somebody deletes a worker, or in a reservation that may have been missed.
  void IsOfTheTemplate(const Value& pod) {
    const std::string_view type = FindText(set_, {"spec", "updateStrategy", "type"});
    if (!type.empty() && type != "RollingUpdate") return;
    if (FindText(pod, {"metadata", "labels", "controller.kubernetes.io/hash"}) !=
        FindText(set_, {"status", "nodeSetHash"}))
      Wrong("pod " + std::string(FindText(pod, {"metadata", "name"})) + " is of an older template");
  }

  void SaysOnThePod(const Value& pod, const slurm::Node& node) {
    for (const auto& [flag, type] : {std::pair(slurm::NodeFlag::kIdle, "SlurmNodeStateIdle"),
                                     std::pair(slurm::NodeFlag::kDrain, "SlurmNodeStateDrain")}) {
      if (IsTrue(pod, type) != node.state.Has(flag))
        Wrong("pod " + std::string(FindText(pod, {"metadata", "name"})) + " is wrong about " + type + ": its node is " +
              node.state.ToString());
    }
  }

  void StrayRecords() {
    for (const auto& [name, node] : nodes_) {
      if (!IsOwnForGood(set_, *node) || IsHeldByPerson(*node) || std::ranges::find(hosts_, name) != hosts_.end())
        continue;
      if (IsOnDemand(set_) && node->state.IsPoweredDown()) continue;  // they have been counted
      // Of a machine that may come back.
      if (IsDaemonSet(set_) && node->state.IsDown() &&
          (!node->reason.starts_with(kOurs) || IsMachineGone(*node, around_)))
        continue;
      Wrong("the record of " + name + " has no worker: " + node->state.ToString() + " (" + node->reason + ")");
    }
  }

  void Said() {
    for (const auto& [type, wanted] : std::map<std::string_view, bool>{
             {"Ready", held_ + off_ == 0}, {"Degraded", held_ > 0}, {"Progressing", off_ > 0}}) {
      if (const Broken says = op::Says(set_, type, wanted)) Wrong(*says);
    }
    const int64_t ready = Number(json::Find(set_, {"status", "readyReplicas"}));
    if (ready != int64_t(pods_.size()) && !pods_.empty()) Wrong("status.readyReplicas is " + std::to_string(ready));
    if (Number(json::Find(set_, {"status", "observedGeneration"})) !=
        Number(json::Find(set_, {"metadata", "generation"}))) {
      Wrong("the status is of an older generation");
    }
  }

  const Value& set_;
  const std::string uid_;
  const Around& around_;
  const std::set<std::string>& cordoned_;
  const std::vector<const Value*>& machines_;
  const std::vector<std::string>& reservations_;
  std::vector<const Value*> pods_;
  std::map<std::string, const slurm::Node*> nodes_;
  std::vector<std::string> hosts_;
  int held_ = 0;
  int64_t off_ = 0;  // workers that wait until a person resumes the Slurm node
  Broken wrong_;
};

}  // namespace

Broken Unmatched(const Value& set, const Around& around) { return Matching(set, around).Run(); }

Broken Remains(const Value& set, const Around& around) {
  for (const Value* pod : around.pods) {
    const std::string_view name = FindText(*pod, {"metadata", "name"});
    if (IsWorkerName(NameOf(set), name)) return std::string(name) + " is still there";
  }
  for (const std::string& reservation : around.reservations) {
    if (reservation == ReservationOf(set)) return "reservation " + reservation + " is left";
  }
  for (const slurm::Node& node : around.records) {
    if (IsOwnForGood(set, node) && !IsHeldByPerson(node))
      return "the record of " + node.name + " is left: " + node.state.ToString() + " (" + node.reason + ")";
  }
  return std::nullopt;
}

}  // namespace capstan::op::nodeset::contract
