#include "run.h"

#include <algorithm>
#include <array>

#include "api/nodeset.h"
#include "base/hash.h"
#include "cluster.h"
#include "operator.h"
#include "rules.h"

namespace capstan::sim {
namespace {

using json::Value;
using slurm::testing::Fault;

// Until everything must be as wanted, once nothing disturbs any more: a worker whose record is lost is replaced after 16
// minutes, of which an operator that crashes waits ten anew; and the new one may take some minutes to start.
constexpr Duration kConvergeTimeout = 40min;
constexpr Duration kHealing = 200s;    // until a watch that has gone mute is noticed, and read anew
constexpr Duration kWholeList = 330s;  // until Slurm's nodes are read whole, whatever its clock says
constexpr Duration kRest = 10min;      // in which then nothing may be written
constexpr Duration kNews = 20s;        // until the operator has asked Slurm again at rest, and said what it heard
constexpr Duration kLookInterval = 2s;
constexpr uint64_t kUsualWrites = 50;  // of the operator in one story
constexpr auto kPersonsReason = "person: look at the disk";

class Run {
 public:
  explicit Run(const RunOptions& options)
      : options_(options),
        random_(options.seed * 0x9e3779b97f4a7c15 + 1),
        cluster_(random_.Next(), {.machines = 2 + int(random_.Below(4)), .share_machines = random_.Percent(50)},
                 options.echo),
        rules_(cluster_) {
    rules_.on_write = [this] { AfterWrite(); };
  }

  Outcome Go() {
    cluster_.Install(1 + int(random_.Below(uint64_t(cluster_.options.machines))));
    StartOperator();
    Pass(Between(5s, 40s));
    const int steps = 3 + int(random_.Below(5));
    for (int i = 0; i < steps && !Over(); ++i) Step();
    Settle();
    BeQuiet();
    End();
    operator_.reset();
    return {failure_, rules_.writes(), cluster_.story.lines(), Fingerprint()};
  }

 private:
  Duration Between(Duration least, Duration most) {
    return least + Duration(int64_t(random_.Below(uint64_t((most - least).count()) + 1)));
  }
  bool Over() const { return failure_.has_value(); }
  void Fail(const std::string& what) {
    if (failure_) return;
    failure_ = what;
    cluster_.story.Add("FAILED: " + what);
  }

  uint64_t Fingerprint() {
    uint64_t print = rules_.fingerprint();
    for (const std::string& line : cluster_.story.lines()) print = Fnv64(line, print + 1);
    for (const auto& [table, objects] : cluster_.api.objects().MakeBackup().objects) {
      for (const auto& [key, object] : objects) print = Fnv64(json::Serialize(*object), print + 1);
    }
    return print;
  }

  // --- The operator's lives ------------------------------------------------------------------------------------------

  void StartOperator() {
    cluster_.story.Add("the operator starts");
    operator_ = std::make_unique<Operator>(cluster_, ReconcilersWith(options_.broken), random_.Next());
  }

  void AfterWrite() {
    if (rules_.writes() != options_.crash_after) return;
    if (options_.before_answer) {
      crash_ = true;
      cluster_.connected = false;
    } else {
      cluster_.After(20ms, [this] { crash_ = true; });
    }
  }

  void Crash() {
    crash_ = false;
    cluster_.story.Add("the operator crashes");
    operator_.reset();
    cluster_.After(Between(0s, 20s), [this] { StartOperator(); });
  }

  // --- Time ----------------------------------------------------------------------------------------------------------

  void Pass(Duration duration) {
    const Tick end = cluster_.loop.Now() + duration;
    while (cluster_.loop.Now() < end && !Over()) {
      const Tick next_look = std::min(end, cluster_.loop.Now() + kLookInterval);
      cluster_.loop.RunUntil([this] { return crash_ || rules_.broken(); }, next_look - cluster_.loop.Now());
      if (crash_) {
        Crash();
      } else if (!rules_.broken()) {
        cluster_.loop.Advance(next_look - cluster_.loop.Now());  // nothing is due until then
      }
      rules_.Look();
      if (rules_.broken()) Fail(*rules_.broken());
    }
  }

  // Until `done`, looking now and then; false when `limit` has passed.
  bool PassUntil(const std::function<bool()>& done, Duration limit) {
    const Tick end = cluster_.loop.Now() + limit;
    while (!Over() && !done()) {
      if (cluster_.loop.Now() >= end) return false;
      Pass(kLookInterval);
    }
    return true;
  }

  // --- The story -----------------------------------------------------------------------------------------------------

  void Step() {
    struct Kind {
      unsigned weight;
      void (Run::*tell)();
    };
    constexpr auto kKinds = std::to_array<Kind>({{24, &Run::ScaleSet},
                                                 {18, &Run::SubmitJobs},
                                                 {8, &Run::DeleteWorker},
                                                 {5, &Run::FailWorker},
                                                 {12, &Run::PersonActs},
                                                 {10, &Run::SlurmFails},
                                                 {5, &Run::SlurmctldRestarts},
                                                 {8, &Run::ApiFails},
                                                 {3, &Run::ClockJumps},
                                                 {18, &Run::RushIn},
                                                 {8, &Run::CordonMachine},
                                                 {6, &Run::DeleteSet},
                                                 {8, &Run::SuspendJobs},
                                                 {8, &Run::ChangeOfMind}});
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
    Pass(random_.Percent(30) ? Between(0s, 2s) : Between(1s, 45s));
  }

  std::string AnyWorker() {
    const std::vector<std::string> workers = cluster_.Workers();
    return workers.empty() ? "" : workers[random_.Below(workers.size())];
  }

  void ScaleSet() { cluster_.Scale(int(random_.Below(uint64_t(cluster_.options.machines) + 2))); }

  void SubmitJobs() {
    for (uint64_t left = 1 + random_.Below(4); left > 0; --left) cluster_.Submit(Between(5s, 150s));
    if (random_.Percent(60)) Pass(Between(1s, 4s)), ScaleSet();
  }

  void DeleteWorker() {
    if (const std::string worker = AnyWorker(); !worker.empty()) cluster_.DeletePod(worker);
  }

  void FailWorker() {
    if (const std::string worker = AnyWorker(); !worker.empty()) cluster_.FailPod(worker);
  }

  void PersonActs() {
    const std::string node = AnyWorker();
    if (node.empty()) return;
    switch (random_.Below(6)) {
      case 0:
        return cluster_.UpdateNode(node, "RESUME", "");
      case 3:
        cluster_.UpdateNode(node, "FAIL", random_.Percent(80) ? kPersonsReason : "");
        if (random_.Percent(50)) Pass(Between(1s, 20s)), ScaleSet();
        return;
      case 1:
        return cluster_.UpdateNode(node, "DOWN", kPersonsReason);
      case 2:
        cluster_.UpdateNode(node, "DRAIN", kPersonsReason);
        Pass(Between(1s, 20s));
        return cluster_.Scale(int(random_.Below(uint64_t(std::max(1, cluster_.replicas())))));
      default:
        return cluster_.UpdateNode(node, "DRAIN", kPersonsReason);
    }
  }

  // A person gives a worker back, a job gets there, and scale-in comes while slurmrestd tells old stories.
  void RushIn() {
    const std::vector<std::string> workers = cluster_.Workers();
    if (workers.empty()) return;
    cluster_.UpdateNode(workers.back(), "DRAIN", kPersonsReason);
    Pass(Between(16s, 30s));
    if (random_.Percent(60))
      BeginSlurmFault(random_.Percent(50) ? Fault::kHang : Fault::kRefused, 100, Between(10s, 40s));
    cluster_.UpdateNode(workers.back(), "RESUME", "");
    cluster_.Submit(Between(40s, 90s), workers.back());
    Pass(Between(1s, 6s));
    cluster_.Scale(int(random_.Below(uint64_t(std::max(1, cluster_.replicas())))));
  }

  // A suspended job's node is IDLE, and a scale-in comes.
  void SuspendJobs() {
    if (random_.Percent(60)) {
      for (const std::string& worker : cluster_.Workers()) cluster_.Submit(Between(20s, 90s), worker);
      Pass(Between(1s, 4s));
    }
    for (uint64_t left = 1 + random_.Below(3); left > 0; --left) cluster_.SuspendSome(Between(5s, 2min));
    Pass(Between(0s, 5s));
    if (random_.Percent(60)) ScaleSet();
    if (random_.Percent(30)) CordonMachine();
  }

  // Workers are drained, wanted again, and are too many once more before slurmctld hears that they were wanted.
  void ChangeOfMind() {
    const int replicas = cluster_.replicas();
    for (const std::string& worker : cluster_.Workers()) cluster_.Submit(Between(3s, 10s), worker);
    Pass(Between(2s, 4s));
    cluster_.Scale(0);
    Pass(Between(1s, 4s));
    BeginSlurmFault(Fault::kLate, random_.Percent(50) ? 100 : 50, Between(2s, 6s));
    cluster_.Scale(replicas);
    Pass(Between(500ms, 3s));
    cluster_.Scale(int(random_.Below(uint64_t(std::max(1, replicas)))));
    for (const std::string& worker : cluster_.Workers()) cluster_.Submit(Between(20s, 60s), worker);
    Pass(Between(2s, 12s));
  }

  void CordonMachine() {
    const std::string machine = "k" + std::to_string(random_.Below(uint64_t(cluster_.options.machines)));
    cluster_.Cordon(machine);
    cluster_.After(Between(10s, 2min), [this, machine] { cluster_.Uncordon(machine); });
  }

  // In all the ways that there are; and some time later, perhaps, it is wanted again.
  void DeleteSet() {
    if (random_.Percent(50)) cluster_.Submit(Between(5s, 150s)), Pass(Between(1s, 4s));
    switch (random_.Below(8)) {
      case 0:
        cluster_.TearDown();
        break;
      case 1:
        cluster_.DeleteSet("Foreground");
        break;
      case 2:
        cluster_.DeleteSet("Orphan");
        break;
      case 3:
        cluster_.DeleteSet("Background");
        Pass(Between(0s, 20s));
        cluster_.ForceDeletion();
        break;
      case 4:
        BeginSlurmFault(random_.Percent(50) ? Fault::kHang : Fault::kRefused, 100, Between(5min, 15min));
        cluster_.DeleteSet("Background");
        Pass(Between(5min, 15min));
        break;
      default:
        cluster_.DeleteSet("Background");
    }
    Pass(Between(1s, 1min));
    if (cluster_.SetIsGone() && random_.Percent(60)) Reinstall();
  }

  void Reinstall() {
    cluster_.story.Add("user: install it again");
    cluster_.Install(1 + int(random_.Below(uint64_t(cluster_.options.machines))));
    Pass(5s);
  }

  void BeginSlurmFault(Fault kind, unsigned percent, Duration lasts) {
    cluster_.story.Add("slurmrestd: fault " + std::to_string(int(kind)) + " for " + std::to_string(percent) +
                       "% of requests");
    cluster_.SetSlurmFault({kind, percent});
    cluster_.After(lasts, [this] { cluster_.SetSlurmFault({}); });
  }

  void SlurmFails() {
    constexpr auto kFaults = std::to_array<Fault>({Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kHang,
                                                   Fault::kLostAnswer, Fault::kLate, Fault::kCutOff, Fault::kGarbage});
    if (random_.Percent(20)) {
      const Duration latency = Between(100ms, 4s);
      cluster_.story.Add("slurmrestd: slow");
      cluster_.rest.SetLatency(latency);
      cluster_.After(Between(10s, 60s), [this] { cluster_.rest.SetLatency(2ms); });
      if (random_.Percent(50)) ScaleSet();
      return;
    }
    BeginSlurmFault(kFaults[random_.Below(kFaults.size())], random_.Percent(50) ? 100 : 40, Between(5s, 60s));
    if (random_.Percent(50)) ScaleSet();
  }

  void SlurmctldRestarts() { cluster_.RestartSlurmctld(Between(1s, 40s), random_.Percent(30)); }

  void ApiFails() {
    auto& faults = cluster_.api.faults;
    cluster_.story.Add("API server: faults");
    const std::array<unsigned*, 9> all = {&faults.refused,    &faults.throttled,   &faults.unavailable,
                                          &faults.slow,       &faults.lost_answer, &faults.cut_watch,
                                          &faults.mute_watch, &faults.lag_watch,   &faults.lost_history};
    for (uint64_t left = 1 + random_.Below(3); left > 0; --left)
      *all[random_.Below(all.size())] = 5 + unsigned(random_.Below(30));
    if (random_.Percent(20)) cluster_.api.CutWatches(random_.Percent(50));
    cluster_.After(Between(5s, 90s), [this] { cluster_.api.faults = {}; });
    if (random_.Percent(60)) ScaleSet();
  }

  void ClockJumps() {
    const auto jump = random_.Percent(50) ? Between(1s, 2h) : -Between(1s, 2h);
    cluster_.story.Add("the wall clock jumps by " + std::to_string(jump / 1s) + " s");
    cluster_.loop.JumpWallClock(jump);
    clock_jumped_ = true;
  }

  // --- The end -------------------------------------------------------------------------------------------------------

  void Settle() {
    if (Over()) return;
    cluster_.story.Add("nothing disturbs any more");
    cluster_.api.faults = {};
    cluster_.SetSlurmFault({});
    cluster_.rest.SetLatency(2ms);
    cluster_.CancelQueue();
    for (const std::string& machine : std::set(cluster_.cordoned())) cluster_.Uncordon(machine);
    cluster_.ResumeAll();
    BringBack();
    cluster_.Scale(1 + int(random_.Below(uint64_t(cluster_.options.machines))));
    if (random_.Percent(50)) {
      for (const std::string& node : cluster_.Workers()) {
        if (cluster_.slurm.NodeNamed(node)) cluster_.UpdateNode(node, "RESUME", "");
      }
    }
    std::optional<std::string> wrong;
    const auto settled = [&] {
      wrong = cluster_.JobsLeft() ? "jobs still run" : rules_.Unmatched();
      return !wrong;
    };
    // A job that slurmctld takes over after its clock was put back runs for so much longer.
    PassUntil([&] { return !cluster_.JobsLeft(); }, 3h);
    Pass(clock_jumped_ ? kWholeList : kHealing);
    if (!PassUntil(settled, kConvergeTimeout))
      Fail("not as wanted after " + FormatDuration(kConvergeTimeout) + ": " + *wrong);
  }

  // A NodeSet that was deleted goes, and comes again.
  void BringBack() {
    PassUntil([&] { return !cluster_.JobsLeft(); }, 3h);
    const Value* set = cluster_.api.Find(api::NodeSet::kResource, kSet);
    const bool deleting = set != nullptr && json::Find(*set, {"metadata", "deletionTimestamp"}) != nullptr;
    if (deleting && !PassUntil([&] { return cluster_.SetIsGone(); }, kConvergeTimeout)) Fail(*rules_.Left());
    if (cluster_.SetIsGone()) Reinstall();
  }

  // One more thing that a user does, with nothing else going on.
  void End() {
    if (Over()) return;
    switch (random_.Below(5)) {
      case 0:
        return ScaleInIdle();
      case 1:
        return CordonIdle();
      case 2:
        return DeleteBusy();
      case 3:
        return ScaleInBusy();
      default:
        return;
    }
  }

  void Await(const std::function<std::optional<std::string>()>& wrong) {
    std::optional<std::string> last;
    const auto done = [&] { return !(last = wrong()); };
    if (!PassUntil(done, kConvergeTimeout))
      Fail("not as wanted after " + FormatDuration(kConvergeTimeout) + ": " + *last);
  }

  // Of workers without jobs, those of the highest ordinals go.
  void ScaleInIdle() {
    std::vector<std::string> stay = cluster_.Workers();  // nine at most, so by ordinal
    stay.resize(random_.Below(stay.size() + 1));
    cluster_.Scale(int(stay.size()));
    Pass(5s);
    Await([this] { return rules_.Unmatched(); });
    if (cluster_.Workers() != stay) Fail("scale-in to " + std::to_string(stay.size()) + " has left others");
  }

  // Of workers with jobs, those go whose jobs end first; before them go those without.
  void ScaleInBusy() {
    for (const std::string& worker : cluster_.Workers()) cluster_.Submit(Between(1h, 8h), worker);
    Pass(5s);
    cluster_.CancelQueue();
    struct Busy {
      Time end;
      std::string node;
      int64_t job;
    };
    std::vector<Busy> busy;
    for (const auto& [id, job] : cluster_.slurm.jobs()) {
      if (job.state.Has(slurm::JobFlag::kRunning)) busy.push_back({*job.start_time + *job.time_limit, job.nodes, id});
    }
    // Equal ends leave it to the ordinal.
    std::ranges::sort(busy,
                      [](const Busy& a, const Busy& b) { return a.end != b.end ? a.end > b.end : a.node < b.node; });
    const size_t stay = busy.size() < 2 ? 0 : 1 + random_.Below(busy.size() - 1);
    cluster_.Scale(int(stay));
    Await([&]() -> std::optional<std::string> {
      for (size_t i = 0; i < busy.size(); ++i) {
        const auto node = cluster_.slurm.NodeNamed(busy[i].node);
        const bool goes = !node || node->state.IsDraining();
        if (goes != (i >= stay)) return busy[i].node + (goes ? " goes" : " stays");
      }
      return std::nullopt;
    });
    for (const Busy& one : busy) cluster_.slurm.FinishJob(one.job);
    Pass(30s);
    Await([this] { return rules_.Unmatched(); });
  }

  void CordonIdle() {
    const std::string machine = cluster_.MachineOf(AnyWorker());
    cluster_.Cordon(machine);
    Pass(5s);
    Await([this] { return rules_.Unmatched(); });
    cluster_.Uncordon(machine);
    Pass(5s);
    Await([this] { return rules_.Unmatched(); });
  }

  void DeleteBusy() {
    for (uint64_t left = random_.Below(4); left > 0; --left) cluster_.Submit(Between(5s, 5min));
    Pass(Between(1s, 10s));
    cluster_.DeleteSet("Background");
    cluster_.CancelQueue();
    Await([this] { return rules_.Left(); });
  }

  void BeQuiet() {
    if (Over()) return;
    cluster_.story.Add("everything is as wanted");
    Pass(kNews);
    const int before = rules_.writes();
    Pass(kRest);
    if (Over()) return;
    if (rules_.writes() != before)
      Fail(std::to_string(rules_.writes() - before) + " writes although nothing happens any more");
    if (const auto wrong = rules_.Unmatched()) Fail("it did not stay as wanted: " + *wrong);
  }

  const RunOptions options_;
  Random random_;
  Cluster cluster_;
  Rules rules_;
  std::unique_ptr<Operator> operator_;
  std::optional<std::string> failure_;
  bool crash_ = false;
  bool clock_jumped_ = false;
};

}  // namespace

Outcome RunStory(const RunOptions& options) { return Run(options).Go(); }

Outcome RunSeed(const RunOptions& options, bool everywhere, int& runs) {
  RunOptions crash = options;
  Random random(options.seed);
  if (!everywhere && options.seed % 2 == 1) {
    crash.crash_after = 1 + int(random.Below(kUsualWrites));
    crash.before_answer = random.Percent(50);
  }
  ++runs;
  Outcome outcome = RunStory(crash);
  const int writes = everywhere ? outcome.writes : 0;
  for (int place = 0; place < 2 * writes && !outcome.failure; ++place, ++runs) {
    crash.crash_after = 1 + place / 2;
    crash.before_answer = place % 2 == 0;
    outcome = RunStory(crash);
  }
  if (outcome.failure && crash.crash_after > 0) {
    outcome.failure = "with a crash " + std::string(crash.before_answer ? "before" : "after") +
                      " the answer to write " + std::to_string(crash.crash_after) + ": " + *outcome.failure;
  }
  return outcome;
}

}  // namespace capstan::sim
