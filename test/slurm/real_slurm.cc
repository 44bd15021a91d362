#include "real_slurm.h"

#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "async/timer.h"
#include "base/text.h"
#include "slurm/jwt.h"

namespace capstan::slurm {
namespace {

net::HttpClient::Options ClientOptions() {
  auto endpoint = net::Endpoint::Parse(Env("SLURMRESTD_URL"));
  if (!endpoint) throw std::runtime_error(endpoint.error().message());
  net::HttpClient::Options options;
  options.server = *std::move(endpoint);
  return options;
}

async::Task<void> StopAfter(async::Loop& loop, Duration wait) {
  co_await async::Sleep(loop, wait);
  loop.Stop();
}

}  // namespace

std::string Env(const char* name) {
  if (const char* value = std::getenv(name)) return value;
  std::cerr << name << " is not set; run this as: test/slurm/run-slurm -- slurm_it_test\n";
  std::exit(2);
}

std::string Shell(const std::string& command, int* status) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) output.append(buffer, got);
  const int ended = pclose(pipe);
  if (status) *status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return std::string(Trim(output));
}

RealSlurm::RealSlurm()
    : transport(loop, ClientOptions()),
      client(loop, transport, [this](Duration lifetime) { return Sign(lifetime); }),
      tasks(loop),
      source(loop, transport, [this](Duration lifetime) { return Sign(lifetime); }) {
  std::ifstream file(Env("SLURM_JWT_KEY_FILE"), std::ios::binary);
  key = Secret(std::string(std::istreambuf_iterator<char>(file), {}));
}

RealSlurm::~RealSlurm() {
  tasks.Cancel();
  RunUntil([this] { return tasks.size() == 0; }, 10s);
}

Result<Secret> RealSlurm::Sign(Duration lifetime) {
  return SignToken({.user = "slurm",
                    .issuer = "test",
                    .id = std::to_string(++tokens),
                    .issued_at = loop.WallNow() - 5s,
                    .expires_at = loop.WallNow() + lifetime},
                   key);
}

// `done` is asked between runs of the loop and never within one, as it may run the loop itself.
bool RealSlurm::RunUntil(const std::function<bool()>& done, Duration limit) {
  const Tick end = loop.Now() + capstan::testing::Patient(limit);
  while (!done()) {
    if (loop.Now() >= end) return false;
    async::TaskGroup watch(loop);
    watch.Spawn("watch", StopAfter(loop, 5ms));
    loop.context().restart();
    loop.Run();
    // The watcher has returned once it stopped the loop; its group hears of it in the next round.
    loop.context().restart();
    while (watch.size() > 0 && loop.context().run_one() > 0) {
    }
  }
  return true;
}

void RealSlurm::StartPolling() {
  tasks.Spawn("poll", source.Run());
  if (RunUntil([this] { return source.Latest().snapshot != nullptr; }, 20s)) return;
  const auto error = source.Latest().error;
  throw std::runtime_error("no snapshot in 20 s: " + (error ? error->message() : "no error either"));
}

std::optional<Node> RealSlurm::NodeNow(const std::string& name) {
  const auto node = Await(client.NodeNamed(name, Soon()));
  return node ? *node : std::nullopt;
}

bool RealSlurm::NodeBecomes(const std::string& name, const std::function<bool(const Node&)>& wanted, Duration limit) {
  const Tick end = loop.Now() + capstan::testing::Patient(limit);
  std::optional<Node> node;
  while (loop.Now() < end) {
    node = NodeNow(name);
    if (node && wanted(*node)) return true;
    Await([](async::Loop& l) -> async::Task<bool> {
      co_await async::Sleep(l, 30ms);
      co_return true;
    }(loop));
  }
  std::cerr << name << " is " << (node ? node->state.ToString() + " \"" + node->reason + "\"" : "not there") << "\n";
  return false;
}

Result<void> RealSlurm::Update(std::string name, NodeAction action, std::string reason) {
  NodeUpdate update;
  update.names = {std::move(name)};
  update.action = action;
  update.reason = std::move(reason);
  return Await(client.Update(std::move(update), Soon()));
}

std::string RealSlurm::RunJob(const std::string& node, const std::string& options) {
  const std::string id =
      Shell("$SLURM_EXEC sbatch --parsable --no-requeue -w " + node + " " + options + " --wrap 'sleep 300'");
  EXPECT_TRUE(ParseInt(id)) << id;
  EXPECT_TRUE(RunUntil([&] { return Shell("$SLURM_EXEC squeue -h -o %T -j " + id) == "RUNNING"; }, 20s))
      << Shell("$SLURM_EXEC squeue");
  return id;
}

void RealSlurm::SetUp() {
  Shell("$SLURM_EXEC scancel --user root; $SLURM_EXEC scancel --user slurm");
  for (const char* daemon : {"slurmctld", "slurmrestd", "w-0", "w-1"})
    Shell(std::string("$SLURM_CONTROL start ") + daemon);
  ASSERT_TRUE(RunUntil([&] { return Shell("$SLURM_EXEC scontrol ping").find("UP") != std::string::npos; }, 20s));
  for (const std::string name : {"w-0", "w-1"}) {
    if (!NodeNow(name)) Shell("$SLURM_CONTROL restart " + name);
    ASSERT_TRUE(NodeBecomes(name, [](const Node& node) { return !node.state.IsBusy(); })) << name;
    const auto node = NodeNow(name);
    if (node->state.IsDown() || node->state.Has(NodeFlag::kDrain)) ASSERT_TRUE(Update(name, NodeAction::kResume));
    NodeUpdate clean;
    clean.names = {name};
    clean.comment = "";
    clean.features = clean.active_features = {"workers"};
    clean.weight = 1;
    ASSERT_TRUE(Await(client.Update(clean, Soon())));
    ASSERT_TRUE(NodeBecomes(name, [](const Node& n) { return n.state.ToString() == "IDLE+DYNAMIC_NORM"; }))
        << NodeNow(name)->state.ToString();
  }
}

}  // namespace capstan::slurm
