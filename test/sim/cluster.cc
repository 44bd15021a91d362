#include "cluster.h"

#include <algorithm>
#include <cstdio>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/hash.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "slurm/hostlist.h"

namespace capstan::sim {

using json::FindText;
using json::Value;
using slurm::testing::Fault;

namespace {
constexpr Duration kReaction = 200ms;  // from an answer of Slurm to the last act on what was known before
constexpr Duration kSilence = 8min;    // less than the operator waits: it may have heard nothing before that began
constexpr Duration kHearing = 1min;    // until the operator has asked a Slurm that was silent anew
}  // namespace

void Story::Add(const std::string& line) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Now().time_since_epoch()).count();
  char time[32];
  std::snprintf(time, sizeof(time), "%8.3f  ", double(millis) / 1000);
  lines_.push_back(time + line);
  if (echo_) std::fprintf(stderr, "%s\n", lines_.back().c_str());
}

// --- The operator's wire to slurmrestd -------------------------------------------------------------------------------

void Cluster::SlurmWire::Note(const net::Request& request) {
  if (request.method == "GET" || !cluster_.on_slurm_write) return;
  cluster_.on_slurm_write(request);
}

async::Task<Result<net::Response>> Cluster::SlurmWire::Send(net::Request request, async::Deadline deadline) {
  if (!cluster_.connected) co_return Fail(Code::kUnavailable, "this process has ended");
  Note(request);
  const net::Request asked = request;
  const Tick began = cluster_.loop.Now();
  auto response = co_await cluster_.rest.Send(std::move(request), deadline);
  if (response) Answered(asked, response->status, began);
  co_return response;
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Cluster::SlurmWire::Open(net::Request request,
                                                                               async::Deadline deadline) {
  if (!cluster_.connected) co_return Fail(Code::kUnavailable, "this process has ended");
  Note(request);
  const net::Request asked = request;
  const Tick began = cluster_.loop.Now();
  auto stream = co_await cluster_.rest.Open(std::move(request), deadline);
  if (stream) Answered(asked, (*stream)->status(), began);
  co_return stream;
}

void Cluster::SlurmWire::Answered(const net::Request& request, int status, Tick asked) {
  const bool nodes = request.method == "GET" && request.target.find("/node") != std::string::npos;
  if (!nodes || status != 200 || cluster_.slurm_fault_.percent > 0) return;
  cluster_.reads_.push_back({request.target, asked, cluster_.loop.Now()});
}

bool Cluster::IsKnown(const OthersAct& act) const {
  return std::ranges::any_of(reads_, [&](const Read& read) {
    const bool of_node = read.target.find("/nodes/") != std::string::npos ||
                         read.target.find("/node/" + act.before.name + "?") != std::string::npos;
    return of_node && read.asked > act.at && read.answered + kReaction < loop.Now();
  });
}

std::vector<slurm::Node> Cluster::BeforeOthers(const std::string& node) const {
  std::vector<slurm::Node> before;
  const auto acts = others_acted_.find(node);
  if (acts == others_acted_.end()) return before;
  for (const OthersAct& act : acts->second) {
    if (!IsKnown(act)) before.push_back(act.before);
  }
  return before;
}

Cluster::Cluster(uint64_t seed, Options given, bool echo)
    : story(loop, echo),
      random(seed),
      options(given),
      api(loop, random.Next()),
      slurm(loop, {.return_to_service = int(random.Below(3))}),
      rest(slurm),
      slurm_wire_(*this) {
  for (const auto* kind : {&api::Controller::kResource, &api::Accounting::kResource, &api::RestApi::kResource,
                           &api::LoginSet::kResource, &api::NodeSet::kResource, &api::Token::kResource}) {
    api.objects().Serve(*kind);
  }
  slurm.StopController();  // until its pod runs
  slurm.on_return = [this](const slurm::Node& before) {
    if (!before.state.IsDraining()) others_acted_[before.name].push_back({loop.Now(), before});
  };
  api.objects().pod_stops_after = [this](const Value& pod) { return Stop(pod); };
  api.on_write = [this](const kube::testing::ApiWrite& write) { Written(write); };
  api.deny = [this](auto, const auto&, const auto&) -> std::optional<kube::testing::Refusal> {
    if (connected) return std::nullopt;
    return kube::testing::Refusal{503, "ServiceUnavailable", "this process has ended"};
  };
  rest.SetFate([this](const net::Request&) {
    if (!slurmrestd_runs) return Fault::kRefused;
    return random.Percent(slurm_fault_.percent) ? slurm_fault_.kind : Fault::kNone;
  });
}

void Cluster::Written(const kube::testing::ApiWrite& write) {
  if (on_api_write) on_api_write(write);
  if (write.status >= 300) return;
  if (write.resource == kube::kPods && write.verb == "create") {
    const Value* pod = api.Find(kube::kPods, write.key);
    After(Between(200ms, 2s),
          [this, key = write.key, uid = std::string(FindText(*pod, {"metadata", "uid"}))] { Place(key, uid); });
  }
  if (write.resource == kube::kPods && write.verb == "delete") {
    const auto body = json::Parse(write.body);
    // Who gives a worker jobs in the moment in which it goes races with its deletion.
    const bool raced = std::ranges::any_of(BeforeOthers(write.key.name),
                                           [](const slurm::Node& node) { return node.state.IsDrained(); });
    if (body && !raced) deleted_by_operator_.emplace(FindText(*body, {"preconditions", "uid"}));
  }
  if (!write.changed || write.verb != "apply") return;
  if (write.resource == kube::kStatefulSets) After(Between(200ms, 2s), [this] { SyncSlurmctld(); });
  if (write.resource == kube::kDeployments) After(Between(200ms, 2s), [this] { SyncSlurmrestd(); });
}

// --- Users and administrators ----------------------------------------------------------------------------------------

void Cluster::Install(int replicas) {
  most_replicas_ = std::max(most_replicas_, replicas);
  jobs_may_end_ = false;
  if (api.Find(kube::kNamespaces, {"", "slurm"}) == nullptr) {
    api.Put(kube::kNamespaces, R"({"metadata":{"name":"slurm"}})");
    for (int i = 0; i < options.machines; ++i)
      api.Put(kube::kNodes, R"({"metadata":{"name":"k)" + std::to_string(i) + R"("}})");
  }
  // What was orphaned would keep its names.
  for (const std::string& worker : Workers()) api.Remove(kube::kPods, {kSet.ns, worker});
  api.Put(api::Controller::kResource,
          R"({"metadata":{"namespace":"slurm","name":"main","annotations":{"capstan.dev/generate-keys":"true"}},
              "spec":{"slurmKeyRef":{"name":"main-auth-slurm","key":"slurm.key"},
                      "jwtKeyRef":{"name":"main-auth-jwt","key":"jwt.key"}}})");
  After(UpTo(3s), [this] {
    api.Put(api::RestApi::kResource,
            R"({"metadata":{"namespace":"slurm","name":"main"},"spec":{"controllerRef":{"name":"main"}}})");
  });
  After(UpTo(3s), [this, replicas] {
    api.Put(api::NodeSet::kResource,
            R"({"metadata":{"namespace":"slurm","name":"w"},"spec":{"controllerRef":{"name":"main"},"replicas":)" +
                std::to_string(replicas) + R"(,"oversubscribeNode":)" + (options.share_machines ? "true" : "false") +
                "}}");
  });
}

void Cluster::Scale(int replicas) {
  most_replicas_ = std::max(most_replicas_, replicas);
  story.Add("user: scale to " + std::to_string(replicas));
  api.Edit(api::NodeSet::kResource, kSet, "",
           [&](Value& set) { set.as_object()["spec"].as_object()["replicas"] = replicas; });
}

const kube::Resource& Cluster::SetKind() { return api::NodeSet::kResource; }

const Value& Cluster::LastSet() {
  if (const Value* set = api.Find(api::NodeSet::kResource, kSet)) last_set_ = *set;
  return last_set_;
}

void Cluster::DeleteSet(const std::string& propagation) {
  if (SetIsGone()) return;
  story.Add("user: delete the NodeSet (" + propagation + ")");
  LastSet();
  // Who asks for the foreground asks Kubernetes to take the pods at once.
  if (propagation == "Foreground") jobs_may_end_ = true;
  api.Remove(api::NodeSet::kResource, kSet, {.propagation = propagation});
  LastSet();
}

void Cluster::ForceDeletion() {
  if (SetIsGone()) return;
  story.Add("user: force the NodeSet's deletion");
  jobs_may_end_ = true;
  api.Edit(api::NodeSet::kResource, kSet, "",
           [](Value& set) { json::MakeObject(set, {"metadata", "annotations"})[op::kAnnotationForceDelete] = "true"; });
}

void Cluster::TearDown() {
  story.Add("user: uninstall everything");
  LastSet();
  jobs_may_end_ = true;
  const auto remove = [this](const kube::Resource& resource, const kube::Key& key) {
    if (api.Find(resource, key) != nullptr) api.Remove(resource, key);
  };
  std::vector<std::function<void()>> removals = {[&] { remove(api::NodeSet::kResource, kSet); },
                                                 [&] { remove(api::RestApi::kResource, kMain); },
                                                 [&] { remove(api::Controller::kResource, kMain); }};
  std::rotate(removals.begin(), removals.begin() + ptrdiff_t(random.Below(3)), removals.end());
  for (const auto& removal : removals) removal();
  LastSet();
  After(Between(1s, 5s), [this] {
    if (api.Find(api::Controller::kResource, kMain) != nullptr) return;  // installed again
    slurmrestd_runs = false;
    if (slurm.controller_up()) slurm.StopController();
    NoteSilence();
  });
}

void Cluster::Cordon(const std::string& machine) {
  story.Add("user: cordon " + machine);
  cordoned_.insert(machine);
  api.Edit(kube::kNodes, {"", machine}, "",
           [](Value& node) { json::MakeObject(node, {"spec"})["unschedulable"] = true; });
}

void Cluster::Uncordon(const std::string& machine) {
  if (cordoned_.erase(machine) == 0) return;
  story.Add("user: uncordon " + machine);
  api.Edit(kube::kNodes, {"", machine}, "",
           [](Value& node) { json::MakeObject(node, {"spec"}).erase("unschedulable"); });
  PlaceWaiting();
}

void Cluster::SetSlurmFault(SlurmFault fault) {
  slurm_fault_ = fault;
  NoteSilence();
}

void Cluster::NoteSilence() {
  const bool silent = slurm_fault_.percent >= 100 || !slurm.controller_up();
  if (silent == silent_since_.has_value()) return;
  if (silent) {
    silent_since_ = loop.Now();
  } else {
    if (JobsMayEnd()) jobs_may_end_until_ = loop.Now() + kHearing;
    silent_since_.reset();
  }
}

bool Cluster::JobsMayEnd() const {
  return jobs_may_end_ || loop.Now() < jobs_may_end_until_ ||
         (silent_since_ && loop.Now() - *silent_since_ >= kSilence);
}

std::string Cluster::MachineOf(const std::string& pod) const {
  const Value* object = api.Find(kube::kPods, {kSet.ns, pod});
  return object != nullptr ? std::string(FindText(*object, {"spec", "nodeName"})) : "";
}

int Cluster::replicas() const {
  const Value* set = api.Find(api::NodeSet::kResource, kSet);
  const Value* replicas = set != nullptr ? json::Find(*set, {"spec", "replicas"}) : nullptr;
  return replicas != nullptr ? int(replicas->as_int64()) : 0;
}

void Cluster::DeletePod(const std::string& name) {
  story.Add("user: delete pod " + name);
  api.Remove(kube::kPods, {kSet.ns, name});
}

void Cluster::FailPod(const std::string& name) {
  const Value* pod = api.Find(kube::kPods, {kSet.ns, name});
  if (pod == nullptr || FindText(*pod, {"spec", "nodeName"}).empty()) return;
  story.Add("kubelet: worker " + name + " fails");
  const std::string uid(FindText(*pod, {"metadata", "uid"}));
  Forgive(std::string(FindText(*pod, {"spec", "hostname"})));
  EndSlurmd(std::string(FindText(*pod, {"spec", "hostname"})), uid);
  api.Edit(kube::kPods, {kSet.ns, name}, "status",
           [](Value& failed) { json::MakeObject(failed, {"status"}) = {{"phase", "Failed"}, {"reason", "Evicted"}}; });
}

void Cluster::Submit(Duration runs_for, std::string node) {
  story.Add("user: submit a job of " + FormatDuration(runs_for) + (node.empty() ? "" : " for " + node));
  queue_.push_back({runs_for, std::move(node)});
  Schedule();
}

void Cluster::UpdateNode(const std::string& node, const std::string& state, const std::string& reason) {
  if (!slurm.controller_up() || !slurm.NodeNamed(node)) return;
  // Nobody gives jobs to a worker that is going.
  const Value* pod = api.Find(kube::kPods, {kSet.ns, node});
  if (state == "RESUME" && (pod == nullptr || json::Find(*pod, {"metadata", "deletionTimestamp"}) != nullptr)) return;
  others_acted_[node].push_back({loop.Now(), *slurm.NodeNamed(node)});
  story.Add("person: scontrol update " + node + " state=" + state +
            (reason.empty() ? "" : " reason=\"" + reason + "\""));
  if (state == "DOWN") Forgive(node);
  (void)slurm.UpdateNodes({node}, {.state = state, .reason = reason, .user = "alice"});
}

void Cluster::SuspendSome(Duration lasts) {
  std::vector<int64_t> running;
  for (const auto& [id, job] : slurm.jobs()) {
    if (job.state.Has(slurm::JobFlag::kRunning)) running.push_back(id);
  }
  if (running.empty()) return;
  const int64_t job = running[random.Below(running.size())];
  if (!slurm.SuspendJob(job)) return;
  story.Add("person: scontrol suspend " + std::to_string(job));
  After(lasts, [this, job] { Resume(job); });
}

void Cluster::Resume(int64_t job) {
  const auto found = slurm.jobs().find(job);
  if (found == slurm.jobs().end() || !found->second.state.Has(slurm::JobFlag::kSuspended)) return;
  if (!slurm.ResumeJob(job)) return After(5s, [this, job] { Resume(job); });
  story.Add("person: scontrol resume " + std::to_string(job));
}

void Cluster::ResumeAll() {
  const std::map<int64_t, slurm::Job> jobs = slurm.jobs();
  for (const auto& [id, job] : jobs) Resume(id);
}

void Cluster::RestartSlurmctld(Duration away, bool forgets) {
  if (!slurm.controller_up()) return;
  story.Add("slurmctld goes away for " + FormatDuration(away) + (forgets ? " and forgets its nodes" : ""));
  slurm.StopController();
  NoteSilence();
  Report(kube::kStatefulSets, "main-controller", 0);
  After(away, [this, forgets] {
    if (api.Find(kube::kStatefulSets, {kMain.ns, "main-controller"}) == nullptr || slurm.controller_up()) return;
    if (forgets) {
      for (const auto& [id, job] : slurm.jobs()) {
        if (job.state.HasAny({slurm::JobFlag::kRunning, slurm::JobFlag::kSuspended}))
          forgiven_.insert(id), slurm.CancelJob(id);
      }
      deleted_by_operator_.clear();  // with their drains: jobs may begin where a worker is going
    }
    slurm.StartController(forgets ? slurm::testing::FakeSlurm::Lose::kNodes
                                  : slurm::testing::FakeSlurm::Lose::kNothing);
    NoteSilence();
    Report(kube::kStatefulSets, "main-controller", 1);
    story.Add("slurmctld is back");
    Schedule();
  });
}

// --- What there is ---------------------------------------------------------------------------------------------------

std::vector<std::string> Cluster::Workers() const {
  std::vector<std::string> names;
  for (const auto& [key, pod] : const_cast<Cluster*>(this)->api.objects().Table(kube::kPods).objects) {
    if (FindText(*pod, {"metadata", "labels", op::kLabelComponent}) == op::kWorker.component) names.push_back(key.name);
  }
  return names;
}

std::vector<std::string> Cluster::PodTexts() const {
  std::vector<std::string> texts;
  for (const auto& [key, pod] : const_cast<Cluster*>(this)->api.objects().Table(kube::kPods).objects) {
    texts.push_back(json::Serialize(*pod));
  }
  return texts;
}

std::vector<int64_t> Cluster::JobsOn(const std::string& node) const {
  std::vector<int64_t> ids;
  for (const auto& [id, job] : slurm.jobs()) {
    if (!job.state.HasAny({slurm::JobFlag::kRunning, slurm::JobFlag::kSuspended})) continue;
    const auto nodes = slurm::ExpandHostlist(job.nodes);
    if (nodes && std::ranges::find(*nodes, node) != nodes->end()) ids.push_back(id);
  }
  return ids;
}

bool Cluster::AnyRuns() const {
  return std::ranges::any_of(slurm.jobs(), [](const auto& job) { return job.second.state.HoldsNodes(); });
}

std::vector<int64_t> Cluster::LostJobs() const {
  std::vector<int64_t> lost;
  for (const int64_t id : slurm.killed()) {
    if (!forgiven_.contains(id)) lost.push_back(id);
  }
  return lost;
}

void Cluster::Forgive(const std::string& node) {
  for (const int64_t id : JobsOn(node)) forgiven_.insert(id);
}

// --- Scheduler and kubelets ------------------------------------------------------------------------------------------

const Value* Cluster::Living(const kube::Key& key, const std::string& uid) const {
  const Value* pod = api.Find(kube::kPods, key);
  if (pod == nullptr || FindText(*pod, {"metadata", "uid"}) != uid) return nullptr;
  if (FindText(*pod, {"status", "phase"}) == "Failed") return nullptr;
  return FindText(*pod, {"metadata", "deletionTimestamp"}).empty() ? pod : nullptr;
}

// A machine without a worker, or any; "" when there is none.
std::string Cluster::FreeMachine() {
  const int first = int(random.Below(uint64_t(options.machines)));
  for (int i = 0; i < options.machines; ++i) {
    const std::string machine = "k" + std::to_string((first + i) % options.machines);
    const auto& pods = api.objects().Table(kube::kPods).objects;
    const bool taken = std::ranges::any_of(pods, [&](const auto& pod) {
      return FindText(*pod.second, {"spec", "nodeName"}) == machine &&
             FindText(*pod.second, {"status", "phase"}) != "Failed";
    });
    if (!cordoned_.contains(machine) && (options.share_machines || !taken)) return machine;
  }
  return {};
}

void Cluster::Place(const kube::Key& key, const std::string& uid) {
  if (Living(key, uid) == nullptr) return;
  const std::string machine = FreeMachine();
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
  api.Edit(kube::kPods, key, "status", [](Value& pod) { json::MakeObject(pod, {"status"}) = {{"phase", "Pending"}}; });
  // Images are pulled, sometimes for long.
  After(random.Percent(5) ? Between(30s, 3min) : Between(500ms, 5s), [this, key, uid] { Start(key, uid); });
}

// slurmd registers at once; the API server hears later that the pod runs. Or something else takes its time first.
void Cluster::Start(const kube::Key& key, const std::string& uid) {
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

bool Cluster::StartSlurmd(const kube::Key& key, const std::string& uid) {
  const Value* pod = Living(key, uid);
  if (pod == nullptr) return false;
  const std::string host(FindText(*pod, {"spec", "hostname"}));
  slurmd_of_[host] = uid;
  slurm::testing::SlurmdSpec spec{.name = host, .address = "10.0.0.1", .features = {kSet.name}, .topology = ""};
  if (random.Percent(10)) spec.boot_time = loop.WallNow();  // a machine that has just been booted
  slurm.StartSlurmd(std::move(spec));
  Schedule();
  return true;
}

void Cluster::SayThatItRuns(const kube::Key& key, const std::string& uid) {
  if (Living(key, uid) == nullptr) return;
  api.Edit(kube::kPods, key, "status",
           [](Value& running) { json::MakeObject(running, {"status"}) = {{"phase", "Running"}}; });
}

bool Cluster::IsStarting(const std::string& pod) const {
  const Value* object = api.Find(kube::kPods, {kSet.ns, pod});
  if (object == nullptr || FindText(*object, {"status", "phase"}) != "Running") return false;
  const auto slurmd = slurmd_of_.find(std::string(FindText(*object, {"spec", "hostname"})));
  return slurmd == slurmd_of_.end() || slurmd->second != FindText(*object, {"metadata", "uid"});
}

void Cluster::BecomeReady(const kube::Key& key, const std::string& uid) {
  const Value* pod = Living(key, uid);
  if (pod == nullptr) return;
  const std::string host(FindText(*pod, {"spec", "hostname"}));
  if (!slurm.controller_up() || !slurm.NodeNamed(host)) {
    return After(2s, [this, key, uid] { BecomeReady(key, uid); });
  }
  api.Edit(kube::kPods, key, "status", [this](Value& ready) {
    boost::json::object condition{
        {"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", FormatRfc3339(loop.WallNow())}};
    json::MakeObject(ready, {"status"})["conditions"] = boost::json::array{std::move(condition)};
  });
}

// When a terminating pod will be gone.
std::optional<Duration> Cluster::Stop(const Value& pod) {
  const std::string uid(FindText(pod, {"metadata", "uid"})), host(FindText(pod, {"spec", "hostname"}));
  const auto running = slurmd_of_.find(host);
  const bool runs = running != slurmd_of_.end() && running->second == uid;
  const Duration whole = runs ? (random.Percent(10) ? 28s : Between(500ms, 5s)) : Duration(200ms);
  if (runs) {
    After(100ms, [this, host, uid] { RunStopHook(host, uid); });
    After(whole - 50ms, [this, host, uid] { EndSlurmd(host, uid); });
  }
  After(whole + 10ms, [this] { PlaceWaiting(); });
  return whole;
}

void Cluster::PlaceWaiting() {
  for (const auto& [key, uid] : std::exchange(unplaced_, {})) Place(key, uid);
}

// What the worker's preStop hook does.
void Cluster::RunStopHook(const std::string& host, const std::string& uid) {
  if (!deleted_by_operator_.contains(uid)) Forgive(host);
  const auto node = slurm.controller_up() ? slurm.NodeNamed(host) : std::nullopt;
  if (!node || op::nodeset::IsHeldByPerson(*node)) return;
  (void)slurm.UpdateNodes({host}, {.state = "DOWN", .reason = std::string(op::kReasonTerminating), .user = "root"});
}

void Cluster::EndSlurmd(const std::string& host, const std::string& uid) {
  const auto running = slurmd_of_.find(host);
  if (running == slurmd_of_.end() || running->second != uid) return;
  if (!deleted_by_operator_.contains(uid)) Forgive(host);
  slurmd_of_.erase(running);
  slurm.StopSlurmd(host);
}

// --- Workload controllers --------------------------------------------------------------------------------------------

void Cluster::Report(const kube::Resource& resource, const std::string& name, int ready) {
  if (api.Find(resource, {kMain.ns, name}) == nullptr) return;  // torn down
  api.Edit(resource, {kMain.ns, name}, "status", [&](Value& set) {
    const Value* generation = json::Find(set, {"metadata", "generation"});
    json::MakeObject(set, {"status"}) = {
        {"observedGeneration", *generation}, {"replicas", 1}, {"readyReplicas", ready}, {"updatedReplicas", 1}};
  });
}

void Cluster::SyncSlurmctld() {
  Report(kube::kStatefulSets, "main-controller", 0);
  if (slurm.controller_up()) slurm.StopController();
  NoteSilence();
  After(Between(1s, 5s), [this] {
    if (api.Find(kube::kStatefulSets, {kMain.ns, "main-controller"}) == nullptr) return;  // torn down
    if (!slurm.controller_up()) slurm.StartController();
    NoteSilence();
    Report(kube::kStatefulSets, "main-controller", 1);
    Schedule();
  });
}

void Cluster::SyncSlurmrestd() {
  Report(kube::kDeployments, "main-restapi", 0);
  After(Between(1s, 4s), [this] {
    if (api.Find(kube::kDeployments, {kMain.ns, "main-restapi"}) == nullptr) return;  // torn down
    slurmrestd_runs = true;
    Report(kube::kDeployments, "main-restapi", 1);
    const Value* secret = api.Find(kube::kSecrets, {kMain.ns, "main-auth-jwt"});
    const auto key = secret != nullptr ? FromBase64(std::string(FindText(*secret, {"data", "jwt.key"}))) : std::nullopt;
    if (key) rest.SetKey(Secret(*key));
  });
}

// --- Slurm's scheduler -----------------------------------------------------------------------------------------------

void Cluster::Schedule() {
  if (scheduling_ || queue_.empty()) return;
  scheduling_ = true;
  After(700ms, [this] {
    scheduling_ = false;
    if (!slurm.controller_up()) return;
    std::vector<Waiting> waiting;
    for (Waiting& job : queue_) {
      std::optional<int64_t> id;
      for (const slurm::Node& node : slurm.Nodes()) {
        if (id || !node.state.IsUsable() || (!job.node.empty() && job.node != node.name)) continue;
        id = slurm.StartJob({.nodes = {node.name},
                             .whole_nodes = random.Percent(50),
                             .runs_for = job.runs_for,
                             .time_limit = std::chrono::ceil<std::chrono::minutes>(job.runs_for)});
        if (id) story.Add("slurm: job " + std::to_string(*id) + " starts on " + node.name);
      }
      if (!id) waiting.push_back(std::move(job));
    }
    queue_ = std::move(waiting);
    Schedule();
  });
}

}  // namespace capstan::sim
