#include "rules.h"

#include <algorithm>
#include <set>

#include "api/conditions.h"
#include "api/controller.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/sharedroot.h"
#include "api/slurmcluster.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "operator/testing/contracts.h"
#include "plan/slurm/effects.h"
#include "plan/world.h"
#include "slurm/rest_wire.h"

namespace capstan::sim {
namespace {

using json::FindText;
using json::Value;

// Of one write, a minute.
constexpr size_t kMostRepeats = 100;

std::string Title(const kube::testing::ApiWrite& write) {
  return write.verb + " " + std::string(write.resource.kind) + " " + write.key.ToString() +
         (write.subresource.empty() ? "" : "/" + write.subresource);
}

const op::Kind& KindOf(const plan::Key& key) {
  return **std::ranges::find_if(op::Kinds(), [&](const op::Kind* kind) { return kind->name == key.kind; });
}

int64_t OrdinalOf(const std::string& pod) { return ParseInt(pod.substr(pod.rfind('-') + 1)).value_or(-1); }

}  // namespace

Rules::Rules(Machines& machines, const std::vector<Site*>& sites, std::vector<plan::Right> rights)
    : machines_(machines), sites_(sites), rights_(std::move(rights)) {
  machines.on_write = [this](const auto& write) { OnApiWrite(write); };
  for (Site* site : sites) site->on_write = [this, site](const auto& request) { OnSlurmWrite(*site, request); };
  machines.api.authorize = [this](std::string_view verb, const kube::Resource& resource, std::string_view subresource) {
    if (plan::Grants(rights_, resource, subresource, verb)) return true;
    Break("the operator's role does not grant " + std::string(verb) + " on " + std::string(resource.plural) +
          (subresource.empty() ? "" : "/" + std::string(subresource)));
    return false;
  };
}

void Rules::Break(std::string what) {
  if (broken_) return;
  machines_.story.Add("BROKEN: " + what);
  broken_ = std::move(what);
}

void Rules::Fold(std::initializer_list<std::string_view> texts) {
  const int64_t now = machines_.loop.Now().time_since_epoch().count();
  fingerprint_ = Fnv64({reinterpret_cast<const char*>(&now), sizeof now}, fingerprint_);
  for (const std::string_view text : texts) fingerprint_ = Fnv64(text, fingerprint_ + 1);
}

// --- Who sends -------------------------------------------------------------------------------------------------------

void Rules::Started(const plan::Key& key, const plan::Action& action) {
  const kube::Resource& resource = *KindOf(key).resource;
  flights_.emplace(action.effect->target(), Flight{.key = key,
                                                   .verb = std::string(action.effect->verb()),
                                                   .contract = op::test::ContractOf(resource),
                                                   .known = machines_.Last(resource, {key.ns, key.name})});
}

void Rules::Ended(const plan::Key& key, const plan::Action& action) {
  const auto [begin, end] = flights_.equal_range(action.effect->target());
  const auto found = std::find_if(begin, end, [&](const auto& flight) { return flight.second.key == key; });
  if (found != end) flights_.erase(found);
}

// By the first of these targets that somebody acts on. Of several who do, by the one whose action sends such a call.
std::optional<Rules::Flight> Rules::SenderOf(const std::string& title, std::initializer_list<std::string> targets,
                                             const std::function<bool(const Flight& flight)>& sends) {
  for (const std::string& target : targets) {
    const auto [begin, end] = flights_.equal_range(target);
    if (begin == end) continue;
    const plan::Key& key = begin->second.key;
    const auto other = std::find_if(begin, end, [&](const auto& flight) { return flight.second.key != key; });
    if (other == end) return begin->second;
    const auto does = [&](const auto& flight) { return sends(flight.second); };
    if (std::count_if(begin, end, does) == 1) return std::find_if(begin, end, does)->second;
    Break(title + " is sent while " + ToString(key) + " and " + ToString(other->second.key) + " act on it");
    return std::nullopt;
  }
  Break(title + " is sent by no key");
  return std::nullopt;
}

Site* Rules::SiteOf(const Value& object) const {
  kube::Key key = op::KeyOf(object);
  if (const std::string_view of = FindText(object, {"spec", "controllerRef", "name"}); !of.empty()) key.name = of;
  const auto found = std::ranges::find_if(sites_, [&](const Site* site) { return site->key == key; });
  return found == sites_.end() ? nullptr : *found;
}

SetStory* Rules::SetOf(const kube::Key& pod) const {
  for (const Site* site : sites_) {
    for (SetStory* set : site->sets()) {
      if (set->key.ns == pod.ns && op::nodeset::IsWorkerName(set->key.name, pod.name)) return set;
    }
  }
  return nullptr;
}

op::Around Rules::AroundOf(const Value& object) const {
  op::Around around;
  around.find = [this](std::string_view kind, const kube::Key& key) -> const Value* {
    for (const kube::Resource* resource :
         {&kube::kConfigMaps, &kube::kServices, &kube::kPodDisruptionBudgets, &kube::kStatefulSets, &kube::kDeployments,
          &kube::kSecrets, &kube::kPods, &kube::kControllerRevisions}) {
      if (resource->kind == kind) return machines_.api.Find(*resource, key);
    }
    for (const op::Contract* contract : op::test::Contracts()) {
      if (contract->resource->kind == kind) return machines_.api.Find(*contract->resource, key);
    }
    return nullptr;
  };
  const kube::Key key = op::KeyOf(object);
  around.pods = machines_.PodsIn(key.ns);
  around.cordoned = machines_.cordoned();
  around.nodes = machines_.Nodes();
  around.takes_no_work = [this](const std::string& machine) { return machines_.TakesNoWork(machine); };
  around.may_be_late = HasFaults() || (late_since_ && machines_.loop.Now() < *late_since_ + kHealing);
  const Site* site = SiteOf(object);
  if (site == nullptr) return around;
  around.records = site->slurm.Nodes();
  for (slurm::Reservation& reservation : site->slurm.Reservations())
    around.reservations.push_back(std::move(reservation.name));
  around.is_busy = [site](const std::string& host) {
    return site->IsBusy(host) || site->IsBusy(SetStory::kAlias + host);
  };
  around.jobs_may_end =
      std::ranges::any_of(site->sets(), [&](const SetStory* set) { return set->key == key && set->JobsMayEnd(); });
  return around;
}

// --- Kubernetes ------------------------------------------------------------------------------------------------------

// A key writes to an object of another kind, which has a key of its own.
bool Rules::Sends(const Flight& flight, const op::Call& call) {
  const bool owners = call.verb == "patch" && call.body.contains("/metadata/managedFields");
  if (flight.verb == "apply") return call.verb == "apply" || owners;
  if (flight.verb == "delete") return call.verb == "delete";
  return !owners && call.verb != "apply" && call.verb != "delete";
}

op::Broken Rules::ApiBreach(const kube::testing::ApiWrite& write) {
  if (write.manager != op::kFieldManager && write.verb != "delete")
    return "it is not said that the operator writes this";
  op::Call call{.verb = write.verb,
                .kind = std::string(write.resource.kind),
                .key = write.key,
                .subresource = write.subresource,
                .body = write.body,
                .refused = write.status >= 300};
  // A refused creation does not say of what.
  if (call.key.name.empty()) {
    if (const auto body = json::Parse(write.body)) call.key.name = std::string(FindText(*body, {"metadata", "name"}));
  }
  const std::string target = call.kind + " " + call.key.ToString();
  const auto sends = [&](const Flight& flight) { return Sends(flight, call); };
  const auto sender = call.subresource.empty()
                          ? SenderOf(Title(write), {target}, sends)
                          : SenderOf(Title(write), {target + "/" + call.subresource, target}, sends);
  if (!sender) return std::nullopt;
  const auto& [object, former] = sender->known;
  if (!object) return "there has been no object of " + ToString(sender->key);
  const op::Broken breach = sender->contract->breach(*object, call, AroundOf(*object));
  // What belongs to one that was replaced is collected; in the end all must belong to the new one (Unmatched).
  if (breach && former && !sender->contract->breach(*former, call, AroundOf(*former))) return std::nullopt;
  return breach ? op::Broken(ToString(sender->key) + ": " + *breach) : std::nullopt;
}

void Rules::OnApiWrite(const kube::testing::ApiWrite& write) {
  ++writes_;
  Fold({Title(write), write.manager, write.body, std::to_string(write.status), write.changed ? "changed" : "same"});
  const std::string status = write.status < 300 ? "" : " -> " + std::to_string(write.status);
  machines_.story.Add("  operator: " + Title(write) + status);
  Sent(Title(write));
  if (const auto breach = ApiBreach(write)) Break(*breach);
  if (write.status < 300 && write.verb == "create" && write.resource == kube::kPods) Created(write.key);
  if (write.status < 300 && write.verb == "delete" && write.resource == kube::kPods) Deleted(write.key);
  if (on_write) on_write();
}

// Whoever is refused waits longer each time, also when what is sent differs a little; and nothing is done again and again
// because another rule of the operator undoes it.
void Rules::Sent(const std::string& title) {
  std::deque<Tick>& times = sent_[title];
  times.push_back(machines_.loop.Now());
  while (times.back() - times.front() > 1min) times.pop_front();
  if (times.size() > kMostRepeats)
    Break(title + " was sent " + std::to_string(times.size()) + " times within a minute");
}

// Who takes long to start would be replaced again and again.
void Rules::Deleted(const kube::Key& pod) {
  const Value* object = machines_.api.Find(kube::kPods, pod);
  const bool goes =
      object == nullptr || !FindText(*object, {"metadata", "annotations", op::kAnnotationScaleIn}).empty();
  if (!goes && machines_.IsStarting(pod)) Break(pod.ToString() + " is replaced while it starts");
}

// A new worker takes the lowest ordinal that is free, so that one that was deleted returns under its own name, and has
// in Slurm the name that it had before.
void Rules::Created(const kube::Key& pod) {
  const SetStory* set = SetOf(pod);
  if (set == nullptr) return;  // no NodeSet's worker: its contract has said so
  const Value* object = machines_.api.Find(kube::kPods, pod);
  const std::string host(FindText(*object, {"spec", "hostname"}));
  const auto [known, first] = hosts_.emplace(pod, host);
  if (known->second != host) Break(pod.ToString() + " was " + known->second + " in Slurm, and is " + host + " now");
  const Machines::Known owner = machines_.Last(api::NodeSet::kResource, set->key);
  if (const auto clash = op::nodeset::Clash(*owner.object, AroundOf(*owner.object))) Break(*clash);
  const int64_t ordinal = OrdinalOf(pod.name);
  if (ordinal < 0) return;  // of DaemonSet mode
  std::vector<std::string> present = set->Workers();
  std::erase_if(present, [](const std::string& worker) { return OrdinalOf(worker) < 0; });
  // Waves are created side by side, so some of the lower ones may still be on their way.
  int64_t free = 0;
  for (int64_t lower = 0; lower < ordinal; ++lower) {
    free += std::ranges::find(present, set->key.name + "-" + std::to_string(lower)) == present.end();
  }
  if (free > std::max<int64_t>(0, set->most_replicas() - int64_t(present.size())))
    Break(pod.ToString() + " is created although lower ordinals are free");
  if (int(present.size()) > set->most_replicas()) Break(pod.ToString() + " is one worker more than was ever wanted");
}

// --- Slurm -----------------------------------------------------------------------------------------------------------

op::Broken Rules::SlurmBreach(const Site& site, const op::SlurmCall& call) {
  // A worker takes the name of a machine from one of another NodeSet, whose record is removed at the same time.
  const auto removes = [](const Flight& flight) { return flight.verb.starts_with("remove"); };
  const auto writes = [](const Flight& flight) { return !flight.verb.starts_with("remove"); };
  const auto sender =
      SenderOf("Slurm " + call.verb + " " + call.cluster + "/" + call.node + call.reservation,
               {call.reservation.empty() ? plan::NodeTarget(call.cluster, call.node)
                                         : plan::ReservationTarget(call.cluster, call.reservation)},
               [&](const Flight& flight) { return call.verb == "delete" ? removes(flight) : writes(flight); });
  if (!sender) return std::nullopt;
  if (!sender->known.object || sender->contract->slurm_breach == nullptr)
    return ToString(sender->key) + " writes to Slurm";
  const op::Around around = AroundOf(*sender->known.object);
  const auto breach = [&](const std::optional<slurm::Node>& before) {
    op::Broken now = sender->contract->slurm_breach(*sender->known.object, call, before, around);
    if (!now || !sender->known.former) return now;
    return sender->contract->slurm_breach(*sender->known.former, call, before, around);
  };
  const op::Broken broken = breach(site.slurm.NodeNamed(call.node));
  if (!broken) return std::nullopt;
  // What is right for the node as it was before somebody else's change is a race with them.
  for (const slurm::Node& then : site.BeforeOthers(call.node)) {
    if (!breach(then)) return std::nullopt;
  }
  return ToString(sender->key) + ": " + *broken;
}

void Rules::OnSlurmWrite(Site& site, const net::Request& request) {
  ++writes_;
  Fold({request.method, request.target, request.body});
  op::SlurmCall call{.cluster = site.key.ToString(),
                     .verb = request.method == "DELETE" ? "delete" : "update",
                     .node = "",
                     .state = "",
                     .reason = ""};
  const size_t node = request.target.find("/node/");
  if (request.target.find("/reservation") != std::string::npos) return OnReservationWrite(site, call, request);
  if (node == std::string::npos) return Break("a write to Slurm that names no node: " + request.target);
  if (request.target.ends_with("/new/node/")) return OnNodeMade(site, std::move(call), request);
  call.node = request.target.substr(node + 6);
  call.node = call.node.substr(0, call.node.find('?'));
  if (const auto body = json::Decode<slurm::wire::UpdateBody>(request.body.empty() ? "{}" : request.body)) {
    if (body->state && !body->state->empty()) call.state = body->state->front();
    call.reason = body->reason.value_or("");
  }
  const auto before = site.slurm.NodeNamed(call.node);
  const std::string title = "Slurm " + call.verb + " " + call.cluster + "/" + call.node + " " + call.state;
  Sent(title);
  machines_.story.Add("  operator: " + title + " " + call.reason +
                      (before ? "  [" + before->state.ToString() + " " + before->reason + "]" : "  [no record]"));
  if (const auto breach = SlurmBreach(site, call)) Break(*breach);
  if (on_write) on_write();
}

void Rules::OnNodeMade(Site& site, op::SlurmCall call, const net::Request& request) {
  const auto body = json::Decode<slurm::wire::NewNodeBody>(request.body);
  const std::vector<std::string_view> words = body ? Words(body->node_conf) : std::vector<std::string_view>();
  call.verb = "create";
  if (!words.empty() && words[0].starts_with("NodeName=")) call.node = words[0].substr(words[0].find('=') + 1);
  const std::string title = "Slurm create " + call.cluster + "/" + call.node;
  Sent(title);
  machines_.story.Add("  operator: " + title);
  if (const auto breach = SlurmBreach(site, call)) Break(*breach);
  if (on_write) on_write();
}

void Rules::OnReservationWrite(Site& site, op::SlurmCall call, const net::Request& request) {
  const std::string_view last = std::string_view(request.target).substr(request.target.rfind('/') + 1);
  const auto body = json::Decode<slurm::wire::ReservationBody>(request.body.empty() ? "{}" : request.body);
  call.reservation = call.verb == "delete" || !body ? std::string(last) : body->name;
  const std::string title = "Slurm " + call.verb + " reservation " + call.cluster + "/" + call.reservation;
  Sent(title);
  machines_.story.Add("  operator: " + title + " " + request.body);
  if (const auto breach = SlurmBreach(site, call)) Break(*breach);
  if (on_write) on_write();
}

bool Rules::HasFaults() const { return machines_.api.faults != kube::testing::ApiFaults(); }

void Rules::Look() {
  if (HasFaults()) late_since_ = machines_.loop.Now();
  for (const Site* site : sites_) {
    for (const int64_t id : site->LostJobs())
      Break("job " + std::to_string(id) + " of " + site->key.ToString() + " was lost, and nobody asked for it");
  }
}

std::optional<std::string> Rules::Unmatched() const {
  struct Wanted {
    const kube::Resource* resource;
    kube::Key key;
  };
  std::vector<Wanted> all;
  for (const Site* site : sites_) {
    all.push_back({&api::RestApi::kResource, site->key});
    all.push_back({&api::Controller::kResource, site->key});
    for (const SetStory* set : site->sets()) {
      all.push_back({&api::NodeSet::kResource, set->key});
      if (const auto lost = set->Lost()) return lost;
    }
    if (site->cluster) all.push_back({&api::SlurmCluster::kResource, site->key});
    if (site->cluster && site->cluster->has_root) all.push_back({&api::SharedRoot::kResource, site->key});
  }
  for (const auto& [resource, key] : all) {
    const std::string title = std::string(resource->kind) + " " + key.ToString();
    const Value* object = machines_.api.Find(*resource, key);
    if (object == nullptr) return title + " is missing";
    if (const auto wrong = op::test::ContractOf(*resource)->unmatched(*object, AroundOf(*object)))
      return title + ": " + *wrong;
  }
  return std::nullopt;
}

std::optional<std::string> Rules::Left(const SetStory& set) const {
  const Machines::Known known = machines_.Last(api::NodeSet::kResource, set.key);
  if (!set.IsGone()) {
    return "NodeSet " + set.key.ToString() +
           " is still there: " + op::Says(*known.object, api::kProgressing, false).value_or("it has no say");
  }
  return op::test::ContractOf(api::NodeSet::kResource)->remains(*known.object, AroundOf(*known.object));
}

}  // namespace capstan::sim
