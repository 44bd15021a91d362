// What one Decide about a NodeSet costs: the CPU time of a look at all its workers, their pods, their machines and their Slurm
// records, without any call. At rest, in the middle of a rolling update, and of a scale-in while jobs run.
//
//   bench_decide WORKERS ROUNDS    prints for each of the three the name and the median in milliseconds
#include "operator/nodeset/decide.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "base/text.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/nodeset/pod_conditions.h"
#include "operator/nodeset/revision.h"
#include "operator/nodeset/workers.h"
#include "operator/objects.h"
#include "operator/settings.h"
#include "plan/world.h"

namespace capstan {
namespace {

constexpr Time kNow = Time(1'000'000s);

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

// A NodeSet of so many workers that serve.
class Cluster {
 public:
  explicit Cluster(int workers) {
    op::AddStores(stores_);
    for (const plan::Stores::Entry& entry : stores_.all()) entry.store->AddFeed("");
    Put(api::Controller{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "c"}});
    set_.metadata = {.name = "w", .namespace_ = "slurm", .uid = "set", .generation = 1};
    set_.metadata.finalizers = {std::string(op::kFinalizerDrain)};
    set_.spec.controller_ref.name = "main";
    set_.spec.replicas = workers;
    set_.spec.slurmd = json::Raw{R"({"resources":{"limits":{"cpu":"4","memory":"8Gi"}}})"};
    for (int i = 0; i < workers; ++i) AddWorker(i);
    std::ranges::sort(nodes_, {}, &slurm::Node::name);
    Put(set_);
  }

  void Edit(auto change) {
    change(set_);
    Put(set_);
  }

  plan::Plan Decide() {
    auto snapshot = std::make_shared<slurm::Snapshot>();
    snapshot->nodes = std::make_shared<const std::vector<slurm::Node>>(nodes_);
    snapshot->jobs = std::make_shared<const std::vector<slurm::Job>>(jobs_);
    plan::World::Parts parts;
    parts.now = kNow;
    parts.tick = Tick(1h);
    parts.stores = &stores_;
    parts.answers = &answers_;
    parts.settings = &settings_;
    parts.slurm = [&](const std::string&) {
      return plan::SlurmLook{
          .state = plan::SlurmLook::State::kHeard, .error = {}, .snapshot = snapshot, .absence_counts = true};
    };
    const plan::World world(std::move(parts));
    const double before = CpuMs();
    plan::Plan plan = op::nodeset::Decide(world, {"slurm", "w"});
    took_ = CpuMs() - before;
    return plan;
  }
  double took() const { return took_; }

 private:
  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version_;
    (void)const_cast<kube::Store<T>&>(stores_.Of<T>()).Answered(std::move(object), Tick());
  }

  void AddWorker(int i) {
    const std::string digits = std::to_string(i), name = "w-" + digits, machine = "k" + digits;
    op::Pod pod;
    pod.metadata = {.name = name,
                    .namespace_ = "slurm",
                    .uid = "pod-" + digits,
                    .owner_references = {{.kind = "NodeSet", .name = "w", .uid = "set", .controller = true}}};
    pod.metadata.labels = {{std::string(op::kLabelName), "slurmd"},
                           {std::string(op::kLabelInstance), "w"},
                           {std::string(op::kLabelComponent), "worker"},
                           {std::string(op::kLabelCluster), "main"},
                           {std::string(op::kLabelScalingMode), "StatefulSet"},
                           {std::string(op::kLabelPodName), name},
                           {std::string(op::kLabelPodIndex), digits},
                           {std::string(op::kLabelPodHostname), name},
                           {std::string(op::kLabelPodProtect), "true"},
                           {std::string(op::kLabelRevision), op::nodeset::Revision(set_).value()}};
    pod.spec.node_name = machine;
    pod.spec.hostname = name;
    pod.status.phase = "Running";
    pod.status.conditions = {{.type = "Ready", .status = "True", .last_transition_time = kNow - 1h}};
    slurm::Node node{.name = name, .features = {"w"}, .active_features = {"w"}, .version = "26.05.5"};
    node.state.Add(i % 2 == 0 ? slurm::NodeFlag::kIdle : slurm::NodeFlag::kAllocated);
    for (const std::string& type : op::nodeset::NodeStateConditions(node.state))
      pod.status.conditions.push_back({.type = type, .status = "True"});
    const op::nodeset::Worker worker{.ordinal = i, .host = name, .pod = &pod};
    node.comment = op::nodeset::RecordComment(worker, set_);
    nodes_.push_back(std::move(node));
    if (i % 2 != 0) {
      slurm::Job job{.id = i, .nodes = name, .start_time = kNow - 1min, .time_limit = 1h * (1 + i % 7)};
      job.state.Add(slurm::JobFlag::kRunning);
      jobs_.push_back(std::move(job));
    }
    Put(std::move(pod));
    Put(op::Node{.metadata = {.name = machine, .uid = machine}, .spec = {}});
  }

  plan::Stores stores_;
  plan::Answers answers_;
  op::Settings settings_;
  api::NodeSet set_;
  std::vector<slurm::Node> nodes_;
  std::vector<slurm::Job> jobs_;
  uint64_t version_ = 0;
  double took_ = 0;
};

double Median(Cluster& cluster, int rounds) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    cluster.Decide();
    times.push_back(cluster.took());
  }
  std::ranges::nth_element(times, times.begin() + std::ptrdiff_t(times.size() / 2));
  return times[times.size() / 2];
}

void Measure(int workers, int rounds) {
  {
    Cluster cluster(workers);
    std::printf("rest %.3f\n", Median(cluster, rounds));
  }
  {
    Cluster cluster(workers);
    cluster.Edit([](api::NodeSet& set) {
      set.spec.extra_conf = "Gres=gpu:1";
      set.spec.update_strategy = api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateRolling)};
    });
    std::printf("update %.3f\n", Median(cluster, rounds));
  }
  {
    Cluster cluster(workers);
    cluster.Edit([&](api::NodeSet& set) { set.spec.replicas = workers / 4; });
    std::printf("scale-in %.3f\n", Median(cluster, rounds));
  }
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const auto workers = argc == 3 ? capstan::ParseInt(argv[1]) : std::nullopt;
  const auto rounds = argc == 3 ? capstan::ParseInt(argv[2]) : std::nullopt;
  if (!workers || !rounds || *workers < 1 || *rounds < 1) {
    std::fprintf(stderr, "usage: bench_decide WORKERS ROUNDS\n");
    return 2;
  }
  capstan::Measure(int(*workers), int(*rounds));
  return 0;
}
