// The lease on a real API server, held by real processes: what its audit log says they did.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

// One contender: writes without pause and without asking, as far as the fence lets it.
struct Contender {
  Contender(const Config& config, const std::string& name, int told)
      : lease_http(loop, {.server = config.server, .credentials = config.credentials}),
        http(loop, {.server = config.server, .credentials = config.credentials, .max_requests = 2}),
        fence(loop, http, [this] { return lease.good_until(); }),
        lease_client(loop, lease_http, {.field_manager = name, .seed = uint64_t(getpid())}),
        client(loop, fence, {.field_manager = name, .seed = uint64_t(getpid()) + 1}),
        lease(loop, lease_client,
              {.key = {"default", "frozen"},
               .identity = name,
               .duration = 5s,
               .renew_deadline = 3500ms,
               .retry = 400ms,
               .poll = 200ms,
               .seed = uint64_t(getpid()) + 2}),
        told(told) {}

  async::Task<void> Write(int number) {
    const std::string member = "writer-" + std::to_string(number);
    while (true) {
      std::string patch = R"({"data":{")" + member + R"(":")" + std::to_string(++writes) + R"("}})";
      const auto written = co_await client.Patch(kConfigMaps, {"default", "frozen"}, PatchType::kMerge,
                                                 std::move(patch), {}, loop.After(20s));
      if (!written) co_await async::Sleep(loop, 1ms);
      if (written && ++accepted % kWritesATick == 0) Tell('w');
    }
  }
  void Tell(char what) const { (void)!write(told, &what, 1); }

  [[noreturn]] void Run() {
    async::TaskGroup group(loop);
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
  int told;
  int writes = 0, accepted = 0;
};

// A process that contends.
class Process {
 public:
  Process(const Config& config, const std::string& name) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      log::SetLevel(log::Level::kError);
      Contender(config, name, ends[1]).Run();
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

// Writes that `manager` sent, from the audit log.
std::vector<AuditEntry> WritesOf(const std::string& manager, const std::string& resource) {
  std::vector<AuditEntry> entries;
  std::ifstream file(Apiserver().audit_log());
  for (std::string line; std::getline(file, line);) {
    const auto entry = json::Parse(line);
    if (!entry) continue;
    const std::string_view uri = json::FindText(*entry, {"requestURI"});
    const std::string_view verb = json::FindText(*entry, {"verb"});
    if (uri.find("fieldManager=" + manager) == uri.npos || uri.find(resource) == uri.npos) continue;
    if (verb == "get" || verb == "watch" || verb == "list") continue;
    entries.push_back({std::string(json::FindText(*entry, {"requestReceivedTimestamp"})), line});
  }
  return entries;
}

TEST(LeaseOnServer, AThawedHolderWritesNothing) {
  const Config config = Apiserver().Admin();
  async::RealLoop loop;
  net::HttpClient http(loop, {.server = config.server, .credentials = config.credentials});
  Client client(loop, http, {.field_manager = "test"});
  const auto created =
      RunTask(loop, client.Create(kConfigMaps, {"default", ""},
                                  R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"frozen"}})", {},
                                  loop.After(20s)));
  ASSERT_TRUE(created) << created.error().message();

  std::vector<std::string> names = {"holder-0", "holder-1", "holder-2", "holder-3"};
  std::unique_ptr<Process> leader = std::make_unique<Process>(config, names[0]);
  ASSERT_TRUE(leader->Says('+'));
  for (size_t i = 1; i < names.size(); ++i) {
    auto next = std::make_unique<Process>(config, names[i]);
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
    for (const AuditEntry& late : before)
      EXPECT_LT(late.received, first) << "written after another one led: " << late.text;
    for (const AuditEntry& late : WritesOf(names[i - 1], "/leases/"))
      EXPECT_LT(late.received, first) << "renewed after another one led: " << late.text;
    leader = std::move(next);
  }
}

}  // namespace
}  // namespace capstan::kube
