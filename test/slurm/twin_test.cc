// The model of Slurm and the real one, asked the same at random: whatever the simulator proves rests on their
// agreeing.
#include <cstdlib>
#include <fstream>

#include "base/random.h"
#include "base/text.h"
#include "json/codec.h"
#include "real_slurm.h"
#include "slurm/rest_wire.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::slurm {
namespace {

// What one of the two answered, as far as both must agree.
struct Answered {
  int status = 0;
  int64_t error = 0;
  bool operator==(const Answered&) const = default;
};

Answered Judge(const Result<net::Response>& response) {
  if (!response) return {};
  Answered answered{response->status, 0};
  const auto envelope = json::Decode<wire::Envelope>(response->body);
  if (envelope && !envelope->errors.empty()) answered.error = envelope->errors.front().error_number;
  return answered;
}

// What a person would see of a node.
std::string Shown(const Node& node) {
  return node.name + " " + node.state.ToString() + " reason=" + node.reason +
         (node.reason.empty() ? "" : " by=" + node.reason_set_by) + " comment=" + node.comment +
         " features=" + Join(node.features, ",") + "/" + Join(node.active_features, ",") +
         " weight=" + std::to_string(node.weight);
}

std::string Shown(const std::vector<Node>& nodes) {
  std::string text;
  for (const Node& node : nodes) text += Shown(node) + "\n";
  return text;
}

testing::FakeSlurm::Options ModelOptions() {
  testing::FakeSlurm::Options options;
  options.return_to_service = 0;  // 2 would make DOWN depend on when slurmctld happens to ping
  return options;
}

class Twin : public RealSlurm {
 protected:
  void SetUp() override {
    RealSlurm::SetUp();
    std::ifstream file(Env("SLURM_CONF_FILE"));
    conf = std::string(std::istreambuf_iterator<char>(file), {});
    std::ofstream(Env("SLURM_CONF_FILE")) << conf << "ReturnToService=0\nKillWait=1\n" << kFreesCores;
    ASSERT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
    for (const std::string& name : names) StartModelSlurmd(name);
    ASSERT_EQ(SettledReal(), SettledModel());
  }

  void TearDown() override {
    std::ofstream(Env("SLURM_CONF_FILE")) << conf;
    Shell("$SLURM_EXEC scancel --user root; $SLURM_CONTROL reconfigure");
  }

  void StartModelSlurmd(const std::string& name) {
    model.StartSlurmd({.name = name, .address = "", .features = {"workers"}, .topology = "", .weight = 1, .cpus = 2});
  }

  // The same request to both.
  void Ask(const std::string& method, const std::string& path, const std::string& body) {
    net::Request request;
    request.method = method;
    request.target = "/slurm/v0.0.44/" + path;
    request.headers = {{"Accept", "application/json"}, {"X-SLURM-USER-TOKEN", std::string(Sign(1h)->Reveal())}};
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.body = body;
    const Answered real = Judge(Await(transport.Send(request, Soon())));
    const Answered modelled = Judge(AwaitModel(front.Send(request, model_loop.After(30s))));
    EXPECT_EQ(real.status, modelled.status);
    EXPECT_EQ(real.error, modelled.error);
  }

  template <class T>
  T AwaitModel(async::Task<T> task) {
    std::optional<T> result;
    auto wrapped = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
      out = co_await std::move(inner);
    };
    async::TaskGroup group(model_loop);
    group.Spawn("ask", wrapped(std::move(task), result));
    EXPECT_TRUE(model_loop.RunUntil([&] { return group.size() == 0; }, 1min));
    return *std::move(result);
  }

  // All nodes once nothing is under way any more.
  std::string SettledReal() {
    std::string last;
    const Tick end = loop.Now() + 20s;
    for (int same = 0; same < 3 && loop.Now() < end;) {
      const auto list = Await(client.Nodes(0, Soon()));
      if (!list) continue;
      bool moving = false;
      for (const Node& node : list->records)
        moving |= node.state.HasAny({NodeFlag::kNotResponding, NodeFlag::kCompleting});
      const std::string now = Shown(list->records);
      same = !moving && now == last ? same + 1 : 0;
      last = now;
      Shell("sleep 0.1");
    }
    return last;
  }

  std::string SettledModel() {
    model_loop.Advance(10s);
    return Shown(model.Nodes());
  }

  void Step(Random& random);
  void StartOrEndJob(const std::string& name);
  void SuspendOrResumeJob(const std::string& name);
  void RestartSlurmd(const std::string& name);

  std::string conf;
  const std::vector<std::string> names = {"w-0", "w-1"};
  async::VirtualLoop model_loop;
  testing::FakeSlurm model{model_loop, ModelOptions()};
  testing::FakeSlurmrestd front{model};
  std::map<std::string, std::pair<std::string, int64_t>> jobs;  // by node: the real id and the model's
  std::string story;
};

void Twin::StartOrEndJob(const std::string& name) {
  if (const auto job = jobs.extract(name)) {
    story += "cancel the job on " + name + "\n";
    Shell("$SLURM_EXEC scancel " + job.mapped().first);
    model.CancelJob(job.mapped().second);
    return;
  }
  const auto node = model.NodeNamed(name);
  if (!node || !node->state.IsUsable()) return;
  story += "run a job on " + name + "\n";
  const std::string id = RunJob(name, "--exclusive");
  const auto modelled = model.StartJob({.nodes = {name}, .whole_nodes = true, .user = "root", .runs_for = {}});
  ASSERT_TRUE(modelled);
  jobs[name] = {id, *modelled};
}

void Twin::SuspendOrResumeJob(const std::string& name) {
  const auto job = jobs.find(name);
  if (job == jobs.end()) return;
  const auto& [real, modelled] = job->second;
  const bool resume = model.jobs().at(modelled).state.Has(JobFlag::kSuspended);
  story += (resume ? "resume" : "suspend") + (" the job on " + name) + "\n";
  int status = 0;
  Shell("$SLURM_EXEC scontrol " + std::string(resume ? "resume " : "suspend ") + real, &status);
  EXPECT_EQ(status == 0, resume ? model.ResumeJob(modelled) : model.SuspendJob(modelled));
  const auto held = Await(source.ReadNodesOfSuspendedJobs(Soon()));
  ASSERT_TRUE(held);
  EXPECT_EQ(std::ranges::binary_search(*held, name), model.jobs().at(modelled).state.Has(JobFlag::kSuspended));
}

void Twin::RestartSlurmd(const std::string& name) {
  if (jobs.contains(name)) return;
  story += "restart slurmd of " + name + "\n";
  Shell("$SLURM_CONTROL restart " + name);
  model.StopSlurmd(name);
  StartModelSlurmd(name);
  ASSERT_TRUE(NodeBecomes(name, [](const Node& n) { return !n.state.IsNotResponding(); }));
}

void Twin::Step(Random& random) {
  const std::string& name = names[random.Below(2)];
  const std::string number = std::to_string(random.Below(100));
  const auto update = [&](const std::string& body) {
    story += "POST " + name + " " + body + "\n";
    Ask("POST", "node/" + name, body);
  };
  switch (random.Below(18)) {
    case 0:
    case 1:
      return update(R"({"state":["DRAIN"],"reason":"why )" + number + R"("})");
    case 2:
      return update(R"({"state":["UNDRAIN"]})");
    case 3:
    case 4:
      return update(R"({"state":["RESUME"]})");
    case 5:
      return update(R"({"state":["IDLE"]})");
    case 6:
      update(R"({"state":["DOWN"],"reason":"down )" + number + R"("})");
      jobs.erase(name);
      return;
    case 7:
      return update(R"({"comment":"c)" + number + R"("})");
    case 8: {
      const std::string features = R"(["workers","f)" + number + R"("])";
      const std::string active = random.Percent(70) ? R"("features_act":)" + features + "," : "";
      return update("{" + active + R"("features":)" + features + R"(,"weight":{"set":true,"number":)" + number + "}}");
    }
    case 9:
      return update(R"({"reason":"only a reason"})");
    case 10:
      // The job of a node that goes while it is suspended would never end.
      if (const auto job = jobs.find(name);
          job != jobs.end() && model.jobs().at(job->second.second).state.Has(JobFlag::kSuspended))
        return;
      story += "DELETE " + name + "\n";
      Ask("DELETE", "node/" + name, "");
      // One that was refused has left everything as it was.
      return RestartSlurmd(name);
    case 11:
      return RestartSlurmd(name);
    case 12:
      return update(R"({"state":["FAIL"],"reason":"fail )" + number + R"("})");
    case 13:
    case 14:
      return SuspendOrResumeJob(name);
    default:
      return StartOrEndJob(name);
  }
}

TEST_F(Twin, ModelAndRealSlurmEndUpTheSame) {
  const char* given = std::getenv("SLURM_TWIN_SEED");
  const char* steps = std::getenv("SLURM_TWIN_STEPS");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 1;
  Random random(seed);
  for (int left = steps ? std::atoi(steps) : 30; left > 0 && !HasFailure(); --left) {
    Step(random);
    EXPECT_EQ(SettledReal(), SettledModel());
  }
  EXPECT_FALSE(HasFailure()) << "SLURM_TWIN_SEED=" << seed << "\n" << story;
}

}  // namespace
}  // namespace capstan::slurm
