#include "site.h"

#include <algorithm>

#include "api/controller.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "base/hash.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"
#include "set_story.h"
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

// --- The operator's wire to slurmrestd -------------------------------------------------------------------------------

void Site::Wire::Note(const net::Request& request) {
  if (request.method != "GET" && site_.on_write) site_.on_write(request);
}

async::Task<Result<net::Response>> Site::Wire::Send(net::Request request, async::Deadline deadline) {
  if (!site_.machines.connected) co_return Fail(Code::kUnavailable, "this process has ended");
  Note(request);
  const net::Request asked = request;
  const Tick began = site_.machines.loop.Now();
  auto response = co_await site_.rest.Send(std::move(request), deadline);
  if (response) Answered(asked, response->status, began);
  co_return response;
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Site::Wire::Open(net::Request request, async::Deadline deadline) {
  if (!site_.machines.connected) co_return Fail(Code::kUnavailable, "this process has ended");
  Note(request);
  const net::Request asked = request;
  const Tick began = site_.machines.loop.Now();
  auto stream = co_await site_.rest.Open(std::move(request), deadline);
  if (stream) Answered(asked, (*stream)->status(), began);
  co_return stream;
}

void Site::Wire::Answered(const net::Request& request, int status, Tick asked) {
  const bool nodes = request.method == "GET" && request.target.find("/node") != std::string::npos;
  if (!nodes || status != 200 || site_.fault_.percent > 0) return;
  site_.reads_.push_back({request.target, asked, site_.machines.loop.Now()});
}

bool Site::Answers(std::string_view address) const {
  return address.contains(key.name + "-controller." + key.ns + ":") ||
         address.contains("//" + key.name + "-restapi." + key.ns + ".svc.cluster.local.:");
}

bool Site::IsKnown(const OthersAct& act) const {
  return std::ranges::any_of(reads_, [&](const Read& read) {
    const bool of_node = read.target.find("/nodes/") != std::string::npos ||
                         read.target.find("/node/" + act.before.name + "?") != std::string::npos;
    return of_node && read.asked > act.at && read.answered + kReaction < machines.loop.Now();
  });
}

std::vector<slurm::Node> Site::BeforeOthers(const std::string& node) const {
  std::vector<slurm::Node> before;
  const auto acts = others_acted_.find(node);
  if (acts == others_acted_.end()) return before;
  for (const OthersAct& act : acts->second) {
    if (!IsKnown(act)) before.push_back(act.before);
  }
  return before;
}

Site::Site(Machines& all, kube::Key controller, bool one_object)
    : key(std::move(controller)),
      machines(all),
      slurm(all.loop, {.return_to_service = int(all.random.Below(3)),
                       .power_check = std::chrono::seconds(10 + all.random.Below(30))}),
      rest(slurm),
      cluster(one_object ? std::make_unique<ClusterStory>(all, key) : nullptr),
      wire_(*this) {
  machines.Add(*this);
  slurm.StopController();  // until its pod runs
  slurm.on_return = [this](const slurm::Node& before) {
    if (!before.state.IsDraining()) others_acted_[before.name].push_back({machines.loop.Now(), before});
  };
  slurm.on_requeue = [this](const slurm::testing::FakeSlurm::JobSpec& spec) {
    machines.story.Add("slurm: a node did not power up, and its job waits again");
    queue_.push_back({spec.runs_for.value_or(1s), {}});
    Schedule();
  };
  rest.SetFate([this](const net::Request&) {
    if (!slurmrestd_runs_) return Fault::kRefused;
    return machines.random.Percent(fault_.percent) ? fault_.kind : Fault::kNone;
  });
}

// --- Users and administrators ----------------------------------------------------------------------------------------

void Site::Install() {
  machines.MakeNamespace(key.ns);
  const std::string metadata = R"({"metadata":{"namespace":")" + key.ns + R"(","name":")" + key.name + "\"";
  machines.api.Put(
      api::Controller::kResource,
      metadata + R"(,"annotations":{"capstan.dev/generate-keys":"true"}},"spec":{"slurmKeyRef":{"name":")" + key.name +
          R"(-auth-slurm","key":"slurm.key"},"jwtKeyRef":{"name":")" + key.name + R"(-auth-jwt","key":"jwt.key"}}})");
  machines.After(machines.UpTo(3s), [this, metadata] {
    machines.api.Put(api::RestApi::kResource, metadata + R"(},"spec":{"controllerRef":{"name":")" + key.name + "\"}}}");
  });
}

void Site::TearDown() {
  machines.story.Add("user: uninstall all of " + key.ToString());
  const auto remove = [this](const kube::Resource& resource, const kube::Key& object) {
    if (machines.api.Find(resource, object) != nullptr) machines.api.Remove(resource, object);
  };
  for (SetStory* set : sets_) set->LetJobsEnd();
  // Those on machines that nobody reaches, too.
  for (const auto& [id, job] : slurm.jobs())
    if (job.state.HoldsNodes()) forgiven_.insert(id);
  if (cluster) {
    cluster->Delete();
    return EndWithController();
  }
  std::vector<std::function<void()>> removals = {[&] {
                                                   for (const SetStory* set : sets_)
                                                     remove(api::NodeSet::kResource, set->key);
                                                 },
                                                 [&] { remove(api::RestApi::kResource, key); },
                                                 [&] { remove(api::Controller::kResource, key); }};
  std::rotate(removals.begin(), removals.begin() + ptrdiff_t(machines.random.Below(3)), removals.end());
  for (const auto& removal : removals) removal();
  EndWithController();
}

void Site::TearDownDrained() {
  cluster->Delete();
  EndWithController();
}

void Site::EndWithController() {
  machines.After(machines.Between(1s, 5s), [this] {
    const bool goes = cluster && cluster->IsHeld();  // its workers are waited for
    if (goes) return EndWithController();
    if (machines.api.Find(api::Controller::kResource, key) != nullptr) return;  // installed again
    slurmrestd_runs_ = false;
    if (slurm.controller_up()) slurm.StopController();
    NoteSilence();
  });
}

void Site::SetFault(SlurmFault fault) {
  fault_ = fault;
  NoteSilence();
}

void Site::NoteSilence() {
  const bool silent = fault_.percent >= 100 || !slurm.controller_up();
  if (silent == silent_since_.has_value()) return;
  if (silent) {
    silent_since_ = machines.loop.Now();
  } else {
    if (JobsMayEnd()) jobs_may_end_until_ = machines.loop.Now() + kHearing;
    silent_since_.reset();
  }
}

bool Site::JobsMayEnd() const {
  const Tick now = machines.loop.Now();
  return now < jobs_may_end_until_ || (silent_since_ && now - *silent_since_ >= kSilence);
}

void Site::Submit(Duration runs_for, std::string node) {
  machines.story.Add("user: submit a job of " + FormatDuration(runs_for) + (node.empty() ? "" : " for " + node));
  queue_.push_back({runs_for, std::move(node)});
  Schedule();
}

void Site::UpdateNode(const std::string& node, const std::string& state, const std::string& reason) {
  if (!slurm.controller_up() || !slurm.NodeNamed(node)) return;
  // Nobody gives jobs to a worker that is going.
  const auto stays = [&](const Value* pod) {
    return HostOf(*pod) == node && json::Find(*pod, {"metadata", "deletionTimestamp"}) == nullptr;
  };
  if (state == "RESUME" && std::ranges::none_of(machines.PodsIn(key.ns), stays)) return;
  others_acted_[node].push_back({machines.loop.Now(), *slurm.NodeNamed(node)});
  machines.story.Add("person: scontrol update " + node + " state=" + state +
                     (reason.empty() ? "" : " reason=\"" + reason + "\""));
  if (state == "DOWN") Forgive(node);
  (void)slurm.UpdateNodes({node}, {.state = state, .reason = reason, .user = "alice"});
}

void Site::SuspendSome(Duration lasts) {
  std::vector<int64_t> running;
  for (const auto& [id, job] : slurm.jobs()) {
    if (job.state.Has(slurm::JobFlag::kRunning)) running.push_back(id);
  }
  if (running.empty()) return;
  const int64_t job = running[machines.random.Below(running.size())];
  if (!slurm.SuspendJob(job)) return;
  machines.story.Add("person: scontrol suspend " + std::to_string(job));
  machines.After(lasts, [this, job] { Resume(job); });
}

void Site::Resume(int64_t job) {
  const auto found = slurm.jobs().find(job);
  if (found == slurm.jobs().end() || !found->second.state.Has(slurm::JobFlag::kSuspended)) return;
  if (!slurm.ResumeJob(job)) return machines.After(5s, [this, job] { Resume(job); });
  machines.story.Add("person: scontrol resume " + std::to_string(job));
}

void Site::ResumeAll() {
  const std::map<int64_t, slurm::Job> jobs = slurm.jobs();
  for (const auto& [id, job] : jobs) Resume(id);
}

void Site::Restart(Duration away, bool forgets) {
  if (!slurm.controller_up()) return;
  machines.story.Add("slurmctld goes away for " + FormatDuration(away) + (forgets ? " and forgets its nodes" : ""));
  slurm.StopController();
  NoteSilence();
  machines.Report(kube::kStatefulSets, Named("-controller"), 0);
  machines.After(away, [this, forgets] {
    if (machines.api.Find(kube::kStatefulSets, Named("-controller")) == nullptr || slurm.controller_up()) return;
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
    machines.Report(kube::kStatefulSets, Named("-controller"), 1);
    machines.story.Add("slurmctld is back");
    Schedule();
  });
}

// --- What there is ---------------------------------------------------------------------------------------------------

std::vector<int64_t> Site::JobsOn(const std::string& node) const {
  std::vector<int64_t> ids;
  for (const auto& [id, job] : slurm.jobs()) {
    if (!job.state.HasAny({slurm::JobFlag::kRunning, slurm::JobFlag::kSuspended})) continue;
    const auto nodes = slurm::ExpandHostlist(job.nodes);
    if (nodes && std::ranges::find(*nodes, node) != nodes->end()) ids.push_back(id);
  }
  return ids;
}

bool Site::IsBusy(const std::string& node) const {
  if (!slurm.SlurmdRuns(node)) return false;
  return std::ranges::any_of(
      JobsOn(node), [this](int64_t id) { return !slurm.jobs().at(id).state.Has(slurm::JobFlag::kConfiguring); });
}

bool Site::JobsLeft() const {
  return !queue_.empty() ||
         std::ranges::any_of(slurm.jobs(), [](const auto& job) { return job.second.state.HoldsNodes(); });
}

std::vector<int64_t> Site::LostJobs() const {
  std::vector<int64_t> lost;
  for (const int64_t id : slurm.killed()) {
    if (!forgiven_.contains(id)) lost.push_back(id);
  }
  return lost;
}

void Site::Forgive(const std::string& node) {
  for (const int64_t id : JobsOn(node)) forgiven_.insert(id);
}

// --- Kubelets and workload controllers -------------------------------------------------------------------------------

void Site::StartSlurmd(const std::string& host, const std::string& uid, const std::string& address,
                       const std::string& feature, bool boots) {
  // Of two slurmds of one name the later one has none of the other's jobs.
  if (const auto other = slurmd_of_.find(host); other != slurmd_of_.end() && other->second != uid)
    slurm.StopSlurmd(host);
  slurmd_of_[host] = uid;
  failed_.erase(host);
  slurm::testing::SlurmdSpec spec{.name = host, .address = address, .features = {feature}, .topology = ""};
  // A machine that has just been booted.
  if (machines.random.Percent(10) || boots) spec.boot_time = machines.loop.WallNow();
  slurm.StartSlurmd(std::move(spec));
  Schedule();
}

bool Site::Runs(const std::string& host, const std::string& uid) const {
  const auto slurmd = slurmd_of_.find(host);
  return slurmd != slurmd_of_.end() && slurmd->second == uid;
}

// What the worker's preStop hook does.
void Site::RunStopHook(const std::string& host, const std::string& uid) {
  if (!deleted_by_operator_.contains(uid)) Forgive(host);
  const auto node = slurm.controller_up() ? slurm.NodeNamed(host) : std::nullopt;
  if (!node || op::nodeset::IsHeldByPerson(*node) || node->state.IsPoweredDown() || node->state.IsPoweringUp()) return;
  (void)slurm.UpdateNodes({host}, {.state = "DOWN", .reason = std::string(op::kReasonTerminating), .user = "root"});
}

void Site::EndSlurmd(const std::string& host, const std::string& uid) {
  if (!Runs(host, uid)) return;
  if (!deleted_by_operator_.contains(uid)) {
    Forgive(host);
    failed_.insert(host);
  }
  slurmd_of_.erase(host);
  slurm.StopSlurmd(host);
}

void Site::LookAtRegistration(const std::string& host, const std::string& uid) {
  if (!Runs(host, uid) || !slurm.controller_up() || slurm.NodeNamed(host) || !JobsOn(host).empty()) return;
  machines.story.Add("capstan-entry: slurmd of " + host + " is started anew, to register");
  slurm.RestartSlurmd(host);
  Schedule();
}

void Site::WorkerDeleted(const std::string& host, const std::string& uid) {
  // Who gives a worker jobs in the moment in which it goes races with its deletion.
  const bool raced =
      std::ranges::any_of(BeforeOthers(host), [](const slurm::Node& node) { return node.state.IsDrained(); });
  if (!raced) deleted_by_operator_.insert(uid);
}

void Site::Applied(const kube::Resource& resource, const kube::Key& object) {
  if (resource == kube::kStatefulSets && object == Named("-controller"))
    machines.After(machines.Between(200ms, 2s), [this] { SyncSlurmctld(); });
  if (resource == kube::kDeployments && object == Named("-restapi"))
    machines.After(machines.Between(200ms, 2s), [this] { SyncSlurmrestd(); });
}

void Site::SyncSlurmctld() {
  machines.Report(kube::kStatefulSets, Named("-controller"), 0);
  if (slurm.controller_up()) slurm.StopController();
  NoteSilence();
  machines.After(machines.Between(1s, 5s), [this] {
    if (machines.api.Find(kube::kStatefulSets, Named("-controller")) == nullptr) return;  // torn down
    if (!slurm.controller_up()) slurm.StartController();
    NoteSilence();
    machines.Report(kube::kStatefulSets, Named("-controller"), 1);
    Schedule();
  });
}

void Site::SyncSlurmrestd() {
  machines.Report(kube::kDeployments, Named("-restapi"), 0);
  machines.After(machines.Between(1s, 4s), [this] {
    if (machines.api.Find(kube::kDeployments, Named("-restapi")) == nullptr) return;  // torn down
    slurmrestd_runs_ = true;
    machines.Report(kube::kDeployments, Named("-restapi"), 1);
    const Value* secret = machines.api.Find(kube::kSecrets, Named("-auth-jwt"));
    const auto jwt = secret != nullptr ? FromBase64(std::string(FindText(*secret, {"data", "jwt.key"}))) : std::nullopt;
    if (jwt) rest.SetKey(Secret(*jwt));
  });
}

// --- Slurm's scheduler -----------------------------------------------------------------------------------------------

void Site::Schedule() {
  if (scheduling_ || queue_.empty()) return;
  scheduling_ = true;
  machines.After(700ms, [this] {
    scheduling_ = false;
    if (!slurm.controller_up()) return;
    std::vector<Waiting> waiting;
    for (Waiting& job : queue_) {
      std::optional<int64_t> id;
      for (const slurm::Node& node : slurm.Nodes()) {
        const bool startable = node.state.IsUsable() || node.state.IsPoweredDown();
        if (id || !startable || (!job.node.empty() && job.node != node.name)) continue;
        id = slurm.StartJob({.nodes = {node.name},
                             .whole_nodes = machines.random.Percent(50),
                             .runs_for = job.runs_for,
                             .time_limit = std::chrono::ceil<std::chrono::minutes>(job.runs_for)});
        if (!id) continue;
        machines.story.Add("slurm: job " + std::to_string(*id) + " starts on " + node.name);
        if (failed_.contains(node.name)) forgiven_.insert(*id);
      }
      if (!id) waiting.push_back(std::move(job));
    }
    queue_ = std::move(waiting);
    Schedule();
  });
}

}  // namespace capstan::sim
