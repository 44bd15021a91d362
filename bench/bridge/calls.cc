// How often the bridge asks Slurm and writes on the API server for a pod's whole life: created, in the queue, running for a minute,
// ended. Of so many pods that come ten a second, beside a modelled API server, slurmctld and kubelet, in virtual time; what is asked
// at rest in as much time is taken off.
//
//   bench_bridge_calls PODS    prints the calls to slurmrestd and the writes on the API server of one pod, on average
#include <cstdio>
#include <deque>
#include <map>
#include <string>

#include "async/task_group.h"
#include "base/log.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/objects.h"
#include "bridge/reconcilers.h"
#include "bridge/settings.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/testing/fake_api_server.h"
#include "plan/engine.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::bridge {
namespace {

constexpr int kMachines = 1000;
constexpr Duration kEvery = 100ms, kRuns = 1min, kAfterwards = 2min;

class Yard {
 public:
  Yard() {
    slurm_.partitions["all"] = "UP";
    server_.objects().Serve(Job::kResource);
    for (const char* name : {"kube-system", "ml"})
      server_.Put(kube::kNamespaces, R"({"metadata":{"name":")" + std::string(name) + "\"}}");
    for (int i = 0; i < kMachines; ++i) AddMachine("n" + std::to_string(i));
    AddStores(engine_.stores(), settings_.bridge);
    for (plan::Reconciler& reconciler : Reconcilers()) engine_.Add(std::move(reconciler));
    group_.Spawn("engine", engine_.Run());
    loop_.Advance(3min);
  }
  ~Yard() {
    group_.Spawn("stop", engine_.Stop());
    loop_.RunUntil([this] { return group_.size() == 0; }, 1min);
  }

  struct Counts {
    double calls, writes;
  };
  // Of as much time as `pods` of them take, and with as many.
  Counts Live(int pods, bool with_pods) {
    const size_t calls = rest_.requests(), writes = server_.writes().size();
    for (int i = 0; i < pods; ++i) {
      if (with_pods) PutPod("p" + std::to_string(i));
      Pass(kEvery);
    }
    Pass(kRuns + kAfterwards);
    return {double(rest_.requests() - calls), double(server_.writes().size() - writes)};
  }
  bool AllHaveEnded() const {
    for (const auto& [_, job] : slurm_.jobs())
      if (!job.state.IsOver()) return false;
    return !slurm_.jobs().empty() && to_end_.empty();
  }

 private:
  plan::Engine::Options OptionsOf() {
    plan::Engine::Options options{.field_manager = "slurm-bridge", .seed = 1};
    options.slurm = [this](const plan::SlurmConnection&,
                           plan::SlurmClusters::SignToken) -> Result<plan::SlurmClusters::Link> {
      const auto sign = [](Duration) -> Result<Secret> { return Secret("token"); };
      const auto source =
          std::make_shared<slurm::RestSource>(loop_, rest_, sign, slurm::RestSource::Options{.seed = 1, .client = {}});
      return plan::SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
    };
    options.settings = &settings_;
    return options;
  }
  void AddMachine(const std::string& name) {
    slurm_.StartSlurmd({.name = name, .address = "10.0.0.1", .features = {}, .topology = ""});
    server_.Put(kube::kNodes, R"({"metadata":{"name":")" + name + R"("},"spec":{}})");
    server_.Edit(
        kube::kNodes, {"", name}, "status",
        [](json::Value& node) {
          json::MakeObject(node, {"status"})["conditions"] = *json::Parse(R"([{"type":"Ready","status":"True"}])");
        },
        "kubelet");
    free_.push_back(name);
  }
  void PutPod(const std::string& name) {
    server_.Put(kube::kPods,
                R"({"metadata":{"namespace":"ml","name":")" + name +
                    R"(","labels":{"capstan.dev/bridged":"slinky.slurm-bridge"}},"spec":{"schedulingGates":)" +
                    R"([{"name":"capstan.dev/slurm"}],"containers":[{"name":"c","resources":{"requests":)" +
                    R"({"cpu":"1"}}}]},"status":{"phase":"Pending"}})");
    waiting_.push_back(name);
  }
  // slurmctld, the scheduler and the kubelets do what there is to do; jobs wait for five seconds before they begin.
  void Pass(Duration duration) {
    for (const Tick end = loop_.Now() + duration; loop_.Now() < end;) {
      loop_.Advance(std::min(kEvery, Duration(end - loop_.Now())));
      for (const auto& [id, job] : slurm_.jobs()) {
        if (!job.state.IsPending()) continue;
        const auto [since, _] = pending_.try_emplace(id, loop_.Now());
        if (loop_.Now() - since->second < 5s || free_.empty()) continue;
        if (slurm_.RunPending(id, {free_.front()})) free_.pop_front();
        break;  // the jobs are others now
      }
      for (size_t i = waiting_.size(); i > 0; --i) {
        const std::string name = std::move(waiting_.front());
        waiting_.pop_front();
        if (!Bind(name)) waiting_.push_back(name);
      }
      while (!to_end_.empty() && to_end_.front().first <= loop_.Now()) {
        server_.Edit(
            kube::kPods, {"ml", to_end_.front().second}, "status",
            [](json::Value& pod) { json::MakeObject(pod, {"status"})["phase"] = "Succeeded"; }, "kubelet");
        to_end_.pop_front();
      }
    }
  }
  bool Bind(const std::string& name) {
    const json::Value& pod = *server_.Find(kube::kPods, {"ml", name});
    const std::string node(json::FindText(pod, {"metadata", "annotations", kSlurmNode}));
    if (node.empty()) return false;
    server_.Edit(
        kube::kPods, {"ml", name}, "", [&](json::Value& one) { json::MakeObject(one, {"spec"})["nodeName"] = node; },
        "scheduler");
    server_.Edit(
        kube::kPods, {"ml", name}, "status",
        [](json::Value& one) { json::MakeObject(one, {"status"})["phase"] = "Running"; }, "kubelet");
    to_end_.emplace_back(loop_.Now() + kRuns, name);
    return true;
  }

  async::VirtualLoop loop_;
  kube::testing::FakeApiServer server_{loop_, 1};
  slurm::testing::FakeSlurm slurm_{loop_};
  slurm::testing::FakeSlurmrestd rest_{slurm_};
  const Settings settings_{
      .bridge = "slinky.slurm-bridge", .slurm_rest_api = "http://rest", .token_file = "/token", .partition = "all"};
  kube::Client client_{loop_, server_, {.field_manager = "slurm-bridge"}};
  plan::Engine engine_{loop_, client_, OptionsOf()};
  async::TaskGroup group_{loop_};
  std::deque<std::string> free_, waiting_;
  std::deque<std::pair<Tick, std::string>> to_end_;
  std::map<int64_t, Tick> pending_;
};

int Measure(int pods) {
  Yard yard;
  const Yard::Counts idle = yard.Live(pods, false), busy = yard.Live(pods, true);
  if (!yard.AllHaveEnded()) {
    std::fprintf(stderr, "not all of them have lived\n");
    return 1;
  }
  std::printf("%.3f %.3f\n", (busy.calls - idle.calls) / pods, (busy.writes - idle.writes) / pods);
  return 0;
}

}  // namespace
}  // namespace capstan::bridge

int main(int argc, char** argv) {
  const auto pods = argc == 2 ? capstan::ParseInt(argv[1]) : std::nullopt;
  if (!pods || *pods < 1 || *pods > capstan::bridge::kMachines) {
    std::fprintf(stderr, "usage: bench_bridge_calls PODS\n");
    return 2;
  }
  capstan::log::SetLevel(capstan::log::Level::kError);
  return capstan::bridge::Measure(int(*pods));
}
