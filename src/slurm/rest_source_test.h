// A RestSource in front of a fake slurmrestd, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "slurm/jwt.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::slurm {

class RestSourceTest : public ::testing::Test {
 protected:
  RestSourceTest() {
    for (const char* name : {"w-0", "w-1", "w-2"})
      slurm.StartSlurmd(
          {.name = name, .address = "10.0.0.1", .features = {"workers"}, .topology = "", .weight = 1, .cpus = 2});
  }

  ~RestSourceTest() override {
    tasks.Cancel();
    loop.RunUntil([this] { return tasks.size() == 0; }, 1h);
  }

  // Starts polling and waits for the first snapshot.
  void Start(RestSource::Options options = {}) {
    source.emplace(loop, server, [this](Duration lifetime) { return Sign(lifetime); }, std::move(options));
    tasks.Spawn("poll", source->Run());
    ASSERT_TRUE(loop.RunUntil([this] { return source->Latest().snapshot || source->Latest().error; }, 10s));
  }

  Result<Secret> Sign(Duration lifetime) {
    ++signed_tokens;
    return SignToken({.user = "slurm",
                      .issuer = "test",
                      .id = std::to_string(signed_tokens),
                      .issued_at = loop.WallNow(),
                      .expires_at = loop.WallNow() + lifetime},
                     key);
  }

  template <class T>
  T Await(async::Task<T> task) {
    std::optional<T> result;
    auto wrapped = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
      out = co_await std::move(inner);
    };
    tasks.Spawn("call", wrapped(std::move(task), result));
    EXPECT_TRUE(loop.RunUntil([&] { return result.has_value(); }, 10min));
    return *std::move(result);
  }

  Result<void> Update(std::string name, NodeAction action, std::string reason = "") {
    NodeUpdate update;
    update.names = {std::move(name)};
    update.action = action;
    update.reason = std::move(reason);
    return Await(source->UpdateNode(std::move(update), loop.After(30s)));
  }

  Result<std::vector<std::string>> SuspendedOn() { return Await(source->ReadNodesOfSuspendedJobs(loop.After(30s))); }

  std::string StateOf(const char* name) {
    const Node* node = source->Latest().snapshot->FindNode(name);
    return node ? node->state.ToString() : "absent";
  }

  // How long it takes until `done`; -1s when it does not happen within `limit`.
  Duration TimeUntil(const std::function<bool()>& done, Duration limit) {
    const Tick began = loop.Now();
    return loop.RunUntil(done, limit) ? loop.Now() - began : Duration(-1s);
  }

  async::VirtualLoop loop;
  testing::FakeSlurm slurm{loop};
  testing::FakeSlurmrestd server{slurm};
  Secret key{"a key of thirty-two bytes, say.."};
  int signed_tokens = 0;
  async::TaskGroup tasks{loop};
  std::optional<RestSource> source;
};

}  // namespace capstan::slurm
