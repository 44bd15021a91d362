#include "rules.h"

#include <algorithm>

#include "base/text.h"
#include "json/codec.h"
#include "operator/controller/contract.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "operator/resources.h"
#include "slurm/rest_wire.h"

namespace capstan::sim {
namespace {

using json::FindText;
using json::Value;

// What a RestApi's key may send: there is little of it.
bool IsOfRestApi(const kube::testing::ApiWrite& write) {
  if (write.key.ns != kMain.ns || write.verb != "apply") return false;
  if (write.resource == op::kRestApis) return write.key.name == kMain.name && write.subresource == "status";
  const bool child = write.resource == kube::kDeployments || write.resource == kube::kServices;
  return child && write.key.name == "main-restapi" && write.subresource.empty();
}

template <class T>
T Decoded(const Value* value) {
  auto decoded = value != nullptr ? json::Decode<T>(json::Serialize(*value)) : Result<T>(T());
  return decoded ? *std::move(decoded) : T();
}

std::string Title(const kube::testing::ApiWrite& write) {
  return write.verb + " " + std::string(write.resource.kind) + " " + write.key.ToString() +
         (write.subresource.empty() ? "" : "/" + write.subresource);
}

}  // namespace

Rules::Rules(Cluster& cluster) : cluster_(cluster) {
  cluster.on_api_write = [this](const auto& write) { OnApiWrite(write); };
  cluster.on_slurm_write = [this](const auto& request) { OnSlurmWrite(request); };
}

void Rules::Break(std::string what) {
  if (broken_) return;
  cluster_.story.Add("BROKEN: " + what);
  broken_ = std::move(what);
}

// --- Kubernetes ------------------------------------------------------------------------------------------------------

std::optional<std::string> Rules::ApiBreach(const kube::testing::ApiWrite& write) const {
  if (write.manager != op::kFieldManager && write.verb != "delete")
    return "it is not said that the operator writes this";
  if (IsOfRestApi(write)) return std::nullopt;
  op::controller::Call call{write.verb, std::string(write.resource.kind), write.key, write.subresource, write.body};
  // A refused creation does not say of what.
  if (const auto body = json::Parse(write.body); call.key.name.empty() && body) {
    call.key.name = std::string(FindText(*body, {"metadata", "name"}));
  }
  const auto main = Decoded<api::Controller>(cluster_.api.Find(op::kControllers, kMain));
  if (!op::controller::Breach(main, call)) return std::nullopt;
  const auto set = Decoded<api::NodeSet>(cluster_.api.Find(op::kNodeSets, kSet));
  // A deletion that was refused, since the pod had changed since it was seen, has done no harm.
  const auto host = hosts_.find(write.key.name);
  // Nor is a job lost that Slurm has sent to a slurmd which was dead before.
  const bool busy = write.status < 300 && host != hosts_.end() && cluster_.slurm.SlurmdRuns(host->second) &&
                    !cluster_.JobsOn(host->second).empty();
  return op::nodeset::Breach(set, call, busy);
}

void Rules::OnApiWrite(const kube::testing::ApiWrite& write) {
  ++writes_;
  const std::string status = write.status < 300 ? "" : " -> " + std::to_string(write.status);
  cluster_.story.Add("  operator: " + Title(write) + status);
  if (const auto breach = ApiBreach(write)) Break(*breach);
  if (write.status < 300 && write.verb == "create" && write.resource == kube::kPods) Created(write.key.name);
  if (on_write) on_write();
}

// A new worker takes the lowest ordinal that is free, so that one that was deleted returns under its own name.
void Rules::Created(const std::string& pod) {
  const Value* object = cluster_.api.Find(kube::kPods, {kSet.ns, pod});
  const std::string host(FindText(*object, {"spec", "hostname"}));
  for (const std::string& other : cluster_.Workers()) {
    const auto found = hosts_.find(other);
    if (other != pod && found != hosts_.end() && found->second == host)
      Break(other + " and " + pod + " are both " + host);
  }
  hosts_[pod] = host;
  const std::vector<std::string> present = cluster_.Workers();
  const int most_wanted = cluster_.most_replicas();
  // Waves are created side by side, so some of the lower ones may still be on their way.
  const auto ordinal = ParseInt(pod.substr(pod.rfind('-') + 1)).value_or(0);
  int64_t free = 0;
  for (int64_t lower = 0; lower < ordinal; ++lower) {
    free += std::ranges::find(present, kSet.name + "-" + std::to_string(lower)) == present.end();
  }
  if (free > std::max<int64_t>(0, most_wanted - int64_t(present.size())))
    Break(pod + " is created although lower ordinals are free");
  if (int(present.size()) > most_wanted) Break(pod + " is one worker more than was ever wanted");
}

// --- Slurm -----------------------------------------------------------------------------------------------------------

void Rules::OnSlurmWrite(const net::Request& request) {
  ++writes_;
  op::nodeset::SlurmCall call{
      .verb = request.method == "DELETE" ? "delete" : "update", .node = "", .state = "", .reason = ""};
  const size_t node = request.target.find("/node/");
  if (node == std::string::npos) return Break("a write to Slurm that names no node: " + request.target);
  call.node = request.target.substr(node + 6);
  call.node = call.node.substr(0, call.node.find('?'));
  if (const auto body = json::Decode<slurm::wire::UpdateBody>(request.body.empty() ? "{}" : request.body)) {
    if (body->state && !body->state->empty()) call.state = body->state->front();
    call.reason = body->reason.value_or("");
  }
  const auto before = cluster_.slurm.NodeNamed(call.node);
  cluster_.story.Add("  operator: Slurm " + call.verb + " " + call.node + " " + call.state + " " + call.reason +
                     (before ? "  [" + before->state.ToString() + " " + before->reason + "]" : "  [no record]"));
  const bool race = before && op::nodeset::IsHeldByPerson(*before) && !cluster_.KnowsOfPerson(call.node);
  if (const auto breach = op::nodeset::Breach(call, before); breach && !race) Break(*breach);
  if (on_write) on_write();
}

void Rules::Look() {
  for (const int64_t id : cluster_.LostJobs())
    Break("job " + std::to_string(id) + " was lost, and nobody asked for it");
}

std::optional<std::string> Rules::Unmatched() const {
  const auto find = [this](std::string_view kind, const kube::Key& key) -> std::optional<std::string> {
    for (const auto& resource : {kube::kConfigMaps, kube::kServices, kube::kPodDisruptionBudgets, kube::kStatefulSets,
                                 kube::kSecrets, kube::kPods}) {
      if (resource.kind != kind) continue;
      const Value* object = cluster_.api.Find(resource, key);
      if (object != nullptr) return json::Serialize(*object);
    }
    return std::nullopt;
  };
  const Value* set = cluster_.api.Find(op::kNodeSets, kSet);
  const Value* main = cluster_.api.Find(op::kControllers, kMain);
  const Value* rest = cluster_.api.Find(op::kRestApis, kMain);
  if (set == nullptr || main == nullptr || rest == nullptr) return "a custom resource is missing";
  if (api::ConditionStatus(Decoded<api::RestApi>(rest).status.conditions, api::kReady) != "True")
    return "the RestApi is not ready";
  if (auto wrong = op::controller::Unmatched(json::Serialize(*main), find)) return wrong;
  return op::nodeset::Unmatched(json::Serialize(*set), cluster_.PodTexts(), cluster_.slurm.Nodes());
}

}  // namespace capstan::sim
