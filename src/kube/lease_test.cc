// Contenders for one Lease on the modelled API server, in virtual time.
#include "kube/lease.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "kube/fence.h"
#include "kube/testing/fake_api_server.h"

namespace capstan::kube {
namespace {

using json::FindText;
using testing::FakeApiServer;

// The wire of one process, which can be cut off: requests neither arrive nor end before their deadline.
class Wire final : public net::Transport {
 public:
  Wire(async::Loop& loop, FakeApiServer& server) : loop_(loop), server_(server) {}

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    ++requests;
    if (cut) {
      async::Timer patience(loop_);
      co_await patience.WaitUntil(deadline.at());
      co_return Fail(Code::kUnknownOutcome, "the answer did not come in time");
    }
    co_return co_await server_.Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return server_.Open(std::move(request), deadline);
  }

  bool cut = false;
  int requests = 0;

 private:
  async::Loop& loop_;
  FakeApiServer& server_;
};

// A process that wants the lease, and notes what it is told.
struct Process {
  Process(async::Loop& loop, FakeApiServer& server, const std::string& name, uint64_t seed)
      : loop(loop),
        wire(loop, server),
        client(loop, wire, {}),
        lease(loop, client, {.key = {"ns", "operator"}, .identity = name, .seed = seed}),
        group(loop) {
    group.Spawn(name,
                lease.Run([this] { acquired = this->loop.Now(); }, [this](std::string why) { lost = std::move(why); }));
  }
  bool leads() const { return lease.MayWrite(loop.Now()); }

  async::Loop& loop;
  Wire wire;
  Client client;
  Lease lease;
  std::optional<Tick> acquired;
  std::optional<std::string> lost;
  async::TaskGroup group;  // last: its tasks use the rest
};

class LeaseTest : public ::testing::Test {
 protected:
  ~LeaseTest() override {
    for (auto& process : processes) process->group.Cancel();
    loop.Advance(Duration(0));
  }
  Process& Start(const std::string& name) {
    return *processes.emplace_back(std::make_unique<Process>(loop, server, name, processes.size() + 1));
  }
  // At no moment of this time may two write. Looks every 10 ms.
  void Pass(Duration time) {
    for (const Tick end = loop.Now() + time; loop.Now() < end;) {
      loop.Advance(10ms);
      int leaders = 0;
      for (const auto& process : processes) leaders += process->leads();
      ASSERT_LE(leaders, 1) << "after " << FormatDuration(loop.Now().time_since_epoch());
    }
  }
  std::string Holder() const {
    const json::Value* record = server.Find(kLeases, {"ns", "operator"});
    return record ? std::string(FindText(*record, {"spec", "holderIdentity"})) : "";
  }
  Duration Since(Tick then) const { return loop.Now() - then; }

  async::VirtualLoop loop;
  FakeApiServer server{loop, 1};
  std::vector<std::unique_ptr<Process>> processes;
};

TEST_F(LeaseTest, TheFirstOneLeadsAndTheRecordIsThePeers) {
  Process& a = Start("a");
  EXPECT_FALSE(a.leads());
  Pass(1s);
  EXPECT_TRUE(a.acquired);
  EXPECT_TRUE(a.leads());
  const json::Value& record = *server.Find(kLeases, {"ns", "operator"});
  EXPECT_EQ(FindText(record, {"spec", "holderIdentity"}), "a");
  EXPECT_EQ(json::Find(record, {"spec", "leaseDurationSeconds"})->get_int64(), 13);
  EXPECT_EQ(json::Find(record, {"spec", "leaseTransitions"})->get_int64(), 0);
  EXPECT_TRUE(ParseRfc3339(FindText(record, {"spec", "renewTime"})));
  EXPECT_TRUE(ParseRfc3339(FindText(record, {"spec", "acquireTime"})));
}

TEST_F(LeaseTest, RenewsEveryTwoSecondsWithOneRequest) {
  Process& a = Start("a");
  Pass(1s);
  const int before = a.wire.requests;
  Pass(60s);
  EXPECT_NEAR(a.wire.requests - before, 30, 3);
  EXPECT_TRUE(a.leads());
}

TEST_F(LeaseTest, OthersWaitAsLongAsItIsRenewed) {
  Start("a");
  Pass(1s);
  Process& b = Start("b");
  Pass(10min);
  EXPECT_FALSE(b.acquired);
  EXPECT_EQ(b.lease.holder(), "a");
}

TEST_F(LeaseTest, AReleasedLeaseIsTakenWithinASecond) {
  Process& a = Start("a");
  Pass(1s);
  Process& b = Start("b");
  Pass(5s);
  std::optional<Result<void>> released;
  auto release = [](Lease& lease, async::Loop& on, std::optional<Result<void>>& out) -> async::Task<void> {
    out = co_await lease.Release(on.After(3s));
  };
  const Tick asked = loop.Now();
  a.group.Spawn("release", release(a.lease, loop, released));
  loop.Advance(Duration(0));
  EXPECT_FALSE(a.leads()) << "from the call on";
  Pass(1s);
  EXPECT_TRUE(released && *released);
  EXPECT_FALSE(a.lost) << "given up, not lost";
  ASSERT_TRUE(b.acquired);
  EXPECT_LE(*b.acquired - asked, 1s);
  EXPECT_EQ(json::Find(*server.Find(kLeases, {"ns", "operator"}), {"spec", "leaseTransitions"})->get_int64(), 1);
}

TEST_F(LeaseTest, ACrashedHoldersLeaseIsTakenAfterItsDuration) {
  Process& a = Start("a");
  Pass(1s);
  Process& b = Start("b");
  Pass(5s);
  a.group.Cancel();
  a.wire.cut = true;
  const Tick crashed = loop.Now();
  Pass(10s);
  EXPECT_FALSE(b.acquired);
  Pass(5s);
  ASSERT_TRUE(b.acquired);
  EXPECT_LE(*b.acquired - crashed, 15s);
}

TEST_F(LeaseTest, AHolderThatIsCutOffStopsBeforeAnotherOneStarts) {
  Process& a = Start("a");
  Pass(1s);
  Process& b = Start("b");
  Pass(5s);
  a.wire.cut = true;
  const Tick cut = loop.Now();
  Pass(9100ms);
  EXPECT_FALSE(a.leads());
  ASSERT_TRUE(a.lost);
  EXPECT_NE(a.lost->find("could not be renewed"), std::string::npos) << *a.lost;
  Pass(10s);
  ASSERT_TRUE(b.acquired);
  EXPECT_GE(*b.acquired - cut, 11s);
}

TEST_F(LeaseTest, AProcessThatWasFrozenStartsNoWrite) {
  Process& a = Start("a");
  Pass(1s);
  // What a frozen process sees when it wakes: the same state, and a later time; nothing of it has run
  // meanwhile.
  EXPECT_TRUE(a.lease.held());
  EXPECT_TRUE(a.lease.MayWrite(loop.Now() + 7s));
  EXPECT_FALSE(a.lease.MayWrite(loop.Now() + 9s));
  EXPECT_FALSE(a.lease.MayWrite(loop.Now() + 1h));
}

TEST_F(LeaseTest, TheFenceLetsNoWriteLeaveLate) {
  class Recorder final : public net::Transport {
   public:
    async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
      sent.emplace_back(request.method, deadline.at());
      co_return net::Response{200, {}, ""};
    }
    async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request,
                                                               async::Deadline deadline) override {
      sent.emplace_back(request.method, deadline.at());
      co_return Fail(Code::kUnavailable, "not here");
    }
    std::vector<std::pair<std::string, Tick>> sent;
  } wire;
  Tick good_until = loop.Now() + 9s;
  Fence fence(loop, wire, [&] { return good_until; });
  std::vector<Code> refused;
  async::TaskGroup group(loop);
  const auto send = [](async::Loop& at, Fence& through, std::string method,
                       std::vector<Code>& no) -> async::Task<void> {
    const bool repeatable = method == "GET";
    if (method == "RECONFIGURE") method = "GET";
    const auto sent =
        co_await through.Send({.method = std::move(method), .target = "/", .repeatable = repeatable}, at.After(30s));
    if (!sent) no.push_back(sent.error().code());
  };
  group.Spawn("write", send(loop, fence, "PATCH", refused));
  loop.Advance(9s);
  group.Spawn("late", send(loop, fence, "DELETE", refused));
  group.Spawn("read", send(loop, fence, "GET", refused));
  // Slurm's GET /reconfigure/ is a write.
  group.Spawn("late reconfigure", send(loop, fence, "RECONFIGURE", refused));
  loop.Advance(Duration(0));
  ASSERT_EQ(wire.sent.size(), 2u);
  EXPECT_EQ(wire.sent[0], std::pair(std::string("PATCH"), good_until)) << "not to wait longer than it may be sent";
  EXPECT_EQ(wire.sent[1], std::pair(std::string("GET"), Tick() + 39s));
  EXPECT_EQ(refused, (std::vector{Code::kCancelled, Code::kCancelled}));
}

TEST_F(LeaseTest, AnotherOnesRecordEndsItAtOnce) {
  Process& a = Start("a");
  Pass(1s);
  server.Edit(kLeases, {"ns", "operator"}, "",
              [](json::Value& record) { json::MakeObject(record, {"spec"})["holderIdentity"] = "thief"; });
  Pass(3s);
  ASSERT_TRUE(a.lost);
  EXPECT_NE(a.lost->find("thief"), std::string::npos);
  EXPECT_FALSE(a.leads());
}

TEST_F(LeaseTest, AnotherOnesHandOnTheRecordIsNoLoss) {
  Process& a = Start("a");
  Pass(1s);
  for (int i = 0; i < 10; ++i) {
    server.Edit(kLeases, {"ns", "operator"}, "", [&](json::Value& record) {
      json::MakeObject(record, {"metadata", "labels"})["touched"] = std::to_string(i);
    });
    Pass(5s);
  }
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(FindText(*server.Find(kLeases, {"ns", "operator"}), {"metadata", "labels", "touched"}), "9");
}

TEST_F(LeaseTest, ADeletedRecordIsMadeAgain) {
  Process& a = Start("a");
  Pass(1s);
  server.Remove(kLeases, {"ns", "operator"});
  Pass(6s);
  EXPECT_TRUE(a.leads());
  EXPECT_EQ(Holder(), "a");
}

TEST_F(LeaseTest, ShortTroubleIsSurvived) {
  Process& a = Start("a");
  Pass(1s);
  for (int i = 0; i < 5; ++i) {
    a.wire.cut = true;
    Pass(4s);
    a.wire.cut = false;
    Pass(6s);
  }
  EXPECT_FALSE(a.lost);
  EXPECT_TRUE(a.leads());
}

TEST_F(LeaseTest, AStrangersClockDoesNotMatter) {
  loop.JumpWallClock(-24h);
  Process& a = Start("a");
  Pass(1s);
  loop.JumpWallClock(48h);
  Process& b = Start("b");
  Pass(1min);
  EXPECT_TRUE(a.leads());
  EXPECT_FALSE(b.acquired);
}

TEST_F(LeaseTest, NeverTwoLeadersWhateverHappens) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    async::VirtualLoop own_loop;
    FakeApiServer own_server(own_loop, seed);
    Random random(seed);
    std::vector<std::unique_ptr<Process>> all;
    uint64_t next = seed * 1000;
    own_server.faults = {.refused = 5, .unavailable = 5, .slow = 20, .slow_by = 4s, .lost_answer = 10};
    for (int i = 0; i < 3000; ++i) {
      if (all.size() < 3)
        all.push_back(std::make_unique<Process>(own_loop, own_server, "p" + std::to_string(next), next)), ++next;
      if (random.Percent(1)) all[random.Below(all.size())]->wire.cut ^= true;
      own_loop.Advance(Duration(random.Below(uint64_t(400ms / 1ns))));
      int leaders = 0;
      for (const auto& process : all) leaders += process->leads();
      ASSERT_LE(leaders, 1);
      for (auto& process : all) {
        if (!process->lost) continue;
        process->group.Cancel();
        own_loop.Advance(Duration(0));
        process.reset();
      }
      std::erase(all, nullptr);
    }
    own_server.faults = {};
    for (auto& process : all) process->wire.cut = false;
    own_loop.RunUntil([&] { return std::ranges::any_of(all, [](const auto& process) { return process->leads(); }); },
                      2min);
    EXPECT_TRUE(std::ranges::any_of(all, [](const auto& process) { return process->leads(); }));
    for (auto& process : all) process->group.Cancel();
    own_loop.Advance(Duration(0));
  }
}

TEST_F(LeaseTest, ReleaseBeforeItIsOursEndsTheWait) {
  Start("a");
  Pass(1s);
  Process& b = Start("b");
  Pass(1s);
  std::optional<Result<void>> released;
  auto release = [](Lease& lease, async::Loop& on, std::optional<Result<void>>& out) -> async::Task<void> {
    out = co_await lease.Release(on.After(3s));
  };
  b.group.Spawn("release", release(b.lease, loop, released));
  Pass(1s);
  EXPECT_TRUE(released && *released);
  EXPECT_EQ(b.group.size(), 0u);
  EXPECT_EQ(Holder(), "a");
}

// It stayed in the record for its whole duration, held by a process that was gone.
TEST_F(LeaseTest, ReleaseWhileItBecomesOursGivesItUp) {
  Process& a = Start("a");
  loop.Advance(3ms);
  ASSERT_EQ(Holder(), "a") << "written, and not answered yet";
  ASSERT_FALSE(a.leads());
  std::optional<Result<void>> released;
  auto release = [](Lease& lease, async::Loop& on, std::optional<Result<void>>& out) -> async::Task<void> {
    out = co_await lease.Release(on.After(3s));
  };
  a.group.Spawn("release", release(a.lease, loop, released));
  Pass(1s);
  EXPECT_TRUE(released && *released);
  EXPECT_FALSE(a.acquired);
  EXPECT_EQ(Holder(), "");
}

// Whoever waited took it at once, while its holder could still write.
TEST_F(LeaseTest, ADeletedRecordIsNotTakenBeforeItsHoldersTimeIsOver) {
  Process& holder = Start("a");
  Pass(3s);
  ASSERT_TRUE(holder.leads());
  Process& waiting = Start("b");
  Pass(3s);
  holder.wire.cut = true;
  server.Remove(kLeases, {"ns", "operator"});
  const Tick deleted = loop.Now();
  Pass(12s);
  EXPECT_FALSE(waiting.acquired);
  Pass(3s);
  ASSERT_TRUE(waiting.acquired);
  EXPECT_GE(*waiting.acquired - deleted, 13s);
}

TEST_F(LeaseTest, AHolderWhoseRecordIsDeletedKeepsIt) {
  Process& holder = Start("a");
  Pass(3s);
  Process& waiting = Start("b");
  Pass(3s);
  server.Remove(kLeases, {"ns", "operator"});
  Pass(30s);
  EXPECT_TRUE(holder.leads());
  EXPECT_FALSE(waiting.acquired);
}

}  // namespace
}  // namespace capstan::kube
