#include "run.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "api/nodeset.h"
#include "base/hash.h"
#include "machines.h"
#include "operator.h"
#include "operator/nodeset/contract.h"
#include "plan/slurm/clusters.h"
#include "root_volumes.h"
#include "rules.h"
#include "set_story.h"
#include "site.h"

namespace capstan::sim {
namespace {

using json::Value;
using slurm::testing::Fault;

// Until everything must be as wanted, once nothing disturbs any more: a worker whose record is lost is replaced after 16
// minutes, of which an operator that crashes waits ten anew; and the new one may take some minutes to start.
constexpr Duration kConvergeTimeout = 40min;
// The same for one more change while all is at rest: workers stop within half a minute, and Slurm's nodes are read four
// times a minute. Who waits for the look that comes every five minutes is too late.
constexpr Duration kIdleTimeout = 90s;
constexpr Duration kWholeList = 330s;  // until Slurm's nodes are read whole, whatever its clock says
constexpr Duration kRest = 10min;      // in which then nothing may be written
constexpr Duration kNews = 20s;        // until the operator has asked Slurm again at rest, and said what it heard
constexpr Duration kLookInterval = 2s;
constexpr Duration kLatency = 2ms;     // of slurmrestd
constexpr uint64_t kUsualWrites = 50;  // of the operator in one story
constexpr auto kPersonsReason = "person: look at the disk";

// Which clusters there are, and which NodeSets in each. Half of all runs have one of each; the others may have two
// clusters of one name in two namespaces, or in one namespace NodeSets of which one is called like a worker of another.
struct Layout {
  struct OneSet {
    std::string name;
    int most;  // workers
    bool names_replicas = false;
    bool on_demand = false;  // it may be, now and then
  };
  struct Cluster {
    kube::Key key;
    std::vector<OneSet> sets;
    bool one_object = false;  // a SlurmCluster
    bool has_root = false;    // with a shared root
  };
  std::vector<Cluster> clusters;

  Layout(uint64_t seed, int most) {
    Random random(seed * 0xd1342543de82ef95 + 3);
    clusters = {{{"slurm", "main"}, {}}};
    if (random.Percent(50))
      clusters[0].sets = {{"w", most}};
    else
      AddMore(random);
    Random again(seed * 0x9e3779b97f4a7c15 + 5);
    for (Cluster& cluster : clusters) {
      cluster.one_object = again.Percent(30);
      cluster.has_root = cluster.one_object && again.Percent(60);
      for (OneSet& set : cluster.sets) set.names_replicas = cluster.one_object && again.Percent(40);
    }
    Random power(seed * 0xbf58476d1ce4e5b9 + 7);
    for (Cluster& cluster : clusters) {
      for (OneSet& set : cluster.sets) set.on_demand = power.Percent(25) && !cluster.one_object;
    }
  }

  void AddMore(Random& random) {
    std::vector<kube::Key> others = {{"other", "main"}, {"slurm", "second"}};
    if (random.Percent(50)) std::swap(others[0], others[1]);
    others.resize(random.Below(3));
    for (const kube::Key& key : others) clusters.push_back({key, {}});
    const size_t sets = std::max(clusters.size(), size_t(1 + random.Below(4)));
    std::map<std::string, std::vector<std::string>> names;  // that are left, by namespace
    for (size_t i = 0; i < sets; ++i) {
      Cluster& cluster = clusters[i < clusters.size() ? i : random.Below(clusters.size())];
      // Each might be taken for a worker of another; none is called as one that is wanted, which Slurm would not let register.
      auto& left = names.try_emplace(cluster.key.ns, std::vector<std::string>{"v", "w-7-7", "w-7", "w"}).first->second;
      cluster.sets.push_back({left.back(), 1 + int(random.Below(3))});
      left.pop_back();
    }
  }

  // So that all workers find a place, also when no two of a namespace share a machine.
  int machines() const {
    std::map<std::string, int> workers;
    for (const Cluster& cluster : clusters) {
      for (const OneSet& set : cluster.sets) workers[cluster.key.ns] += set.most;
    }
    return std::ranges::max(workers | std::views::values);
  }
};

class Run {
 public:
  explicit Run(const RunOptions& options) : options_(options), random_(Random(options.seed).Next()) {
    const uint64_t seed = random_.Next();
    const Layout layout(options.seed, 2 + int(random_.Below(4)));
    const bool share = random_.Percent(50);
    machines_ = std::make_unique<Machines>(
        seed, Machines::Options{.machines = layout.machines(), .share_machines = share}, options.echo);
    for (const Layout::Cluster& cluster : layout.clusters) {
      Site* site = sites_.emplace_back(std::make_unique<Site>(*machines_, cluster.key, cluster.one_object)).get();
      if (site->cluster) site->cluster->has_root = cluster.has_root;
      for (const Layout::OneSet& set : cluster.sets) {
        sets_.push_back(std::make_unique<SetStory>(*site, set.name, set.most));
        sets_.back()->names_replicas = set.names_replicas;
        sets_.back()->may_be_on_demand = set.on_demand;
      }
    }
    volumes_ = std::make_unique<RootVolumes>(*machines_);
    std::map<std::string, int> in_namespace;
    for (const auto& set : sets_) ++in_namespace[set->key.ns];
    for (const auto& set : sets_) {
      set->may_be_daemon = in_namespace[set->key.ns] == 1 && !set->may_be_on_demand;
      set->host_network = !share && random_.Percent(25) && !set->may_be_on_demand;
    }
    std::vector<Site*> sites;
    for (const auto& site : sites_) sites.push_back(site.get());
    rules_ = std::make_unique<Rules>(*machines_, sites, plan::RightsOf(ReconcilersWith(options.broken)));
    rules_->on_write = [this] { AfterWrite(); };
  }

  Outcome Go() {
    for (const auto& set : sets_) set->Install(1 + int(random_.Below(uint64_t(set->most))));
    StartOperator();
    Pass(Between(5s, 40s));
    const int steps = 3 + int(random_.Below(5));
    for (int i = 0; i < steps && !Over(); ++i) Step();
    Settle();
    BeQuiet();
    End();
    operator_.reset();
    return {failure_, rules_->writes(), machines_->story.lines(), Fingerprint()};
  }

 private:
  Duration Between(Duration least, Duration most) {
    return least + Duration(int64_t(random_.Below(uint64_t((most - least).count()) + 1)));
  }
  bool Over() const { return failure_.has_value(); }
  void Fail(const std::string& what) {
    if (failure_) return;
    failure_ = what;
    machines_->story.Add("FAILED: " + what);
  }

  uint64_t Fingerprint() {
    uint64_t print = rules_->fingerprint();
    for (const std::string& line : machines_->story.lines()) print = Fnv64(line, print + 1);
    for (const auto& [table, objects] : machines_->api.objects().MakeBackup().objects) {
      for (const auto& [key, object] : objects) print = Fnv64(json::Serialize(*object), print + 1);
    }
    return print;
  }

  // --- The operator's lives ------------------------------------------------------------------------------------------

  void StartOperator() {
    machines_->story.Add("the operator starts");
    started_ = machines_->loop.Now();
    operator_ = std::make_unique<Operator>(*machines_, *rules_, ReconcilersWith(options_.broken), random_.Next());
  }

  void AfterWrite() {
    if (rules_->writes() != options_.crash_after) return;
    if (options_.before_answer) {
      crash_ = true;
      machines_->connected = false;
    } else {
      machines_->After(20ms, [this] { crash_ = true; });
    }
  }

  void Crash() {
    crash_ = false;
    machines_->story.Add("the operator crashes");
    operator_.reset();
    machines_->After(Between(0s, 20s), [this] { StartOperator(); });
  }

  // --- Time ----------------------------------------------------------------------------------------------------------

  void Pass(Duration duration) {
    const Tick end = machines_->loop.Now() + duration;
    while (machines_->loop.Now() < end && !Over()) {
      const Tick next_look = std::min(end, machines_->loop.Now() + kLookInterval);
      machines_->loop.RunUntil([this] { return crash_ || rules_->broken(); }, next_look - machines_->loop.Now());
      if (crash_) {
        Crash();
      } else if (!rules_->broken()) {
        machines_->loop.Advance(next_look - machines_->loop.Now());  // nothing is due until then
      }
      rules_->Look();
      if (rules_->broken()) Fail(*rules_->broken());
      if (volumes_->broken()) Fail(*volumes_->broken());
    }
  }

  // Until `done`, looking now and then; false when `limit` has passed.
  bool PassUntil(const std::function<bool()>& done, Duration limit) {
    const Tick end = machines_->loop.Now() + limit;
    while (!Over() && !done()) {
      if (machines_->loop.Now() >= end) return false;
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
                                                 {10, &Run::LoseMachine},
                                                 {6, &Run::NameOtherwise},
                                                 {6, &Run::DeleteSet},
                                                 {8, &Run::SuspendJobs},
                                                 {8, &Run::ChangeOfMind},
                                                 {5, &Run::AnnotateMachine},
                                                 {12, &Run::ChangeModeOrPool},
                                                 {16, &Run::Update}});
    Choose();
    unsigned all = 0;
    for (const Kind& kind : kKinds) all += kind.weight;
    if (set_->may_be_on_demand && random_.Percent(30)) ChangePower();
    const bool of_cluster = set_->site.cluster && random_.Percent(set_->site.cluster->has_root ? 50 : 25);
    if (of_cluster) ChangeCluster();
    unsigned drawn = of_cluster ? all : unsigned(random_.Below(all));
    for (const Kind& kind : kKinds) {
      if (drawn < kind.weight) {
        (this->*kind.tell)();
        break;
      }
      drawn -= kind.weight;
    }
    Pass(random_.Percent(30) ? Between(0s, 2s) : Between(1s, 45s));
  }

  // Whose user, or whose cluster's, acts next.
  void Choose() { set_ = sets_[sets_.size() == 1 ? 0 : random_.Below(sets_.size())].get(); }

  kube::Key Pod(const std::string& worker) const { return {set_->key.ns, worker}; }

  std::string AnyWorker() {
    const std::vector<std::string> workers = set_->Workers();
    return workers.empty() ? "" : workers[random_.Below(workers.size())];
  }

  void ScaleSet() { set_->Scale(int(random_.Below(uint64_t(set_->most) + 2))); }

  void SubmitJobs() {
    for (uint64_t left = 1 + random_.Below(4); left > 0; --left) set_->site.Submit(Between(5s, 150s));
    if (random_.Percent(60)) Pass(Between(1s, 4s)), ScaleSet();
  }

  void DeleteWorker() {
    if (const std::string worker = AnyWorker(); !worker.empty()) machines_->DeletePod(Pod(worker));
  }

  void FailWorker() {
    if (const std::string worker = AnyWorker(); !worker.empty()) machines_->FailPod(Pod(worker));
  }

  void PersonActs() {
    const std::vector<std::string> hosts = set_->Hosts();
    if (hosts.empty()) return;
    const std::string& node = hosts[random_.Below(hosts.size())];
    switch (random_.Below(6)) {
      case 0:
        return set_->site.UpdateNode(node, "RESUME", "");
      case 3:
        set_->site.UpdateNode(node, "FAIL", random_.Percent(80) ? kPersonsReason : "");
        if (random_.Percent(50)) Pass(Between(1s, 20s)), ScaleSet();
        return;
      case 1:
        return set_->site.UpdateNode(node, "DOWN", kPersonsReason);
      case 2:
        set_->site.UpdateNode(node, "DRAIN", kPersonsReason);
        Pass(Between(1s, 20s));
        return set_->Scale(int(random_.Below(uint64_t(std::max(1, set_->replicas())))));
      default:
        return set_->site.UpdateNode(node, "DRAIN", kPersonsReason);
    }
  }

  // A person gives a worker back, a job gets there, and scale-in comes while slurmrestd tells old stories.
  void RushIn() {
    const std::vector<std::string> workers = set_->Hosts();
    if (workers.empty()) return;
    set_->site.UpdateNode(workers.back(), "DRAIN", kPersonsReason);
    Pass(Between(16s, 30s));
    if (random_.Percent(60))
      BeginSlurmFault(random_.Percent(50) ? Fault::kHang : Fault::kRefused, 100, Between(10s, 40s));
    set_->site.UpdateNode(workers.back(), "RESUME", "");
    set_->site.Submit(Between(40s, 90s), workers.back());
    Pass(Between(1s, 6s));
    set_->Scale(int(random_.Below(uint64_t(std::max(1, set_->replicas())))));
  }

  // A suspended job's node is IDLE, and a scale-in comes.
  void SuspendJobs() {
    if (random_.Percent(60)) {
      for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(20s, 90s), worker);
      Pass(Between(1s, 4s));
    }
    for (uint64_t left = 1 + random_.Below(3); left > 0; --left) set_->site.SuspendSome(Between(5s, 2min));
    Pass(Between(0s, 5s));
    if (random_.Percent(60)) ScaleSet();
    if (random_.Percent(30)) CordonMachine();
  }

  // Workers are drained, wanted again, and are too many once more before slurmctld hears that they were wanted.
  void ChangeOfMind() {
    const int replicas = set_->replicas();
    for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(3s, 10s), worker);
    Pass(Between(2s, 4s));
    set_->Scale(0);
    Pass(Between(1s, 4s));
    BeginSlurmFault(Fault::kLate, random_.Percent(50) ? 100 : 50, Between(2s, 6s));
    set_->Scale(replicas);
    Pass(Between(500ms, 3s));
    set_->Scale(int(random_.Below(uint64_t(std::max(1, replicas)))));
    for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(20s, 60s), worker);
    Pass(Between(2s, 12s));
  }

  void CordonMachine() {
    const std::string machine = AnyMachine();
    machines_->Cordon(machine);
    machines_->After(Between(10s, 2min), [this, machine] { machines_->Uncordon(machine); });
  }

  // By an image or a command of their own, slurmds register by other names, and jobs run there.
  void NameOtherwise() {
    if (set_->may_be_on_demand) return;  // nobody of such a name is waited for
    if (set_->IsGone()) return;
    set_->CallOtherwise(true, random_.Percent(40));
    if (random_.Percent(50)) DeleteWorker();
    set_->Scale(set_->most);
    Pass(Between(20s, 60s));
    for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(15min, 30min), SetStory::kAlias + worker);
    Pass(random_.Percent(40) ? Between(1s, 5min) : Between(10min, 20min));
    set_->CallOtherwise(false);
  }

  // Whoever has named them otherwise deletes them once no job is there.
  void NameAllRightly() {
    for (const auto& set : sets_) set->CallOtherwise(false);
    const auto misnamed = [](const auto& set) { return !set->Misnamed().empty(); };
    if (!std::ranges::any_of(sets_, misnamed)) return;
    PassUntil([&] { return !JobsLeft(); }, 3h);
    for (const auto& set : sets_) {
      for (const std::string& worker : set->Misnamed()) machines_->DeletePod({set->key.ns, worker});
    }
  }

  // It is drained and its Node object deleted, or it goes off without a word, or Kubernetes alone hears no more of it; and some
  // time later it is back.
  void LoseMachine() {
    const std::string machine = AnyMachine();
    if (!machines_->IsThere(machine)) return;
    // Of a slurmd of another name nobody could tell whose jobs it goes on with.
    const bool by_plan = random_.Percent(60), cut_off = !by_plan && set_->Misnamed().empty() && random_.Percent(40);
    if (cut_off) {
      for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(2min, 6min), worker);
      Pass(Between(1s, 4s));
    } else if (random_.Percent(40)) {
      set_->site.Submit(Between(5s, 90s)), Pass(Between(1s, 4s));
    }
    if (by_plan)
      machines_->Cordon(machine);
    else if (cut_off)
      machines_->CutOff(machine);
    else
      machines_->PowerOff(machine);
    Pass(Between(5s, 70s));
    if (random_.Percent(80)) machines_->DeleteNode(machine);
    if (by_plan && random_.Percent(50)) machines_->PowerOff(machine);
    machines_->After(Between(20s, 4min), [this, machine] { machines_->Boot(machine); });
    if (random_.Percent(40)) Pass(Between(1s, 50s)), ScaleSet();
  }

  std::string AnyMachine() { return "k" + std::to_string(random_.Below(uint64_t(machines_->options.machines))); }

  void AnnotateMachine() {
    machines_->Annotate(AnyMachine(), random_.Percent(30) ? "" : "f" + std::to_string(random_.Below(3)));
  }

  // A new template; often with jobs on the workers, and another one before all are renewed.
  void Update() {
    if (set_->IsGone()) return;
    if (random_.Percent(50)) {
      for (const std::string& worker : set_->Hosts()) set_->site.Submit(Between(5s, 90s), worker);
      Pass(Between(0s, 4s));
    }
    if (random_.Percent(40)) set_->UpdateBy(AnyStrategy());
    set_->ChangeTemplate();
    Pass(Between(0s, 30s));
    if (random_.Percent(30)) set_->ChangeTemplate();
    if (random_.Percent(20)) ScaleSet();
  }

  std::string AnyStrategy() {
    const uint64_t drawn = random_.Below(10);
    if (drawn < 2) return R"({"type":"OnDelete"})";
    if (drawn < 6)
      return R"({"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":)" +
             std::string(drawn == 2 ? R"("50%")" : std::to_string(drawn - 2)) + "}}";
    const Time start = machines_->loop.WallNow() + Between(0s, 2min);
    return R"({"type":"ScheduledUpdate","scheduledUpdate":{"startTime":")" + FormatRfc3339(start) +
           R"(","duration":")" + std::to_string(1 + random_.Below(3)) + R"(m"}})";
  }

  // Jobs come before and after, so that nodes are powered up and down while the mode changes.
  void ChangePower() {
    if (random_.Percent(50)) set_->site.Submit(Between(5s, 90s)), Pass(Between(0s, 20s));
    const bool on_demand = random_.Percent(75);
    set_->SetOnDemand(on_demand);
    for (uint64_t left = random_.Below(3); left > 0; --left)
      Pass(Between(1s, 40s)), set_->site.Submit(Between(5s, 60s));
    if (!on_demand || random_.Percent(50)) return;
    for (int round = 0; round < 3; ++round) {  // its nodes are powered down between them
      for (uint64_t left = 1 + random_.Below(3); left > 0; --left) set_->site.Submit(Between(5s, 20s));
      Pass(Between(1min, 3min));
    }
  }

  void ChangeModeOrPool() {
    if (!set_->may_be_daemon) return;
    if (random_.Percent(50)) set_->site.Submit(Between(5s, 90s)), Pass(Between(1s, 4s));
    if (random_.Percent(40)) return set_->SetMode(!set_->IsDaemonSet());
    if (!set_->IsDaemonSet()) set_->SetMode(true), Pass(Between(1s, 30s));
    const std::string machine = AnyMachine();
    machines_->PutInPool(machine, false);
    machines_->After(Between(2s, 2min), [this, machine] { machines_->PutInPool(machine, true); });
    Pass(Between(0s, 20s));
  }

  // A mode, or nobody looks after it for a while.
  void ChangeCluster() {
    ClusterStory& cluster = *set_->site.cluster;
    if (cluster.has_root && random_.Percent(60)) return ChangeRoot();
    if (random_.Percent(50)) set_->site.Submit(Between(5s, 90s)), Pass(Between(0s, 4s));
    switch (random_.Below(4)) {
      case 0:
        cluster.SetPaused(true);
        break;
      case 1:
        cluster.SetMode("Stopped");
        break;
      case 2:
        cluster.SetMode("Maintenance");
        break;
      default:
        cluster.SetMode("Maintenance");
        Pass(Between(2s, 40s));
        for (uint64_t left = random_.Below(3); left > 0; --left) set_->site.Submit(Between(5s, 90s));
        cluster.SetMode("Stopped");
    }
    if (random_.Percent(30)) Pass(Between(0s, 10s)), ScaleSet();
    machines_->After(Between(5s, 4min), [&cluster] { cluster.Run(); });
  }

  // People change their mind, also back to what still counts while a switch away from it is under way.
  void ChangeRoot() {
    ClusterStory& cluster = *set_->site.cluster;
    uint64_t revision = random_.Below(3);
    for (uint64_t left = 1 + random_.Below(6); left > 0 && !cluster.IsGone(); --left) {
      cluster.SetRoot(std::to_string(++revision % 3), random_.Percent(80) ? "/home" : "/srv", int(random_.Below(2)));
      if (random_.Percent(40))
        PassUntil([&] { return !volumes_->Unmatched(); }, 90s);
      else
        PassUntil([&] { return volumes_->IsSwitching(cluster.key); }, Between(0s, 60s));
      Pass(Between(0s, 8s));
    }
  }

  // Its parts go once no job is on its workers.
  void DeleteDrained() {
    Site& site = set_->site;
    site.cluster->SetDeletionPolicy("Drain");
    Pass(Between(1s, 20s));
    if (site.cluster->IsHeld()) site.TearDownDrained();
  }

  // In all the ways that there are; and some time later, perhaps, it is wanted again.
  void DeleteSet() {
    if (random_.Percent(50)) set_->site.Submit(Between(5s, 150s)), Pass(Between(1s, 4s));
    switch (random_.Below(8)) {
      case 0:
        set_->site.TearDown();
        break;
      case 1:
        if (set_->site.cluster)
          DeleteDrained();
        else
          set_->Delete("Foreground");
        break;
      case 2:
        set_->Delete("Orphan");
        break;
      case 3:
        set_->Delete("Background");
        Pass(Between(0s, 20s));
        set_->ForceDeletion();
        break;
      case 4:
        BeginSlurmFault(random_.Percent(50) ? Fault::kHang : Fault::kRefused, 100, Between(5min, 15min));
        set_->Delete("Background");
        Pass(Between(5min, 15min));
        break;
      default:
        set_->Delete("Background");
    }
    Pass(Between(1s, 1min));
    if (set_->IsGone() && random_.Percent(60)) Reinstall(*set_);
  }

  void Reinstall(SetStory& set) {
    machines_->story.Add("user: install " + set.key.ToString() + " again");
    set.Install(1 + int(random_.Below(uint64_t(set.most))));
    Pass(5s);
  }

  void BeginSlurmFault(Fault kind, unsigned percent, Duration lasts) {
    machines_->story.Add("slurmrestd: fault " + std::to_string(int(kind)) + " for " + std::to_string(percent) +
                         "% of requests");
    set_->site.SetFault({kind, percent});
    machines_->After(lasts, [site = &set_->site] { site->SetFault({}); });
  }

  void SlurmFails() {
    constexpr auto kFaults = std::to_array<Fault>({Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kHang,
                                                   Fault::kLostAnswer, Fault::kLate, Fault::kCutOff, Fault::kGarbage});
    if (random_.Percent(20)) {
      const Duration latency = Between(100ms, 4s);
      machines_->story.Add("slurmrestd: slow");
      set_->site.rest.SetLatency(latency);
      machines_->After(Between(10s, 60s), [site = &set_->site] { site->rest.SetLatency(kLatency); });
      if (random_.Percent(50)) ScaleSet();
      return;
    }
    BeginSlurmFault(kFaults[random_.Below(kFaults.size())], random_.Percent(50) ? 100 : 40, Between(5s, 60s));
    if (random_.Percent(50)) ScaleSet();
  }

  void SlurmctldRestarts() { set_->site.Restart(Between(1s, 40s), random_.Percent(30)); }

  void ApiFails() {
    auto& faults = machines_->api.faults;
    machines_->story.Add("API server: faults");
    const std::array<unsigned*, 9> all = {&faults.refused,    &faults.throttled,   &faults.unavailable,
                                          &faults.slow,       &faults.lost_answer, &faults.cut_watch,
                                          &faults.mute_watch, &faults.lag_watch,   &faults.lost_history};
    for (uint64_t left = 1 + random_.Below(3); left > 0; --left)
      *all[random_.Below(all.size())] = 5 + unsigned(random_.Below(30));
    if (random_.Percent(20)) machines_->api.CutWatches(random_.Percent(50));
    machines_->After(Between(5s, 90s), [this] { machines_->api.faults = {}; });
    if (random_.Percent(60)) ScaleSet();
  }

  void ClockJumps() {
    const auto jump = random_.Percent(50) ? Between(1s, 2h) : -Between(1s, 2h);
    machines_->story.Add("the wall clock jumps by " + std::to_string(jump / 1s) + " s");
    machines_->loop.JumpWallClock(jump);
    clock_jumped_ = true;
  }

  // --- The end -------------------------------------------------------------------------------------------------------

  // One that a clock which was put back has moved far off.
  void GiveUpFarReservation(SetStory& set) {
    const auto start = set.UpdateStart();
    if (start && *start > machines_->loop.WallNow() + 5min) set.UpdateBy(R"({"type":"OnDelete"})");
  }

  void Settle() {
    if (Over()) return;
    machines_->story.Add("nothing disturbs any more");
    machines_->api.faults = {};
    for (const auto& site : sites_) {
      site->SetFault({});
      site->rest.SetLatency(kLatency);
      site->CancelQueue();
    }
    for (int i = 0; i < machines_->options.machines; ++i) machines_->Boot("k" + std::to_string(i));
    for (const std::string& machine : std::set(machines_->cordoned())) machines_->Uncordon(machine);
    for (const auto& site : sites_) {
      site->ResumeAll();
      if (site->cluster) site->cluster->Run();
    }
    NameAllRightly();
    for (const auto& set : sets_) BringBack(*set);
    for (const Value* node : machines_->Nodes())
      machines_->PutInPool(std::string(json::FindText(*node, {"metadata", "name"})), true);
    for (const auto& set : sets_) {
      set->Scale(1 + int(random_.Below(uint64_t(set->most))));
      if (!random_.Percent(50)) continue;
      for (const std::string& node : set->Hosts()) {
        if (set->site.slurm.NodeNamed(node)) set->site.UpdateNode(node, "RESUME", "");
      }
    }
    for (const auto& set : sets_) GiveUpFarReservation(*set);
    volumes_->EndSessions();
    std::optional<std::string> wrong;
    const auto settled = [&] {
      wrong = JobsLeft() ? "jobs still run" : rules_->Unmatched();
      if (!wrong) wrong = volumes_->Unmatched();
      return !wrong;
    };
    // A job that slurmctld takes over after its clock was put back runs for so much longer.
    PassUntil([&] { return !JobsLeft(); }, 3h);
    Pass(clock_jumped_ ? kWholeList : kHealing);
    if (!PassUntil(settled, kConvergeTimeout))
      Fail("not as wanted after " + FormatDuration(kConvergeTimeout) + ": " + *wrong);
  }

  bool JobsLeft() const {
    return std::ranges::any_of(sites_, [](const auto& site) { return site->JobsLeft(); });
  }

  // A NodeSet that was deleted goes, and comes again.
  void BringBack(SetStory& set) {
    PassUntil([&] { return !JobsLeft(); }, 3h);
    if (set.IsDeleting() && !PassUntil([&] { return set.IsGone(); }, kConvergeTimeout)) Fail(*rules_->Left(set));
    if (!set.IsGone()) return;
    ForgetFarReservation(set);
    Reinstall(set);
  }

  // Of a NodeSet that went without its Controller, so that nobody could remove it: it ends by itself, but for a clock that was put
  // back.
  void ForgetFarReservation(SetStory& set) {
    for (const slurm::Reservation& one : set.site.slurm.Reservations()) {
      if (one.name != "SlurmOperatorMaint-" + set.key.name || one.end < machines_->loop.WallNow() + kConvergeTimeout)
        continue;
      machines_->story.Add("person: scontrol delete reservation " + one.name);
      set.site.slurm.DeleteReservation(one.name);
    }
  }

  // One more thing that a user does, with nothing else going on.
  void End() {
    if (Over()) return;
    Choose();
    if (set_->site.cluster && random_.Percent(40)) return MaintainIdle();
    if (set_->may_be_on_demand) return;  // its idle workers go by themselves
    switch (random_.Below(5)) {
      case 0:
        return set_->IsDaemonSet() ? LeavePoolIdle() : ScaleInIdle();
      case 1:
        return CordonIdle();
      case 2:
        return DeleteBusy();
      case 3:
        return set_->IsDaemonSet() ? LeavePoolIdle() : ScaleInBusy();
      default:
        return;
    }
  }

  void Await(const std::function<std::optional<std::string>()>& wrong, Duration limit = kIdleTimeout) {
    std::optional<std::string> last;
    const auto done = [&] { return !(last = wrong()); };
    if (PassUntil(done, limit)) return;
    // An operator that begins while a person holds a worker cannot tell whether its predecessor's undrain is on its way.
    const auto by_person = [](const slurm::Node& node) { return op::nodeset::IsHeldByPerson(node); };
    const bool held = std::ranges::any_of(set_->site.slurm.Nodes(), by_person);
    const Duration left = started_ + plan::SlurmClusters::kLiftTimeout + limit - machines_->loop.Now();
    if (held && left > Duration::zero() && PassUntil(done, left)) return;
    Fail("not as wanted after " + FormatDuration(limit) + ": " + *last);
  }

  void MaintainIdle() {
    set_->site.cluster->SetMode("Maintenance");
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
    set_->site.cluster->Run();
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
  }

  // Of workers without jobs, those of the highest ordinals go.
  void ScaleInIdle() {
    std::vector<std::string> stay = set_->Workers();  // nine at most, so by ordinal
    stay.resize(random_.Below(stay.size() + 1));
    set_->Scale(int(stay.size()));
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
    if (set_->Workers() != stay) Fail("scale-in to " + std::to_string(stay.size()) + " has left others");
  }

  // Of workers with jobs, those go whose jobs end first; before them go those without.
  void ScaleInBusy() {
    const std::vector<std::string> hosts = set_->Hosts();  // by ordinal
    for (const std::string& worker : hosts) set_->site.Submit(Between(1h, 8h), worker);
    Pass(5s);
    set_->site.CancelQueue();
    struct Busy {
      Time end;
      size_t ordinal;
      std::string node;
      int64_t job;
    };
    std::vector<Busy> busy;
    for (const auto& [id, job] : set_->site.slurm.jobs()) {
      if (!job.state.Has(slurm::JobFlag::kRunning)) continue;
      const auto ordinal = size_t(std::ranges::find(hosts, job.nodes) - hosts.begin());
      busy.push_back({*job.start_time + *job.time_limit, ordinal, job.nodes, id});
    }
    // Equal ends leave it to the ordinal.
    std::ranges::sort(
        busy, [](const Busy& a, const Busy& b) { return a.end != b.end ? a.end > b.end : a.ordinal < b.ordinal; });
    const size_t stay = busy.size() < 2 ? 0 : 1 + random_.Below(busy.size() - 1);
    set_->Scale(int(stay));
    Await([&]() -> std::optional<std::string> {
      for (size_t i = 0; i < busy.size(); ++i) {
        const auto node = set_->site.slurm.NodeNamed(busy[i].node);
        const bool goes = !node || node->state.IsDraining();
        if (goes != (i >= stay)) return busy[i].node + (goes ? " goes" : " stays");
      }
      return std::nullopt;
    });
    for (const Busy& one : busy) set_->site.slurm.FinishJob(one.job);
    Pass(30s);
    Await([this] { return rules_->Unmatched(); });
  }

  void LeavePoolIdle() {
    machines_->PutInPool(AnyMachine(), false);
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
  }

  void CordonIdle() {
    const std::string machine = machines_->MachineOf(Pod(AnyWorker()));
    machines_->Cordon(machine);
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
    machines_->Uncordon(machine);
    Pass(5s);
    Await([this] { return rules_->Unmatched(); });
  }

  void DeleteBusy() {
    for (uint64_t left = random_.Below(4); left > 0; --left) set_->site.Submit(Between(5s, 5min));
    Pass(Between(1s, 10s));
    set_->Delete("Background");
    set_->site.CancelQueue();
    Await([this] { return rules_->Left(*set_); }, kConvergeTimeout);
  }

  void BeQuiet() {
    if (Over()) return;
    machines_->story.Add("everything is as wanted");
    Pass(kNews);
    const int before = rules_->writes();
    Pass(kRest);
    if (Over()) return;
    if (rules_->writes() != before)
      Fail(std::to_string(rules_->writes() - before) + " writes although nothing happens any more");
    if (const auto wrong = rules_->Unmatched()) Fail("it did not stay as wanted: " + *wrong);
  }

  const RunOptions options_;
  Random random_;
  std::unique_ptr<Machines> machines_;
  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<std::unique_ptr<SetStory>> sets_;
  std::unique_ptr<Rules> rules_;
  std::unique_ptr<RootVolumes> volumes_;
  std::unique_ptr<Operator> operator_;
  std::optional<std::string> failure_;
  bool crash_ = false;
  Tick started_{};  // the operator that runs
  bool clock_jumped_ = false;
  SetStory* set_ = nullptr;
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
