#include "run.h"

#include <algorithm>
#include <array>
#include <memory>

#include "async/task_group.h"
#include "bridge/group/decide.h"
#include "bridge/group/members.h"
#include "bridge/names.h"
#include "bridge/reconcilers.h"
#include "plan/engine.h"
#include "rules.h"
#include "slurm/rest_source.h"
#include "yard.h"

namespace capstan::sim::bridge {
namespace {

using slurm::JobFlag;
using slurm::testing::Fault;

// Attempts come ten minutes apart in the worst case, and a node that cannot be used is given up after five.
constexpr Duration kConvergeTimeout = 45min;
constexpr Duration kEndTimeout = 5min;  // until no job is left once all workloads are gone
constexpr Duration kRest = 10min;       // in which nothing may be written
constexpr Duration kLook = 250ms;
constexpr int kNodes = 4;
constexpr uint64_t kUsualWrites = 60;

// One life of the bridge.
class Process {
 public:
  Process(Yard& yard, const Break* broken, uint64_t seed)
      : yard_(yard),
        client_(yard.loop, yard.api, {.field_manager = "slurm-bridge", .seed = seed}),
        engine_(yard.loop, client_, Options(yard, seed)),
        group_(yard.loop) {
    AddStores(engine_.stores(), yard.settings.bridge);
    for (plan::Reconciler& reconciler : Reconcilers()) {
      if (broken != nullptr && reconciler.kind == broken->kind) reconciler.decide = broken->decide;
      engine_.Add(std::move(reconciler));
    }
    yard.connected = true;
    group_.Spawn("engine", engine_.Run());
  }
  ~Process() {
    yard_.connected = false;
    group_.Spawn("stop", engine_.Stop());
    yard_.loop.RunUntil([this] { return group_.size() == 0; }, 1min);
  }

 private:
  static plan::Engine::Options Options(Yard& yard, uint64_t seed) {
    plan::Engine::Options options{.field_manager = "slurm-bridge", .seed = seed};
    options.slurm = [&yard, seed](const plan::SlurmConnection&,
                                  plan::SlurmClusters::SignToken) -> Result<plan::SlurmClusters::Link> {
      const auto sign = [](Duration) -> Result<Secret> { return Secret("token"); };
      const auto source = std::make_shared<slurm::RestSource>(yard.loop, yard.rest, sign,
                                                              slurm::RestSource::Options{.seed = seed, .client = {}});
      return plan::SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
    };
    options.settings = &yard.settings;
    return options;
  }

  Yard& yard_;
  kube::Client client_;
  plan::Engine engine_;
  async::TaskGroup group_;
};

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options),
        random_(Random(options.seed).Next()),
        yard_(random_.Next(), kNodes, options.echo),
        rules_(yard_) {
    rules_.on_write = [this] {
      if (rules_.writes() == options_.crash_after) crash_ = true;
    };
  }

  Outcome Go() {
    StartBridge();
    for (uint64_t left = 1 + random_.Below(3); left > 0; --left) AddWorkload();
    Pass(Between(3s, 20s));
    const int steps = 4 + int(random_.Below(8));
    for (int i = 0; i < steps && !failure_; ++i) Step();
    Settle();
    BeQuiet();
    End();
    process_.reset();
    return {failure_, rules_.writes(), yard_.story(), rules_.fingerprint()};
  }

 private:
  Duration Between(Duration least, Duration most) {
    return least + Duration(int64_t(random_.Below(uint64_t((most - least).count()) + 1)));
  }
  void Fail(const std::string& what) {
    if (failure_) return;
    failure_ = what;
    yard_.Say("FAILED: " + what);
  }

  void StartBridge() {
    yard_.Say("the bridge starts");
    process_ = std::make_unique<Process>(yard_, options_.broken, random_.Next());
  }
  void Crash() {
    crash_ = false;
    if (!process_) return;
    yard_.Say("the bridge crashes");
    process_.reset();
    yard_.After(Between(0s, 20s), [this] { StartBridge(); });
  }

  void Pass(Duration duration) {
    const Tick end = yard_.loop.Now() + duration;
    while (yard_.loop.Now() < end && !failure_) {
      const Duration slice = std::min(kLook, end - yard_.loop.Now());
      const Tick next = yard_.loop.Now() + slice;
      yard_.loop.RunUntil([this] { return crash_; }, slice);
      if (crash_) Crash();
      if (yard_.loop.Now() < next) yard_.loop.Advance(next - yard_.loop.Now());
      rules_.Look();
      if (rules_.broken()) Fail(*rules_.broken());
    }
  }
  bool PassUntil(const std::function<bool()>& done, Duration limit) {
    const Tick end = yard_.loop.Now() + limit;
    while (!failure_ && !done()) {
      if (yard_.loop.Now() >= end) return false;
      Pass(1s);
    }
    return true;
  }

  // --- The story -----------------------------------------------------------------------------------------------------

  void Step() {
    struct Kind {
      unsigned weight;
      void (Run::*tell)();
    };
    constexpr auto kKinds = std::to_array<Kind>({{20, &Run::AddWorkload},
                                                 {10, &Run::DeleteWorkload},
                                                 {14, &Run::DeletePod},
                                                 {14, &Run::CancelJob},
                                                 {10, &Run::OthersWork},
                                                 {8, &Run::NodeFails},
                                                 {6, &Run::DrainNode},
                                                 {8, &Run::CordonNode},
                                                 {6, &Run::NodeNotReady},
                                                 {12, &Run::SlurmFails},
                                                 {10, &Run::ApiFails},
                                                 {6, &Run::SlurmctldRestarts},
                                                 {8, &Run::SlurmLosesJobs},
                                                 {6, &Run::Preempt},
                                                 {6, &Run::Suspend},
                                                 {8, &Run::StrangerTakesAnId},
                                                 {6, &Run::ForgeLabel},
                                                 {8, &Run::ChangeOrder},
                                                 {6, &Run::Retry},
                                                 {8, &Run::CrashNow},
                                                 {10, &Run::CancelBeforeItStarts}});
    unsigned all = 0;
    for (const Kind& kind : kKinds) all += kind.weight;
    unsigned drawn = unsigned(random_.Below(all));
    for (const Kind& kind : kKinds) {
      if (drawn < kind.weight) {
        (this->*kind.tell)();
        break;
      }
      drawn -= kind.weight;
    }
    Pass(random_.Percent(30) ? Between(0s, 2s) : Between(1s, 60s));
  }

  void AddWorkload() {
    const auto kind = Workload::Kind(random_.Below(6));
    const bool single = kind == Workload::Kind::kBare || kind == Workload::Kind::kReplicas;
    const int size = 1 + int(random_.Below(single ? 2 : 3));
    const bool ends = kind == Workload::Kind::kBare || kind == Workload::Kind::kGang || random_.Percent(40);
    yard_.Add(kind, size, ends ? Between(10s, 120s) : Duration(0));
  }
  Workload* AnyWorkload() {
    std::vector<Workload*> there;
    for (Workload& workload : yard_.workloads())
      if (!workload.deleted) there.push_back(&workload);
    return there.empty() ? nullptr : there[random_.Below(there.size())];
  }
  void DeleteWorkload() {
    if (Workload* workload = AnyWorkload()) yard_.Delete(*workload);
  }
  std::optional<Pod> AnyPod() {
    std::vector<Pod> pods = yard_.Pods();
    std::erase_if(pods, [](const Pod& pod) { return pod.HasEnded() || pod.metadata.deleting(); });
    if (pods.empty()) return std::nullopt;
    return pods[random_.Below(pods.size())];
  }
  void DeletePod() {
    const auto pod = AnyPod();
    if (!pod) return;
    yard_.Say("a user deletes " + pod->metadata.name);
    yard_.api.Remove(kube::kPods, pod->key());
  }
  // 0: there is none.
  int64_t AnyJob(bool (*suits)(const slurm::Job&)) {
    std::vector<int64_t> ids;
    for (const auto& [id, job] : yard_.slurm.jobs())
      if (yard_.MarkOf(job) && suits(job)) ids.push_back(id);
    return ids.empty() ? 0 : ids[random_.Below(ids.size())];
  }
  static bool Runs(const slurm::Job& job) { return job.state.Has(JobFlag::kRunning); }
  static bool Waits(const slurm::Job& job) { return job.state.IsPending(); }
  static bool IsThere(const slurm::Job& job) { return !job.state.IsOver(); }
  void CancelJob() { Cancel(AnyJob(&IsThere)); }
  void CancelBeforeItStarts() {
    AddWorkload();
    for (int i = 0; i < 100 && AnyJob(&Waits) == 0; ++i) Pass(50ms);
    Cancel(AnyJob(&Waits));
  }
  void Cancel(int64_t id) {
    if (id == 0) return;
    yard_.Say("a person cancels job " + std::to_string(id));
    yard_.slurm.CancelJob(id);
  }
  void OthersWork() {
    const std::string node = Yard::SlurmNode(AnyNode());
    if (yard_.slurm.StartJob({.nodes = {node}, .user = "ada", .runs_for = Between(5s, 90s)}))
      yard_.Say("a job of ada's runs on " + node);
  }
  const std::string& AnyNode() { return yard_.nodes()[random_.Below(yard_.nodes().size())]; }
  void NodeFails() {
    const std::string node = Yard::SlurmNode(AnyNode());
    yard_.Say(node + " is set down");
    yard_.slurm.UpdateNodes({node}, {.state = "DOWN", .reason = "a person"});
    yard_.After(Between(5s, 90s), [this, node] { yard_.slurm.UpdateNodes({node}, {.state = "RESUME"}); });
  }
  void DrainNode() {
    const std::string node = Yard::SlurmNode(AnyNode());
    yard_.Say(node + " is drained");
    yard_.slurm.UpdateNodes({node}, {.state = "DRAIN", .reason = "a person"});
    yard_.After(Between(5s, 90s), [this, node] { yard_.slurm.UpdateNodes({node}, {.state = "RESUME"}); });
  }
  void CordonNode() {
    const std::string node = AnyNode();
    yard_.Cordon(node, true);
    yard_.After(random_.Percent(70) ? Between(1s, 2min) : Between(5min, 8min),
                [this, node] { yard_.Cordon(node, false); });
  }
  void NodeNotReady() {
    const std::string node = AnyNode();
    yard_.Say(node + " is not ready");
    yard_.SetReady(node, false);
    yard_.After(Between(1s, 90s), [this, node] { yard_.SetReady(node, true); });
  }
  void SlurmFails() {
    constexpr auto kFaults = std::to_array<Fault>({Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kHang,
                                                   Fault::kLostAnswer, Fault::kLate, Fault::kCutOff, Fault::kGarbage});
    yard_.fault = {kFaults[random_.Below(kFaults.size())], unsigned(20 + random_.Below(81))};
    yard_.Say("slurmrestd has fault " + std::to_string(int(yard_.fault.kind)));
    yard_.After(Between(1s, 60s), [this] {
      yard_.fault = {};
      yard_.Say("slurmrestd is well");
    });
  }
  void ApiFails() {
    auto& faults = yard_.api.faults;
    const unsigned percent = unsigned(10 + random_.Below(60));
    switch (random_.Below(6)) {
      case 0:
        faults.refused = percent;
        break;
      case 1:
        faults.throttled = percent;
        break;
      case 2:
        faults.lost_answer = percent;
        break;
      case 3:
        faults.lag_watch = percent;
        break;
      case 4:
        faults.mute_watch = 5;
        break;
      default:
        faults.cut_watch = percent;
        break;
    }
    yard_.Say("the API server has faults");
    yard_.After(Between(1s, 60s), [this] {
      yard_.api.faults = {};
      yard_.api.CutWatches();
      yard_.Say("the API server is well");
    });
  }
  void SlurmctldRestarts() {
    yard_.Say("slurmctld stops");
    yard_.slurm.StopController();
    yard_.After(Between(1s, 40s), [this] {
      yard_.Say("slurmctld starts");
      yard_.slurm.StartController();
    });
  }
  void SlurmLosesJobs() {
    const bool all = random_.Percent(50);
    std::vector<int64_t> lost;
    for (const auto& [id, job] : yard_.slurm.jobs())
      if (all || random_.Percent(30)) lost.push_back(id);
    for (const int64_t id : lost) yard_.slurm.ForgetJob(id);
    yard_.has_lost_jobs = true;
    yard_.Say("slurmctld loses " + std::to_string(lost.size()) + " jobs");
  }
  void Preempt() {
    const int64_t id = AnyJob(&Runs);
    if (id == 0) return;
    yard_.Say("job " + std::to_string(id) + " is preempted");
    yard_.slurm.WarnOfPreemption(id);
    yard_.After(Between(20s, 60s), [this, id] {
      const auto job = yard_.slurm.jobs().find(id);
      if (job != yard_.slurm.jobs().end() && Runs(job->second)) yard_.slurm.EndJobAs(id, JobFlag::kPreempted);
    });
  }
  void Suspend() {
    const int64_t id = AnyJob(&Runs);
    if (id == 0 || !yard_.slurm.SuspendJob(id)) return;
    yard_.Say("job " + std::to_string(id) + " is suspended");
    yard_.After(Between(1s, 60s), [this, id] { Resume(id); });
  }
  // Once its nodes are free again.
  void Resume(int64_t id) {
    const auto job = yard_.slurm.jobs().find(id);
    if (job == yard_.slurm.jobs().end() || !job->second.state.Has(JobFlag::kSuspended)) return;
    if (!yard_.slurm.ResumeJob(id)) yard_.After(10s, [this, id] { Resume(id); });
  }
  // A job of somebody else's, with or without a comment, under the id of an attempt to come.
  void StrangerTakesAnId() {
    const auto pod = AnyPod();
    if (!pod) return;
    const int64_t own = group::JobIdOf(*pod);
    const int attempt = own == 0 ? 1 : group::AttemptOf(*pod) + 1;
    const int64_t id = JobId(yard_.cluster(), pod->metadata.uid, attempt, yard_.settings.first_id, yard_.settings.ids);
    if (yard_.slurm.SubmitJob({.id = id, .name = "strangers", .admin_comment = random_.Percent(50) ? "" : "theirs"}))
      return;
    if (own > 0 && pod->HasGate(kGate) && random_.Percent(70)) yard_.slurm.EndJobAs(own, JobFlag::kNodeFail);
    yard_.Say("a stranger submits job " + std::to_string(id));
    yard_.After(Between(30s, 3min), [this, id] {
      const auto job = yard_.slurm.jobs().find(id);
      if (job != yard_.slurm.jobs().end() && job->second.name == "strangers" && IsThere(job->second))
        yard_.slurm.CancelJob(id);
    });
  }
  // A pod that says that another's job is its own.
  void ForgeLabel() {
    const int64_t id = AnyJob(&IsThere);
    if (id == 0) return;
    yard_.Say("a user forges the id " + std::to_string(id));
    const std::string name = "forged-" + std::to_string(++forged_);
    yard_.api.Put(kube::kPods,
                  R"({"metadata":{"namespace":"others","name":")" + name + R"(","labels":{"capstan.dev/bridged":")" +
                      yard_.settings.bridge + R"(","scheduler.slinky.slurm.net/slurm-jobid":")" + std::to_string(id) +
                      R"("}},"spec":{"schedulingGates":[{"name":"capstan.dev/slurm"}],"containers":[{"name":"c"}]}})");
    yard_.After(Between(5s, 60s), [this, name] { yard_.api.Remove(kube::kPods, {"others", name}); });
  }
  void ChangeOrder() {
    if (Workload* workload = AnyWorkload())
      yard_.Annotate(*workload, std::string(kJobAnnotations) + "timelimit", std::to_string(60 + random_.Below(3)));
  }
  void Retry() {
    if (Workload* workload = AnyWorkload()) yard_.Annotate(*workload, std::string(kRetry), std::to_string(++retries_));
  }
  void CrashNow() { Crash(); }

  // --- Its end -------------------------------------------------------------------------------------------------------

  void Settle() {
    Pass(9min);  // whatever disturbs ends by itself
    yard_.Say("nothing disturbs any more");
    std::optional<std::string> unmatched;
    const bool matched = PassUntil(
        [&] {
          unmatched = rules_.Unmatched();
          return !unmatched;
        },
        kConvergeTimeout);
    if (!matched && unmatched) Fail(*unmatched);
  }

  // Pods that run for a while are not at rest.
  void BeQuiet() {
    for (const Workload& workload : yard_.workloads())
      if (!workload.deleted && workload.runs_for > Duration(0)) return;
    for (const auto& [id, job] : yard_.slurm.jobs())
      if (!job.state.IsOver() && job.time_limit) return;
    Pass(2min);
    const int writes = rules_.writes();
    Pass(kRest);
    if (rules_.writes() != writes) Fail("the bridge writes at rest");
  }

  void End() {
    for (Workload& workload : yard_.workloads()) yard_.Delete(workload);
    const auto over = [this] {
      return std::ranges::none_of(yard_.slurm.jobs(), [&](const auto& entry) {
        return yard_.MarkOf(entry.second) && !entry.second.state.IsOver();
      });
    };
    if (!PassUntil(over, kEndTimeout)) Fail("S9: jobs are left when all pods are gone");
  }

  const RunOptions options_;
  Random random_;
  Yard yard_;
  Rules rules_;
  std::optional<std::string> failure_;
  std::unique_ptr<Process> process_;
  bool crash_ = false;
  int forged_ = 0, retries_ = 0;
};

}  // namespace

Outcome RunStory(const RunOptions& options) { return Run(options).Go(); }

Outcome RunSeed(const RunOptions& options) {
  RunOptions own = options;
  if (options.seed % 2 == 1) own.crash_after = 1 + int(Random(options.seed).Below(kUsualWrites));
  return RunStory(own);
}

}  // namespace capstan::sim::bridge
