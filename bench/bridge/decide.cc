// What one Decide about a group of pods costs: the CPU time of a look at its pod, its job and its nodes, without any call, in a
// cluster of 1,000 machines where so many pods are, each with a job in Slurm. Of one that waits in the queue, of one that runs, of
// one that is let go, and of one that is submitted, for which all nodes are looked at.
//
//   bench_bridge_decide PODS    prints for each of the four the name, the median and the 99th percentile in milliseconds
#include "bridge/group/decide.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/world.h"

namespace capstan::bridge {
namespace {

constexpr Time kNow = Time(1'000'000s);
constexpr int kMachines = 1000, kLooks = 2000;
constexpr auto kCluster = "uid-of-kube-system";

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

enum class Stage { kWaits, kRuns, kStarts, kNew };

class Cluster {
 public:
  explicit Cluster(int pods) {
    group::AddPodStores(stores_, settings_.bridge);
    AddNodeStore(stores_);
    stores_.Add<Namespace>({.metadata_only = true, .everywhere = true});
    for (const plan::Stores::Entry& entry : stores_.all()) entry.store->AddFeed("");
    for (const char* name : {"kube-system", "ml"}) {
      Namespace ns;
      ns.metadata.name = name;
      ns.metadata.uid = std::string("uid-of-") + name;
      Put(std::move(ns));
    }
    for (int i = 0; i < kMachines; ++i) AddMachine("n" + std::to_string(i));
    std::ranges::sort(records_, {}, &slurm::Node::name);
    for (int i = 0; i < pods; ++i) AddPod(i, Stage(i % 4));
    followed_ = std::make_shared<const slurm::FollowedJobs>(std::move(jobs_));
    auto snapshot = std::make_shared<slurm::Snapshot>();
    index_ = std::make_shared<const plan::NodeIndex>(plan::MakeNodeIndex(stores_.node_entry(), records_));
    snapshot->nodes = std::make_shared<const std::vector<slurm::Node>>(std::move(records_));
    snapshot_ = std::move(snapshot);
  }

  // Milliseconds of each look, in order.
  std::vector<double> Look(Stage stage) const {
    std::vector<double> took;
    for (size_t i = 0; i < kLooks; ++i) {
      const std::vector<kube::Key>& keys = keys_[size_t(stage)];
      const double before = CpuMs();
      const plan::World world(PartsOf());
      const plan::Plan plan = group::Decide(world, keys[i % keys.size()]);
      took.push_back(CpuMs() - before);
      // So that it is what it seems to be: a pod that begins is written to, one that is as it was is not.
      const bool acts = stage == Stage::kStarts || stage == Stage::kNew;
      if (plan.actions.empty() == acts) {
        std::fprintf(stderr, "stage %d wants %zu actions\n", int(stage), plan.actions.size());
        std::exit(1);
      }
    }
    std::ranges::sort(took);
    return took;
  }

 private:
  plan::World::Parts PartsOf() const {
    plan::World::Parts parts;
    parts.now = kNow;
    parts.tick = Tick(1h);
    parts.stores = &stores_;
    parts.answers = &answers_;
    parts.settings = &settings_;
    parts.slurm = [this](const std::string&) {
      return plan::SlurmLook{.state = plan::SlurmLook::State::kHeard,
                             .snapshot = snapshot_,
                             .index = index_,
                             .absence_counts = true,
                             .followed = followed_};
    };
    return parts;
  }
  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version_;
    auto* store = static_cast<kube::Store<T>*>(stores_.Find(T::kResource));
    if (!store->Answered(std::move(object), Tick())) std::exit(1);
  }
  void AddMachine(const std::string& name) {
    Node node;
    node.metadata.name = name;
    node.metadata.labels = {{std::string(kExternalNode), "true"}};
    node.spec.taints.text =
        R"([{"key":"slinky.slurm.net/managed-node","value":"slurm-bridge-scheduler","effect":"NoSchedule"}])";
    node.status.conditions = {{"Ready", "True"}};
    node.status.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}};
    Put(std::move(node));
    records_.push_back({.name = name,
                        .state = {slurm::NodeFlag::kIdle, slurm::NodeFlag::kDynamicNorm, slurm::NodeFlag::kExternal},
                        .partitions = {settings_.partition}});
  }
  void AddPod(int number, Stage stage) {
    const std::string name = "p" + std::to_string(number), uid = "uid-" + name, group = "ml/pod." + uid;
    const std::string machine = "n" + std::to_string(number / 4 % kMachines);
    const int64_t id = JobId(kCluster, uid, 1, settings_.first_id, settings_.ids);
    keys_[size_t(stage)].push_back({"ml", "pod." + uid});
    const bool runs = stage == Stage::kRuns;
    Pod pod;
    pod.metadata.namespace_ = "ml";
    pod.metadata.name = name;
    pod.metadata.uid = uid;
    pod.metadata.labels = {{std::string(kBridged), settings_.bridge}, {std::string(kJobId), std::to_string(id)}};
    pod.metadata.annotations = {{std::string(kAttempt), "1"}};
    pod.spec.containers = {{.resources = {.requests = {{"cpu", "1"}, {"memory", "1Gi"}}, .limits = {}}}};
    if (runs) {
      pod.metadata.annotations[std::string(kSlurmNode)] = machine;
      pod.spec.node_name = machine;
    } else {
      pod.spec.scheduling_gates = {{std::string(kGate)}};
    }
    pod.status.phase = runs ? "Running" : "Pending";
    const std::string job = "job " + std::to_string(id);
    if (stage == Stage::kWaits)
      pod.status.conditions = {{std::string(kJobCondition), "False", "Pending",
                                job + " waits in partition " + settings_.partition + ": Resources"}};
    if (runs)
      pod.status.conditions = {{std::string(kJobCondition), "True", "Running", job + " on Slurm node " + machine}};
    Put(std::move(pod));
    if (stage == Stage::kNew) {
      jobs_[id] = nullptr;
      return;
    }
    using slurm::JobFlag;
    jobs_[id] = std::make_shared<const slurm::Job>(
        slurm::Job{.id = id,
                   .state = {stage == Stage::kWaits ? JobFlag::kPending : JobFlag::kRunning},
                   .state_reason = stage == Stage::kWaits ? "Resources" : "None",
                   .name = "ml/" + name,
                   .user = "slurm",
                   .partition = settings_.partition,
                   .nodes = stage == Stage::kWaits    ? ""
                            : stage == Stage::kStarts ? "n" + std::to_string(kMachines - 1)
                                                      : machine,
                   .admin_comment = JobMark{kCluster, settings_.bridge, group}.ToString(),
                   .external = true});
  }

  const Settings settings_{
      .bridge = "slinky.slurm-bridge", .slurm_rest_api = "http://rest", .token_file = "/token", .partition = "all"};
  plan::Stores stores_;
  plan::Answers answers_;
  std::vector<slurm::Node> records_;
  slurm::FollowedJobs jobs_;
  std::shared_ptr<const slurm::Snapshot> snapshot_;
  std::shared_ptr<const plan::NodeIndex> index_;
  std::shared_ptr<const slurm::FollowedJobs> followed_;
  std::vector<kube::Key> keys_[4];
  int64_t version_ = 0;
};

void Print(const char* name, const std::vector<double>& took) {
  std::printf("%s %.4f %.4f\n", name, took[took.size() / 2], took[took.size() * 99 / 100]);
}

}  // namespace
}  // namespace capstan::bridge

int main(int argc, char** argv) {
  using namespace capstan::bridge;
  const auto pods = argc == 2 ? capstan::ParseInt(argv[1]) : std::nullopt;
  if (!pods || *pods < 4 || *pods > 100'000) {
    std::fprintf(stderr, "usage: bench_bridge_decide PODS\n");
    return 2;
  }
  const Cluster cluster{int(*pods)};
  Print("waits", cluster.Look(Stage::kWaits));
  Print("runs", cluster.Look(Stage::kRuns));
  Print("starts", cluster.Look(Stage::kStarts));
  Print("new", cluster.Look(Stage::kNew));
  return 0;
}
