#include "operator/nodeset/contract_reading.h"

#include <algorithm>

#include "operator/nodeset/contract.h"

namespace capstan::op::nodeset::contract {

using json::FindText;
using json::Value;

std::string NameOf(const Value& set) { return std::string(FindText(set, {"metadata", "name"})); }
std::string NameInSlurm(const Value& set) {
  const std::string_view host = FindText(set, {"spec", "template", "spec", "hostname"});
  return host.empty() ? NameOf(set) : std::string(host.substr(0, host.find_last_not_of('-') + 1));
}
std::string_view UidOf(const Value& set) { return FindText(set, {"metadata", "uid"}); }
bool IsDeleting(const Value& set) { return json::Find(set, {"metadata", "deletionTimestamp"}) != nullptr; }

bool AsksForReservation(const Value& set) {
  return FindText(set, {"spec", "updateStrategy", "type"}) == "ScheduledUpdate" && !IsDeleting(set);
}

bool IsOwnRecord(const Value& set, std::string_view name, const std::optional<slurm::Node>& record) {
  if (IsWorkerName(NameInSlurm(set), name)) return true;
  if (!record) return false;
  // A NodeSet of that name before this one counts, too.
  if (record->comment.find(R"("nodeSetName":")" + NameOf(set) + "\"") != std::string::npos) return true;
  // Of a worker in DaemonSet mode, before it was noted: it brought the set's feature.
  return record->comment.empty() && std::ranges::find(record->features, NameInSlurm(set)) != record->features.end();
}

bool IsOwnForGood(const Value& set, const slurm::Node& record) {
  return IsOwnRecord(set, record.name, record) &&
         (!record.comment.empty() || IsWorkerName(NameInSlurm(set), record.name) || record.reason.starts_with(kOurs));
}

bool IsDaemonSet(const Value& set) { return FindText(set, {"spec", "scalingMode"}) == "DaemonSet"; }

bool IsOnDemand(const Value& set) { return !FindText(set, {"metadata", "annotations", "capstan.dev/power"}).empty(); }

std::string ReservationOf(const Value& set) { return "SlurmOperatorMaint-" + NameOf(set); }

bool IsTrue(const Value& object, std::string_view condition) {
  const Value* conditions = json::Find(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  return std::ranges::any_of(conditions->get_array(), [&](const Value& one) {
    return FindText(one, {"type"}) == condition && FindText(one, {"status"}) == "True";
  });
}

int64_t Number(const Value* value) { return value != nullptr && value->is_int64() ? value->get_int64() : -1; }

int64_t WantedReplicas(const Value& set) {
  const bool stopped = FindText(set, {"metadata", "annotations", "capstan.dev/stopped"}) == "true";
  return stopped ? 0 : Number(json::Find(set, {"spec", "replicas"}));
}

bool IsMachineGone(const slurm::Node& node, const Around& around) {
  const auto comment = json::Parse(node.comment);
  if (!comment) return false;
  const std::string_view machine = FindText(*comment, {"node"});
  return !machine.empty() && std::ranges::none_of(around.nodes, [&](const Value* one) {
    return FindText(*one, {"metadata", "name"}) == machine;
  });
}

}  // namespace capstan::op::nodeset::contract
