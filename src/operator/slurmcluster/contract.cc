#include "operator/slurmcluster/contract.h"

#include <algorithm>
#include <array>

#include "api/slurmcluster.h"
#include "json/value.h"
#include "operator/nodeset/contract.h"

namespace capstan::op::slurmcluster {
namespace {

using json::Find;
using json::FindText;
using json::Value;

bool IsPart(const Call& call, std::string_view cluster) {
  const std::string name(cluster);
  if (call.kind == "Controller" || call.kind == "RestApi" || call.kind == "Accounting" || call.kind == "SharedRoot")
    return call.key.name == name;
  if (call.kind == "LoginSet") return call.key.name == name + "-login";
  if (call.kind == "NodeSet") return call.key.name.starts_with(name + "-worker-");
  if (call.kind != "ConfigMap") return false;
  constexpr auto kFiles =
      std::to_array<std::string_view>({"-files", "-prolog", "-epilog", "-prolog-slurmctld", "-epilog-slurmctld"});
  return std::ranges::any_of(kFiles,
                             [&](std::string_view suffix) { return call.key.name == name + std::string(suffix); });
}

// Only who owns which fields changes, of what was seen.
bool ChangesOwnersAlone(const Call& call) {
  const auto patch = json::Parse(call.body);
  if (!patch || !patch->is_array()) return false;
  return std::ranges::all_of(patch->get_array(), [](const Value& step) {
    const std::string_view path = FindText(step, {"path"});
    return path == "/metadata/managedFields" || path == "/metadata/resourceVersion";
  });
}

Broken DeletionBreach(const Call& call) {
  if (call.kind == "Controller") return "the Controller of a SlurmCluster goes with it, and never before";
  const auto options = json::Parse(call.body);
  if (options && !FindText(*options, {"preconditions", "resourceVersion"}).empty()) return std::nullopt;
  return call.kind + " " + call.key.name + " is deleted whatever has become of it";
}

Broken Breach(const Value& cluster, const Call& call, const Around&) {
  const auto [ns, name] = KeyOf(cluster);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the SlurmCluster's";
  if (IsOwnStatus(cluster, call)) return std::nullopt;
  if (!call.subresource.empty()) return "a SlurmCluster writes no " + call.subresource + " but its own status";
  if (call.kind == "SlurmCluster" && call.key.name == name && call.verb == "patch") return std::nullopt;
  if (call.kind == "Secret" && call.key.name == name + "-sssd-conf" && call.verb == "create") return std::nullopt;
  if (!IsPart(call, name)) return "a SlurmCluster never writes to " + call.kind + " " + call.key.name;
  if (call.verb == "delete") return DeletionBreach(call);
  if (call.verb == "patch" && ChangesOwnersAlone(call)) return std::nullopt;
  if (call.verb != "apply") return "a SlurmCluster never sends " + call.verb + " " + call.kind + " " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, FindText(cluster, {"metadata", "uid"})))
    return call.kind + " " + call.key.name + " would outlive its SlurmCluster";
  return std::nullopt;
}

bool IsInMaintenance(const Value& cluster) {
  return FindText(cluster, {"spec", "mode"}) == "Maintenance" &&
         Find(cluster, {"metadata", "deletionTimestamp"}) == nullptr;
}

// It is being deleted, and waits for no worker.
bool GoesAtOnce(const Value& cluster) {
  return Find(cluster, {"metadata", "deletionTimestamp"}) != nullptr &&
         FindText(cluster, {"spec", "deletionPolicy"}) != "Drain";
}

std::string ReservationOf(const Value& cluster) { return "capstan-" + KeyOf(cluster).name; }

// A worker of one of its NodeSets that jobs may start on.
Broken TakesJobs(const Value& cluster, const Around& around) {
  for (const Value* pod : around.pods) {
    const Value* owners = Find(*pod, {"metadata", "ownerReferences"});
    const std::string_view phase = FindText(*pod, {"status", "phase"});
    if (phase == "Failed" || phase == "Succeeded") continue;
    if (owners == nullptr || !owners->is_array() || owners->get_array().empty()) continue;
    const Value* set =
        around.Find("NodeSet", {KeyOf(cluster).ns, std::string(FindText(owners->get_array()[0], {"name"}))});
    if (set == nullptr || !Owned(*set, FindText(cluster, {"metadata", "uid"}))) continue;
    const auto node = std::ranges::find(around.records, nodeset::HostOf(*pod), &slurm::Node::name);
    if (node != around.records.end() && !node->state.IsDraining() && !node->state.IsDown()) return node->name;
  }
  return std::nullopt;
}

Broken SlurmBreach(const Value& cluster, const SlurmCall& call, const std::optional<slurm::Node>&,
                   const Around& around) {
  const auto [ns, name] = KeyOf(cluster);
  if (call.cluster != ns + "/" + name) return "cluster " + call.cluster + " is not the SlurmCluster's";
  if (call.reservation != ReservationOf(cluster))
    return "a SlurmCluster writes nothing to Slurm but its own reservation";
  if (call.verb == "delete" && IsInMaintenance(cluster))
    return "the reservation is removed in the middle of a maintenance";
  if (call.verb != "delete" && !IsInMaintenance(cluster)) return "jobs are kept out without a maintenance";
  if (call.verb == "delete" && FindText(cluster, {"spec", "mode"}) == "Stopped" && !GoesAtOnce(cluster)) {
    if (const Broken node = TakesJobs(cluster, around)) return "jobs may start on " + *node + ", which is to go";
  }
  return std::nullopt;
}

Broken Unmatched(const Value& cluster, const Around& around) {
  const kube::Key key = KeyOf(cluster);
  std::vector<std::pair<std::string, std::string>> parts{{"Controller", key.name}, {"RestApi", key.name}};
  if (Find(cluster, {"spec", "accounting"}) != nullptr) parts.emplace_back("Accounting", key.name);
  if (Find(cluster, {"spec", "sharedRoot"}) != nullptr) parts.emplace_back("SharedRoot", key.name);
  if (Find(cluster, {"spec", "login"}) != nullptr) parts.emplace_back("LoginSet", key.name + "-login");
  if (const Value* sets = Find(cluster, {"spec", "nodeSets"}); sets != nullptr && sets->is_array()) {
    for (const Value& set : sets->get_array())
      parts.emplace_back("NodeSet", key.name + "-worker-" + std::string(FindText(set, {"name"})));
  }
  bool ready = true;
  for (const auto& [kind, name] : parts) {
    const Value* part = around.Find(kind, {key.ns, name});
    if (part == nullptr) return kind + " " + name + " is missing";
    if (!Owned(*part, FindText(cluster, {"metadata", "uid"}))) return kind + " " + name + " does not belong to it";
    ready = ready && !SaysReady(*part);
  }
  const bool reserved = std::ranges::find(around.reservations, ReservationOf(cluster)) != around.reservations.end();
  if (reserved != IsInMaintenance(cluster))
    return reserved ? "jobs are kept out, and nobody asks for it" : "jobs start in a maintenance";
  return Says(cluster, "Ready", ready);
}

}  // namespace

constinit const Contract kContract{.resource = &api::SlurmCluster::kResource,
                                   .breach = &Breach,
                                   .slurm_breach = &SlurmBreach,
                                   .unmatched = &Unmatched};

}  // namespace capstan::op::slurmcluster
