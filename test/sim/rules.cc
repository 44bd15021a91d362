#include "rules.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "operator/controller/contract.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "operator/restapi/contract.h"
#include "slurm/rest_wire.h"

namespace capstan::sim {
namespace {

using json::FindText;
using json::Value;

constexpr size_t kMostRefusals = 100;  // of one write, a minute; some dozens are races while the API server lags

template <class T>
T Decoded(const Value* value) {
  auto decoded = value != nullptr ? json::Decode<T>(json::Serialize(*value)) : Result<T>(T());
  return decoded ? *std::move(decoded) : T();
}

// The object as it is now, or was before it went; decoded again only when it has changed since it was last `seen`.
const auto& Latest(const Value* value, auto& seen) {
  if (value == nullptr) return seen.object;
  const std::string_view version = FindText(*value, {"metadata", "resourceVersion"});
  if (version != seen.version || version.empty()) {
    auto object = Decoded<decltype(seen.object)>(value);
    if (object.metadata.uid != seen.object.metadata.uid) seen.former = seen.object;
    seen.version = version;
    seen.object = std::move(object);
  }
  return seen.object;
}

// An orphan outlives the NodeSet that made it.
bool IsOwned(const Value* pod) {
  const Value* owners = pod == nullptr ? nullptr : json::Find(*pod, {"metadata", "ownerReferences"});
  return owners != nullptr && owners->is_array() && !owners->get_array().empty();
}

std::string Title(const kube::testing::ApiWrite& write) {
  return write.verb + " " + std::string(write.resource.kind) + " " + write.key.ToString() +
         (write.subresource.empty() ? "" : "/" + write.subresource);
}

}  // namespace

Rules::Rules(Cluster& cluster) : cluster_(cluster) {
  cluster.on_api_write = [this](const auto& write) { OnApiWrite(write); };
  cluster.on_slurm_write = [this](const auto& request) { OnSlurmWrite(request); };
  cluster.api.authorize = [this, rights = op::OperatorRights()](std::string_view verb, const kube::Resource& resource,
                                                                std::string_view subresource) {
    if (plan::Grants(rights, resource, subresource, verb)) return true;
    Break("the operator's role does not grant " + std::string(verb) + " on " + std::string(resource.plural) +
          (subresource.empty() ? "" : "/" + std::string(subresource)));
    return false;
  };
}

void Rules::Break(std::string what) {
  if (broken_) return;
  cluster_.story.Add("BROKEN: " + what);
  broken_ = std::move(what);
}

void Rules::Fold(std::initializer_list<std::string_view> texts) {
  const int64_t now = cluster_.loop.Now().time_since_epoch().count();
  fingerprint_ = Fnv64({reinterpret_cast<const char*>(&now), sizeof now}, fingerprint_);
  for (const std::string_view text : texts) fingerprint_ = Fnv64(text, fingerprint_ + 1);
}

// --- Kubernetes ------------------------------------------------------------------------------------------------------

// The NodeSet as the write found it: one that has lost its last finalizer by it is gone.
const Value& Rules::SetBefore(const kube::testing::ApiWrite& write) {
  const Value& last = cluster_.LastSet();
  if (write.resource != api::NodeSet::kResource || write.verb != "patch" || !write.changed) return last;
  return *cluster_.api.objects().Table(api::NodeSet::kResource).history.back().before;
}

std::optional<std::string> Rules::ApiBreach(const kube::testing::ApiWrite& write) {
  if (write.manager != op::kFieldManager && write.verb != "delete")
    return "it is not said that the operator writes this";
  op::controller::Call call{write.verb, std::string(write.resource.kind), write.key, write.subresource, write.body};
  // A refused creation does not say of what.
  if (const auto body = json::Parse(write.body); call.key.name.empty() && body) {
    call.key.name = std::string(FindText(*body, {"metadata", "name"}));
  }
  const auto& main = Latest(cluster_.api.Find(api::Controller::kResource, kMain), main_);
  const auto& rest = Latest(cluster_.api.Find(api::RestApi::kResource, kMain), rest_);
  if (!op::controller::Breach(main, call)) return std::nullopt;
  // What belongs to one that was replaced is collected; in the end all must belong to the new one (Unmatched).
  if (!op::controller::Breach(main_.former, call)) return std::nullopt;
  const std::string signing_key = main.spec.jwt_key_ref ? main.spec.jwt_key_ref->name : "";
  if (!op::restapi::Breach(rest, signing_key, call)) return std::nullopt;
  if (!op::restapi::Breach(rest_.former, signing_key, call)) return std::nullopt;
  // A NodeSet that had changed since it was seen is as it was.
  if (write.resource == api::NodeSet::kResource && write.verb == "patch" && write.status >= 300) return std::nullopt;
  return op::nodeset::Breach(Latest(&SetBefore(write), set_), call, IsBusy(write));
}

// A job is not lost that Slurm has sent to a slurmd which was dead before.
bool Rules::IsBusy(const std::string& host) const {
  return cluster_.slurm.SlurmdRuns(host) && !cluster_.JobsOn(host).empty();
}

bool Rules::IsBusy(const kube::testing::ApiWrite& write) const {
  // A deletion that was refused, since the pod had changed since it was seen, has done no harm.
  if (write.status >= 300) return false;
  if (write.resource == api::NodeSet::kResource) {
    return !cluster_.JobsMayEnd() && std::ranges::any_of(hosts_, [this](const auto& pod) {
      return IsOwned(cluster_.api.Find(kube::kPods, {kSet.ns, pod.first})) && IsBusy(pod.second);
    });
  }
  const auto host = hosts_.find(write.key.name);
  return host != hosts_.end() && IsBusy(host->second);
}

void Rules::OnApiWrite(const kube::testing::ApiWrite& write) {
  ++writes_;
  Fold({Title(write), write.manager, write.body, std::to_string(write.status), write.changed ? "changed" : "same"});
  const std::string status = write.status < 300 ? "" : " -> " + std::to_string(write.status);
  cluster_.story.Add("  operator: " + Title(write) + status);
  if (const auto breach = ApiBreach(write)) Break(*breach);
  if (write.status < 300 && write.verb == "create" && write.resource == kube::kPods) Created(write.key.name);
  if (write.status < 300 && write.verb == "delete" && write.resource == kube::kPods) Deleted(write.key.name);
  if (write.status >= 400 && write.status < 500) Refused(write);
  if (on_write) on_write();
}

// Who takes long to start would be replaced again and again.
void Rules::Deleted(const std::string& pod) {
  const Value* object = cluster_.api.Find(kube::kPods, {kSet.ns, pod});
  const bool goes =
      object == nullptr || !FindText(*object, {"metadata", "annotations", op::kAnnotationScaleIn}).empty();
  if (!goes && cluster_.IsStarting(pod)) Break(pod + " is replaced while it starts");
}

// Whoever is refused waits longer each time, also when what is sent differs a little.
void Rules::Refused(const kube::testing::ApiWrite& write) {
  std::deque<Tick>& times = refused_[Title(write)];
  times.push_back(write.at);
  while (write.at - times.front() > 1min) times.pop_front();
  if (times.size() > kMostRefusals)
    Break(Title(write) + " was refused " + std::to_string(times.size()) + " times within a minute");
}

int64_t OrdinalOf(const std::string& pod) { return ParseInt(pod.substr(pod.rfind('-') + 1)).value_or(-1); }

// A new worker takes the lowest ordinal that is free, so that one that was deleted returns under its own name, and has
// in Slurm the name that it had before.
void Rules::Created(const std::string& pod) {
  const Value* object = cluster_.api.Find(kube::kPods, {kSet.ns, pod});
  const std::string host(FindText(*object, {"spec", "hostname"}));
  const auto [known, first] = hosts_.emplace(pod, host);
  if (known->second != host) Break(pod + " was " + known->second + " in Slurm, and is " + host + " now");
  if (const auto clash = op::nodeset::Clash(json::Serialize(cluster_.LastSet()), Around())) Break(*clash);
  const std::vector<std::string> present = cluster_.Workers();
  const int most_wanted = cluster_.most_replicas();
  // Waves are created side by side, so some of the lower ones may still be on their way.
  const int64_t ordinal = OrdinalOf(pod);
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
  Fold({request.method, request.target, request.body});
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
  // What is right for the node as it was before somebody else's change is a race with them.
  const auto fits = [&call](const slurm::Node& then) { return !op::nodeset::Breach(call, then); };
  const auto breach = op::nodeset::Breach(call, before);
  if (breach && std::ranges::none_of(cluster_.BeforeOthers(call.node), fits)) Break(*breach);
  if (on_write) on_write();
}

void Rules::Look() {
  for (const int64_t id : cluster_.LostJobs())
    Break("job " + std::to_string(id) + " was lost, and nobody asked for it");
}

op::nodeset::Surroundings Rules::Around() const {
  return {cluster_.PodTexts(), cluster_.slurm.Nodes(), cluster_.cordoned()};
}

std::optional<std::string> Rules::Unmatched() const {
  const auto find = [this](std::string_view kind, const kube::Key& key) -> std::optional<std::string> {
    for (const auto& resource : {kube::kConfigMaps, kube::kServices, kube::kPodDisruptionBudgets, kube::kStatefulSets,
                                 kube::kDeployments, kube::kSecrets, kube::kPods}) {
      if (resource.kind != kind) continue;
      const Value* object = cluster_.api.Find(resource, key);
      if (object != nullptr) return json::Serialize(*object);
    }
    return std::nullopt;
  };
  const Value* set = cluster_.api.Find(api::NodeSet::kResource, kSet);
  const Value* main = cluster_.api.Find(api::Controller::kResource, kMain);
  const Value* rest = cluster_.api.Find(api::RestApi::kResource, kMain);
  if (set == nullptr || main == nullptr || rest == nullptr) return "a custom resource is missing";
  if (auto wrong = op::restapi::Unmatched(json::Serialize(*rest), find)) return wrong;
  if (auto wrong = op::controller::Unmatched(json::Serialize(*main), find)) return wrong;
  return op::nodeset::Unmatched(json::Serialize(*set), Around());
}

std::optional<std::string> Rules::Left() const {
  if (!cluster_.SetIsGone()) {
    const auto set = Decoded<api::NodeSet>(cluster_.api.Find(api::NodeSet::kResource, kSet));
    const api::Condition* why = api::FindCondition(set.status.conditions, api::kProgressing);
    return "the NodeSet is still there" + (why != nullptr ? ": " + why->message : "");
  }
  return op::nodeset::Remains(json::Serialize(cluster_.LastSet()), Around());
}

}  // namespace capstan::sim
