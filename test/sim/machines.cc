#include "machines.h"

#include <algorithm>
#include <cstdio>

#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "operator/testing/contracts.h"
#include "site.h"

namespace capstan::sim {

using json::FindText;
using json::Value;

namespace {
constexpr Duration kOneAction = 40s;     // the longest that the operator takes for one, and some more
constexpr Duration kNodeSilence = 40s;   // until the node lifecycle controller takes a silent kubelet for lost
constexpr Duration kOrphanedPods = 40s;  // until the pod garbage collector takes pods of a Node object that is gone

std::string_view UidOf(const Value& object) { return FindText(object, {"metadata", "uid"}); }
// As the kubelet does it: conditions of other types are other writers'.
void SetCondition(Value& pod, boost::json::object condition) {
  Value& conditions = json::MakeObject(pod, {"status"})["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  boost::json::array kept;
  for (Value& one : conditions.get_array()) {
    if (FindText(one, {"type"}) != condition.at("type").as_string()) kept.push_back(std::move(one));
  }
  kept.push_back(std::move(condition));
  conditions = std::move(kept);
}

bool IsReady(const Value& node) {
  const Value* conditions = json::Find(node, {"status", "conditions"});
  return conditions != nullptr && std::ranges::any_of(conditions->as_array(), [](const Value& one) {
           return FindText(one, {"type"}) == "Ready" && FindText(one, {"status"}) == "True";
         });
}

// As the API server shows it.
bool TakesWork(const Value& node) {
  const Value* unschedulable = json::Find(node, {"spec", "unschedulable"});
  return (unschedulable == nullptr || *unschedulable != Value(true)) && IsReady(node);
}

// The machine that a worker of DaemonSet mode asks for, cordoned or not; "": none in particular.
std::string BoundTo(const Value& pod) {
  const Value* terms = json::Find(
      pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  if (terms == nullptr) return {};
  const Value* fields = json::Find(terms->as_array().at(0), {"matchFields"});
  return std::string(fields->as_array().at(0).at("values").as_array().at(0).as_string());
}

const boost::json::array& ArgsOf(const Value& pod) {
  const Value* containers = json::Find(pod, {"spec", "containers"});
  return json::Find(containers->as_array().front(), {"args"})->as_array();
}

// For slurmctld the machine of such a slurmd was booted when it began.
bool SaysThatItBoots(const Value& pod) { return std::ranges::find(ArgsOf(pod), Value("-b")) != ArgsOf(pod).end(); }

}  // namespace

std::string HostOf(const Value& pod) {
  return std::string(FindText(pod, {"metadata", "labels", kNamedBy})) + op::nodeset::HostOf(pod);
}

// By which the partition of its NodeSet finds it: the first that its slurmd brings.
std::string FeatureOf(const Value& pod) {
  constexpr std::string_view kBefore = "Features=";
  for (const Value& arg : ArgsOf(pod)) {
    const std::string_view text = arg.as_string();
    const size_t at = text.find(kBefore);
    if (at == text.npos) continue;
    const std::string_view features = text.substr(at + kBefore.size());
    return std::string(features.substr(0, features.find_first_of(", '")));
  }
  return "";
}

void Story::Add(const std::string& line) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Now().time_since_epoch()).count();
  char time[32];
  std::snprintf(time, sizeof(time), "%8.3f  ", double(millis) / 1000);
  lines_.push_back(time + line);
  if (echo_) std::fprintf(stderr, "%s\n", lines_.back().c_str());
}

Machines::Machines(uint64_t seed, Options given, bool echo)
    : story(loop, echo), random(seed), options(given), api(loop, random.Next()) {
  for (const op::Contract* contract : op::test::Contracts()) api.objects().Serve(*contract->resource);
  api.objects().pod_stops_after = [this](const Value& pod) { return Stop(pod); };
  api.objects().on_change = [this, tell = api.objects().on_change](kube::testing::FakeTable& table) {
    Changed(table);
    tell(table);
  };
  api.on_write = [this](const kube::testing::ApiWrite& write) { Written(write); };
  api.deny = [this](auto, const auto&, const auto&) -> std::optional<kube::testing::Refusal> {
    if (connected) return std::nullopt;
    return kube::testing::Refusal{503, "ServiceUnavailable", "this process has ended"};
  };
}

Site* Machines::SiteAt(std::string_view address) const {
  const auto found = std::ranges::find_if(sites_, [&](const Site* site) { return site->Answers(address); });
  return found == sites_.end() ? nullptr : *found;
}

void Machines::Changed(const kube::testing::FakeTable& table) {
  if (table.resource == kube::kNodes) NoteWork(table);
  if (op::test::ContractOf(table.resource) == nullptr) return;
  const kube::testing::HistoryRecord& last = table.history.back();
  const kube::testing::Stored& object = last.after ? last.after : last.last;
  Known& known = known_[{table.resource.kind, op::KeyOf(*object)}];
  if (known.object && UidOf(*known.object) != UidOf(*object)) known.former = known.object;
  known.object = object;
}

void Machines::NoteWork(const kube::testing::FakeTable& table) {
  const kube::testing::HistoryRecord& last = table.history.back();
  const std::string machine(FindText(last.after ? *last.after : *last.last, {"metadata", "name"}));
  if (last.after && TakesWork(*last.after))
    no_work_since_.erase(machine);
  else
    no_work_since_.try_emplace(machine, loop.Now());
}

Machines::Known Machines::Last(const kube::Resource& resource, const kube::Key& key) const {
  const auto found = known_.find({resource.kind, key});
  return found == known_.end() ? Known() : found->second;
}

void Machines::Written(const kube::testing::ApiWrite& write) {
  if (on_write) on_write(write);
  if (write.status >= 300) return;
  if (write.resource == kube::kPods && write.verb == "create") {
    const Value* pod = api.Find(kube::kPods, write.key);
    After(Between(200ms, 2s), [this, key = write.key, uid = std::string(UidOf(*pod))] { Place(key, uid); });
  }
  if (write.resource == kube::kPods && write.verb == "delete") {
    const Value* pod = api.Find(kube::kPods, write.key);
    Site* site = pod != nullptr ? SiteOf(*pod) : nullptr;
    if (site != nullptr) site->WorkerDeleted(HostOf(*pod), std::string(UidOf(*pod)));
  }
  if (!write.changed || write.verb != "apply") return;
  for (Site* site : sites_) site->Applied(write.resource, write.key);
}

// --- Users and administrators ----------------------------------------------------------------------------------------

void Machines::MakeNamespace(const std::string& ns) {
  if (api.Find(kube::kNamespaces, {"", ns}) == nullptr)
    api.Put(kube::kNamespaces, R"({"metadata":{"name":")" + ns + R"("}})");
  for (int i = 0; i < options.machines; ++i) {
    const std::string name = "k" + std::to_string(i);
    if (!off_.contains(name) && api.Find(kube::kNodes, {"", name}) == nullptr) PutNode(name);
  }
}

void Machines::PutNode(const std::string& machine) {
  api.Put(kube::kNodes, R"({"metadata":{"name":")" + machine + R"(","labels":{"pool":"slurm"}}})");
  EditNode(machine, "status", [](Value& node) { SetCondition(node, {{"type", "Ready"}, {"status", "True"}}); });
}

void Machines::EditNode(const std::string& machine, std::string_view subresource,
                        const std::function<void(Value&)>& edit) {
  if (api.Find(kube::kNodes, {"", machine}) != nullptr)
    api.Edit(kube::kNodes, {"", machine}, std::string(subresource), edit);
}

void Machines::Cordon(const std::string& machine) {
  if (api.Find(kube::kNodes, {"", machine}) == nullptr) return;
  story.Add("user: cordon " + machine);
  cordoned_.insert(machine);
  EditNode(machine, "", [](Value& node) { json::MakeObject(node, {"spec"})["unschedulable"] = true; });
}

void Machines::Uncordon(const std::string& machine) {
  if (cordoned_.erase(machine) == 0) return;
  story.Add("user: uncordon " + machine);
  EditNode(machine, "", [](Value& node) { json::MakeObject(node, {"spec"}).erase("unschedulable"); });
  PlaceWaiting();
}

void Machines::Annotate(const std::string& machine, const std::string& feature) {
  story.Add("user: annotate " + machine + " with " + (feature.empty() ? "nothing" : feature));
  EditNode(machine, "", [&](Value& node) {
    json::MakeObject(node, {"metadata", "annotations"})[op::kAnnotationNodeFeatures] = feature;
  });
}

void Machines::PutInPool(const std::string& machine, bool in) {
  story.Add("user: " + machine + (in ? " joins" : " leaves") + " the pool");
  EditNode(machine, "",
           [&](Value& node) { json::MakeObject(node, {"metadata", "labels"})[kPool] = in ? "slurm" : "spare"; });
  PlaceWaiting();
}

void Machines::PowerOff(const std::string& machine) {
  story.Add("machine: " + machine + " goes off");
  for (const kube::Key& key : PodsOn(machine)) {
    const Value& pod = *api.Find(kube::kPods, key);
    if (Site* site = SiteOf(pod)) site->EndSlurmd(HostOf(pod), std::string(UidOf(pod)));
  }
  off_.insert(machine);
  After(kNodeSilence, [this, machine] { NoteSilence(machine); });
}

void Machines::CutOff(const std::string& machine) {
  story.Add("machine: " + machine + " is cut off from Kubernetes");
  off_.insert(machine);
  cut_off_.insert(machine);
  After(kNodeSilence, [this, machine] { NoteSilence(machine); });
}

void Machines::NoteSilence(const std::string& machine) {
  if (!off_.contains(machine)) return;
  EditNode(machine, "status", [](Value& node) { SetCondition(node, {{"type", "Ready"}, {"status", "Unknown"}}); });
  for (const kube::Key& key : PodsOn(machine)) {
    api.Edit(kube::kPods, key, "status",
             [](Value& pod) { SetCondition(pod, {{"type", "Ready"}, {"status", "False"}}); });
  }
}

void Machines::DeleteNode(const std::string& machine) {
  story.Add("user: delete node " + machine);
  cordoned_.erase(machine);
  api.Remove(kube::kNodes, {"", machine});
  After(kOrphanedPods, [this, machine] { CollectPodsOf(machine); });
}

void Machines::CollectPodsOf(const std::string& machine) {
  if (api.Find(kube::kNodes, {"", machine}) != nullptr) return;
  for (const kube::Key& key : PodsOn(machine)) {
    const Value& pod = *api.Find(kube::kPods, key);
    story.Add("pod garbage collector: " + key.ToString() + " goes with " + machine);
    if (Site* site = SiteOf(pod)) {
      const Orphan slurmd{site, HostOf(pod), std::string(UidOf(pod))};
      if (cut_off_.contains(machine))
        orphans_[machine].push_back(slurmd);
      else
        site->EndSlurmd(slurmd.host, slurmd.uid);
    }
    api.Remove(kube::kPods, key, {.grace_seconds = 0});
  }
}

void Machines::Boot(const std::string& machine) {
  const bool was_off = off_.erase(machine) > 0;
  cut_off_.erase(machine);
  if (api.Find(kube::kNodes, {"", machine}) == nullptr)
    PutNode(machine);
  else if (!was_off)
    return;
  story.Add("machine: " + machine + " is back");
  EditNode(machine, "status", [](Value& node) { SetCondition(node, {{"type", "Ready"}, {"status", "True"}}); });
  for (const kube::Key& key : was_off ? PodsOn(machine) : std::vector<kube::Key>()) {
    const std::string uid(UidOf(*api.Find(kube::kPods, key)));
    if (Living(key, uid) != nullptr)
      After(Between(1s, 10s), [this, key, uid] {
        const Value* pod = Living(key, uid);
        const Site* site = pod == nullptr ? nullptr : SiteOf(*pod);
        if (site == nullptr || !site->Runs(HostOf(*pod), uid)) return Start(key, uid);
        SayThatItRuns(key, uid);
        BecomeReady(key, uid);
      });
    else
      EndTerminating(key);
  }
  EndOrphansOn(machine);
  PlaceWaiting();
}

// Its kubelet learns only now that the pod is to end, or finds it failed.
void Machines::EndTerminating(const kube::Key& key) {
  const Value& pod = *api.Find(kube::kPods, key);
  if (Site* site = SiteOf(pod)) site->EndSlurmd(HostOf(pod), std::string(UidOf(pod)));
  api.Remove(kube::kPods, key, {.grace_seconds = 0});
}

// What its kubelet finds running, and the API server does not know.
void Machines::EndOrphansOn(const std::string& machine) {
  const auto found = orphans_.extract(machine);
  if (!found) return;
  for (const Orphan& slurmd : found.mapped()) slurmd.site->EndSlurmd(slurmd.host, slurmd.uid);
}

void Machines::DeletePod(const kube::Key& pod) {
  story.Add("user: delete pod " + pod.ToString());
  api.Remove(kube::kPods, pod);
}

void Machines::FailPod(const kube::Key& key) {
  const Value* pod = api.Find(kube::kPods, key);
  if (pod == nullptr || FindText(*pod, {"spec", "nodeName"}).empty()) return;
  story.Add("kubelet: worker " + key.ToString() + " fails");
  if (Site* site = SiteOf(*pod)) {
    site->Forgive(HostOf(*pod));
    site->EndSlurmd(HostOf(*pod), std::string(UidOf(*pod)));
  }
  api.Edit(kube::kPods, key, "status",
           [](Value& failed) { json::MakeObject(failed, {"status"}) = {{"phase", "Failed"}, {"reason", "Evicted"}}; });
}

// --- What there is ---------------------------------------------------------------------------------------------------

std::string Machines::MachineOf(const kube::Key& pod) const {
  const Value* object = api.Find(kube::kPods, pod);
  return object != nullptr ? std::string(FindText(*object, {"spec", "nodeName"})) : "";
}

bool Machines::IsStarting(const kube::Key& pod) const {
  const Value* object = api.Find(kube::kPods, pod);
  if (object == nullptr || FindText(*object, {"status", "phase"}) != "Running") return false;
  if (off_.contains(MachineOf(pod))) return false;
  const Site* site = SiteOf(*object);
  return site == nullptr || !site->Runs(HostOf(*object), std::string(UidOf(*object)));
}

async::Task<Result<net::Response>> Machines::AskPod(std::string url) {
  for (const auto& [key, pod] : api.objects().Table(kube::kPods).objects) {
    const std::string address(FindText(*pod, {"status", "podIP"}));
    if (address.empty() || !url.ends_with("//" + address + ":" + std::to_string(op::kIdentityPort))) continue;
    if (off_.contains(MachineOf(key)) || json::Find(*pod, {"metadata", "labels", kMute}) != nullptr) break;
    Site* site = SiteOf(*pod);
    if (site != nullptr) {
      After(Between(5s, 15s),
            [site, host = HostOf(*pod), uid = std::string(UidOf(*pod))] { site->LookAtRegistration(host, uid); });
    }
    const bool steps = site != nullptr && !site->JobsOn(HostOf(*pod)).empty();
    co_return net::Response{.status = 200,
                            .body = R"({"node":")" + HostOf(*pod) + R"(","steps":)" + (steps ? "true}" : "false}")};
  }
  co_return Fail(Code::kUnavailable, "Connection refused");
}

std::vector<const Value*> Machines::PodsIn(const std::string& ns) const {
  std::vector<const Value*> pods;
  for (const auto& [key, pod] : const_cast<Machines*>(this)->api.objects().Table(kube::kPods).objects) {
    if (key.ns == ns) pods.push_back(pod.get());
  }
  return pods;
}

std::vector<kube::Key> Machines::PodsOn(const std::string& machine) const {
  std::vector<kube::Key> keys;
  for (const auto& [key, pod] : const_cast<Machines*>(this)->api.objects().Table(kube::kPods).objects) {
    if (FindText(*pod, {"spec", "nodeName"}) == machine) keys.push_back(key);
  }
  return keys;
}

bool Machines::IsThere(const std::string& machine) const {
  return !off_.contains(machine) && api.Find(kube::kNodes, {"", machine}) != nullptr;
}

bool Machines::TakesNoWork(const std::string& machine) const {
  const auto since = no_work_since_.find(machine);
  return since != no_work_since_.end() && loop.Now() - since->second > kOneAction;
}

std::vector<const Value*> Machines::Nodes() const {
  std::vector<const Value*> nodes;
  for (const auto& [key, node] : const_cast<Machines*>(this)->api.objects().Table(kube::kNodes).objects)
    nodes.push_back(node.get());
  return nodes;
}

// Where its slurmd asks for its configuration.
Site* Machines::SiteOf(const Value& pod) const {
  const Value* containers = json::Find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return nullptr;
  for (const Value& container : containers->get_array()) {
    const Value* args = json::Find(container, {"args"});
    if (args == nullptr || !args->is_array()) continue;
    const auto& words = args->get_array();
    const auto option = std::ranges::find(words, Value("--conf-server"));
    if (option != words.end() && option + 1 != words.end()) return SiteAt((option + 1)->as_string());
  }
  return nullptr;
}

void Machines::Report(const kube::Resource& resource, const kube::Key& key, int ready) {
  if (api.Find(resource, key) == nullptr) return;  // torn down
  api.Edit(resource, key, "status", [&](Value& workload) {
    const Value* generation = json::Find(workload, {"metadata", "generation"});
    json::MakeObject(workload, {"status"}) = {
        {"observedGeneration", *generation}, {"replicas", 1}, {"readyReplicas", ready}, {"updatedReplicas", 1}};
  });
}

// --- Scheduler and kubelets ------------------------------------------------------------------------------------------

const Value* Machines::Living(const kube::Key& key, const std::string& uid) const {
  const Value* pod = api.Find(kube::kPods, key);
  if (pod == nullptr || UidOf(*pod) != uid) return nullptr;
  if (FindText(*pod, {"status", "phase"}) == "Failed" || off_.contains(MachineOf(key))) return nullptr;
  return FindText(*pod, {"metadata", "deletionTimestamp"}).empty() ? pod : nullptr;
}

// One that fits, without a worker of that namespace, or any; "" when there is none.
std::string Machines::FreeMachine(const Value& wanting) {
  const int first = int(random.Below(uint64_t(options.machines)));
  const std::vector<const Value*> pods = PodsIn(std::string(FindText(wanting, {"metadata", "namespace"})));
  const std::string bound = BoundTo(wanting);
  for (int i = 0; i < options.machines; ++i) {
    const std::string machine = "k" + std::to_string((first + i) % options.machines);
    const bool taken = std::ranges::any_of(pods, [&](const Value* pod) {
      return FindText(*pod, {"spec", "nodeName"}) == machine && FindText(*pod, {"status", "phase"}) != "Failed";
    });
    const Value* node = api.Find(kube::kNodes, {"", machine});
    if (node == nullptr || !IsReady(*node)) continue;
    const std::string_view pool = FindText(wanting, {"spec", "nodeSelector", kPool});
    const bool fits = bound.empty() ? !cordoned_.contains(machine) &&
                                          (pool.empty() || FindText(*node, {"metadata", "labels", kPool}) == pool)
                                    : machine == bound;
    if (fits && (options.share_machines || !taken)) return machine;
  }
  return {};
}

void Machines::Place(const kube::Key& key, const std::string& uid) {
  const Value* wanting = Living(key, uid);
  if (wanting == nullptr) return;
  const std::string machine = FreeMachine(*wanting);
  if (machine.empty()) {
    unplaced_.emplace_back(key, uid);
    api.Edit(kube::kPods, key, "status", [](Value& pod) {
      boost::json::object condition{{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", "Unschedulable"},
                                    {"message", "no machine is free"}};
      json::MakeObject(pod, {"status"}) = {{"phase", "Pending"},
                                           {"conditions", boost::json::array{std::move(condition)}}};
    });
    return;
  }
  api.Edit(kube::kPods, key, "", [&](Value& pod) { json::MakeObject(pod, {"spec"})["nodeName"] = machine; });
  api.Edit(kube::kPods, key, "status", [](Value& pod) {
    SetCondition(pod, {{"type", "PodScheduled"}, {"status", "True"}});
    json::MakeObject(pod, {"status"})["phase"] = "Pending";
  });
  // Images are pulled, sometimes for long.
  After(random.Percent(5) ? Between(30s, 3min) : Between(500ms, 5s), [this, key, uid] { Start(key, uid); });
}

// slurmd registers at once; the API server hears later that the pod runs. Or something else takes its time first.
void Machines::Start(const kube::Key& key, const std::string& uid) {
  if (Living(key, uid) == nullptr) return;
  if (random.Percent(5)) {
    SayThatItRuns(key, uid);
    return After(Between(1min, 5min), [this, key, uid] {
      if (StartSlurmd(key, uid)) BecomeReady(key, uid);
    });
  }
  StartSlurmd(key, uid);
  After(Between(100ms, 3s), [this, key, uid] {
    SayThatItRuns(key, uid);
    After(Between(500ms, 2s), [this, key, uid] { BecomeReady(key, uid); });
  });
}

bool Machines::StartSlurmd(const kube::Key& key, const std::string& uid) {
  const Value* pod = Living(key, uid);
  if (pod == nullptr) return false;
  // It runs already where the machine was off while the image was being pulled, and its boot has begun anew.
  if (Site* site = SiteOf(*pod); site != nullptr && !site->Runs(HostOf(*pod), uid))
    site->StartSlurmd(HostOf(*pod), uid, AddressOf(uid), FeatureOf(*pod), SaysThatItBoots(*pod));
  return true;
}

const std::string& Machines::AddressOf(const std::string& uid) {
  const auto [address, is_new] = addresses_.try_emplace(uid);
  if (is_new)
    address->second = "10." + std::to_string(addresses_.size() / 250) + ".0." + std::to_string(addresses_.size() % 250);
  return address->second;
}

void Machines::SayThatItRuns(const kube::Key& key, const std::string& uid) {
  if (Living(key, uid) == nullptr) return;
  api.Edit(kube::kPods, key, "status", [&](Value& running) {
    boost::json::object& status = json::MakeObject(running, {"status"});
    status["phase"] = "Running";
    status["podIP"] = AddressOf(uid);
  });
}

// slurmd says so once it has registered, and goes on when slurmctld has forgotten it.
void Machines::BecomeReady(const kube::Key& key, const std::string& uid) {
  const Value* pod = Living(key, uid);
  if (pod == nullptr) return;
  const Site* site = SiteOf(*pod);
  if (site == nullptr || !site->HasRegistered(HostOf(*pod))) {
    return After(2s, [this, key, uid] { BecomeReady(key, uid); });
  }
  api.Edit(kube::kPods, key, "status", [this](Value& ready) {
    boost::json::object condition{
        {"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", FormatRfc3339(loop.WallNow())}};
    SetCondition(ready, std::move(condition));
  });
}

// When a terminating pod will be gone. A kubelet that is off never says so.
std::optional<Duration> Machines::Stop(const Value& pod) {
  if (off_.contains(std::string(FindText(pod, {"spec", "nodeName"})))) return std::nullopt;
  const std::string uid(UidOf(pod)), host = HostOf(pod);
  Site* site = SiteOf(pod);
  const bool runs = site != nullptr && site->Runs(host, uid);
  const Duration whole = runs ? (random.Percent(10) ? 28s : Between(500ms, 5s)) : Duration(200ms);
  if (runs) {
    After(100ms, [site, host, uid] { site->RunStopHook(host, uid); });
    After(whole - 50ms, [site, host, uid] { site->EndSlurmd(host, uid); });
  }
  After(whole + 10ms, [this] { PlaceWaiting(); });
  return whole;
}

void Machines::PlaceWaiting() {
  for (const auto& [key, uid] : std::exchange(unplaced_, {})) Place(key, uid);
}

}  // namespace capstan::sim
