// The lease on a real API server, held by real processes: what its audit log says they did.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fstream>

#include "apiserver.h"
#include "async/timer.h"
#include "base/log.h"
#include "json/value.h"
#include "kube/fence.h"
#include "kube/lease.h"
#include "net/client.h"
#include "net/testing/run.h"

namespace capstan::kube {
namespace {

using net::testing::RunTask;
using testing::Apiserver;

constexpr int kLost = 3;     // how a process ends that has lost the lease
constexpr int kWriters = 6;  // more than there are connections, so that some are always about to send
constexpr int kWritesATick = 40;
constexpr int kPatienceMs = 60'000;
const Key kWritten{"default", "written"};  // the ConfigMap that all of them write

// One contender: writes without pause and without asking, as far as the fence lets it.
struct Contender {
  Contender(const Config& config, Lease::Options options, int told)
      : lease_http(loop, {.server = config.server, .credentials = config.credentials}),
        http(loop, {.server = config.server, .credentials = config.credentials, .max_requests = 2}),
        fence(loop, http, [this] { return lease.good_until(); }),
        lease_client(loop, lease_http, {.field_manager = options.identity, .seed = uint64_t(getpid())}),
        client(loop, fence, {.field_manager = options.identity, .seed = uint64_t(getpid()) + 1}),
        lease(loop, lease_client, std::move(options)),
        terminated(loop.context(), SIGTERM),
        told(told) {}

  async::Task<void> Write(int number) {
    const std::string member = "writer-" + std::to_string(number);
    while (true) {
      std::string patch = R"({"data":{")" + member + R"(":")" + std::to_string(++writes) + R"("}})";
      const auto written =
          co_await client.Patch(kConfigMaps, kWritten, PatchType::kMerge, std::move(patch), {}, loop.After(20s));
      if (!written) co_await async::Sleep(loop, 1ms);
      if (written && ++accepted % kWritesATick == 0) Tell('w');
    }
  }
  void Tell(char what) const { (void)!write(told, &what, 1); }

  async::Task<void> Release() {
    co_await terminated.async_wait(boost::asio::use_awaitable);
    const auto released = co_await lease.Release(loop.After(3s));
    _exit(released ? 0 : 1);
  }

  [[noreturn]] void Run() {
    async::TaskGroup group(loop);
    group.Spawn("release", Release());
    group.Spawn("lease", lease.Run([this] { Tell('+'); }, [](std::string) { _exit(kLost); }));
    for (int i = 0; i < kWriters; ++i) group.Spawn("write", Write(i));
    loop.Run();
    _exit(0);
  }

  async::RealLoop loop;
  net::HttpClient lease_http, http;
  Fence fence;
  Client lease_client, client;
  Lease lease;
  boost::asio::signal_set terminated;
  int told;
  int writes = 0, accepted = 0;
};

// A process that contends.
class Process {
 public:
  Process(const Config& config, const Lease::Options& options) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      log::SetLevel(log::Level::kError);
      Contender(config, options, ends[1]).Run();
    }
    close(ends[1]);
    told_ = ends[0];
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(told_);
  }
  void Signal(int signal) const { kill(pid_, signal); }

  // Waits until it says so: '+' leads, 'w' has written a lot since. False: it did not, or ended.
  bool Says(char what) const {
    pollfd watched{told_, POLLIN, 0};
    char heard = 0;
    while (heard != what) {
      if (poll(&watched, 1, kPatienceMs) != 1 || read(told_, &heard, 1) != 1) return false;
    }
    return true;
  }
  // How it ended by itself.
  int Status() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  int told_ = -1;
};

struct AuditEntry {
  std::string received;  // RFC 3339 with microseconds: ordered as text
  std::string text;
};

// From the audit log: those of which `pick(verb, uri)` says so.
template <class Pick>
std::vector<AuditEntry> Audited(Pick pick) {
  std::vector<AuditEntry> entries;
  std::ifstream file(Apiserver().audit_log());
  for (std::string line; std::getline(file, line);) {
    const auto entry = json::Parse(line);
    if (entry && pick(json::FindText(*entry, {"verb"}), json::FindText(*entry, {"requestURI"})))
      entries.push_back({std::string(json::FindText(*entry, {"requestReceivedTimestamp"})), line});
  }
  return entries;
}

// Writes that `manager` sent.
std::vector<AuditEntry> WritesOf(const std::string& manager, const std::string& resource) {
  return Audited([&](std::string_view verb, std::string_view uri) {
    if (uri.find("fieldManager=" + manager) == uri.npos || uri.find(resource) == uri.npos) return false;
    return verb != "get" && verb != "watch" && verb != "list";
  });
}

// When the server received it.
Time ReceivedAt(const AuditEntry& entry) { return *ParseRfc3339(entry.received); }

class LeaseOnServer : public ::testing::Test {
 protected:
  void SetUp() override {
    async::RealLoop loop;
    net::HttpClient http(loop, {.server = config_.server, .credentials = config_.credentials});
    Client client(loop, http, {.field_manager = "test"});
    const auto created =
        RunTask(loop, client.Create(kConfigMaps, {kWritten.ns, ""},
                                    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"written"}})", {},
                                    loop.After(20s)));
    const bool there = created || created.error().code() == Code::kAlreadyExists;
    ASSERT_TRUE(there) << created.error().message();
  }

  const Config config_ = Apiserver().Admin();
};

TEST_F(LeaseOnServer, AThawedHolderWritesNothing) {
  const auto contend = [this](const std::string& name) {
    return std::make_unique<Process>(config_, Lease::Options{.key = {"default", "frozen"},
                                                             .identity = name,
                                                             .duration = 5s,
                                                             .renew_deadline = 3500ms,
                                                             .retry = 400ms,
                                                             .poll = 200ms,
                                                             .seed = 1});
  };
  std::vector<std::string> names = {"holder-0", "holder-1", "holder-2", "holder-3"};
  std::unique_ptr<Process> leader = contend(names[0]);
  ASSERT_TRUE(leader->Says('+'));
  for (size_t i = 1; i < names.size(); ++i) {
    auto next = contend(names[i]);
    ASSERT_TRUE(leader->Says('w'));
    leader->Signal(SIGSTOP);
    ASSERT_TRUE(next->Says('+')) << "a frozen holder does not keep the lease";
    ASSERT_TRUE(next->Says('w'));
    leader->Signal(SIGCONT);
    EXPECT_EQ(leader->Status(), kLost);
    ASSERT_TRUE(next->Says('w'));

    const auto before = WritesOf(names[i - 1], "/configmaps/");
    const auto after = WritesOf(names[i], "/configmaps/");
    ASSERT_FALSE(before.empty() || after.empty());
    const std::string first = std::ranges::min_element(after, {}, &AuditEntry::received)->received;
    // One may have been past its last check, and not yet with the kernel, when the process froze.
    std::vector<std::string> late;
    for (const auto& writes : {before, WritesOf(names[i - 1], "/leases/")}) {
      for (const AuditEntry& entry : writes) {
        if (entry.received >= first) late.push_back(entry.text);
      }
    }
    EXPECT_LE(late.size(), 1u) << "written after another one led: " << ::testing::PrintToString(late);
    leader = std::move(next);
  }
}

// With the times that a service uses. The server's log is the judge, so that only its clock counts; the one wait that
// cannot be shortened is that for the lease of the killed one to run out.
TEST_F(LeaseOnServer, TheNextOneLeadsAtOnceAfterAStopAndWithinFifteenSecondsAfterACrash) {
  const auto contend = [this](const std::string& name) {
    return std::make_unique<Process>(config_,
                                     Lease::Options{.key = {"default", "passed-on"}, .identity = name, .seed = 1});
  };
  const auto stopped = contend("stopped");
  ASSERT_TRUE(stopped->Says('+'));
  const auto killed = contend("killed");
  ASSERT_TRUE(stopped->Says('w'));
  stopped->Signal(SIGTERM);
  EXPECT_EQ(stopped->Status(), 0) << "it has given the lease up";
  ASSERT_TRUE(killed->Says('+'));
  const auto last = contend("last");
  ASSERT_TRUE(killed->Says('w'));
  killed->Signal(SIGKILL);
  ASSERT_TRUE(last->Says('+'));

  const auto latest = [](const std::string& manager) {
    return std::ranges::max(WritesOf(manager, "/leases/"), {}, &AuditEntry::received);
  };
  const auto first = [](const std::string& manager) {
    return std::ranges::min(WritesOf(manager, "/leases/"), {}, &AuditEntry::received);
  };
  // Its first look after the release finds the lease free, and looks are 0.7 s apart. (One may have been on its way.)
  const std::string released = latest("stopped").received, taken = first("killed").received;
  ASSERT_LT(released, taken);
  const auto looks = Audited([](std::string_view verb, std::string_view uri) {
    return verb == "get" && uri.find("/leases/passed-on") != uri.npos;
  });
  const auto between = [&](const AuditEntry& look) { return released < look.received && look.received < taken; };
  EXPECT_LE(std::ranges::count_if(looks, between), 2);
  const Duration crash = ReceivedAt(first("last")) - ReceivedAt(latest("killed"));
  EXPECT_GE(crash, 13s) << "not before it has stood unchanged for its duration";
  EXPECT_LE(crash, 60s);
}

}  // namespace
}  // namespace capstan::kube
