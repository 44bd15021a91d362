// The world that run-slurm made, as the tests of this folder see it: a client of its slurmrestd, and its
// commands.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "async/loop.h"
#include "async/task_group.h"
#include "net/client.h"
#include "patience.h"
#include "slurm/rest_source.h"

namespace capstan::slurm {

// What run-slurm put into the environment under that name; the test program ends when it is not there.
std::string Env(const char* name);

// The output of a shell command, and its exit status in `status`. $SLURM_EXEC and the like are there.
std::string Shell(const std::string& command, int* status = nullptr);

// Lines of slurm.conf with which a suspended job leaves its nodes IDLE; by default its memory keeps them busy.
inline constexpr auto kFreesCores = "SelectTypeParameters=CR_CPU\n";

class RealSlurm : public ::testing::Test {
 protected:
  RealSlurm();
  ~RealSlurm() override;

  // Both nodes exist, idle and without a reason, and no job is left. Also what every test leaves behind at
  // the latest when the next one begins.
  void SetUp() override;

  Result<Secret> Sign(Duration lifetime);

  // Runs the loop until the task has ended, at most `limit`.
  template <class T>
  T Await(async::Task<T> task, Duration limit = 60s) {
    std::optional<T> result;
    auto wrapped = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
      out = co_await std::move(inner);
    };
    tasks.Spawn("call", wrapped(std::move(task), result));
    RunUntil([&] { return result.has_value(); }, limit);
    if (!result) throw std::runtime_error("a call did not end in " + FormatDuration(limit));
    return *std::move(result);
  }

  // Runs the loop until `done`, which is asked every few milliseconds. False when it took longer than
  // `limit`, times the tests' patience.
  bool RunUntil(const std::function<bool()>& done, Duration limit);

  // Starts the source's polling and waits for its first snapshot.
  void StartPolling();

  std::optional<Node> NodeNow(const std::string& name);
  // Says what became of it where it did not.
  bool NodeBecomes(const std::string& name, const std::function<bool(const Node&)>& wanted, Duration limit = 20s);
  Result<void> Update(std::string name, NodeAction action, std::string reason = "");

  // Submits a job that sleeps on that node and waits until it runs there. Its id.
  std::string RunJob(const std::string& node, const std::string& options = "");

  async::Deadline Soon() { return loop.After(capstan::testing::Patient(30s)); }

  async::RealLoop loop;
  net::HttpClient transport;
  Secret key;
  int tokens = 0;
  RestClient client;
  async::TaskGroup tasks;
  RestSource source;
};

}  // namespace capstan::slurm
