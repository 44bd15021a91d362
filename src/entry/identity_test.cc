#include "entry/identity.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entry/port_test.h"

namespace capstan::entry {
namespace {

using Words = std::vector<std::string>;

struct NameCase {
  const char* what;
  std::string wanted;
  Words given;
  std::string name;
  Words left;
};

TEST(SettleNodeName, IsWhatThePodIsKnownBy) {
  const NameCase cases[] = {
      {"that of the host", "", {"-Z"}, "rack-0", {"-Z"}},
      {"a user's", "", {"-Z", "-N", "node1", "-v"}, "node1", {"-Z", "-v", "-N", "node1"}},
      {"the last of several", "", {"-Na", "-Nb"}, "b", {"-N", "b"}},
      {"the operator's, over a user's", "rack-0", {"-Z", "-N", "node1"}, "rack-0", {"-Z"}},
      {"the operator's, on the machine's network", "rack-7", {"-N", "rack-7"}, "rack-7", {"-N", "rack-7"}},
      {"over one in a cluster of flags", "rack-0", {"-vNnode1"}, "rack-0", {"-v"}},
  };
  for (const NameCase& one : cases) {
    ::testing::internal::CaptureStderr();
    Words words = one.given;
    EXPECT_EQ(SettleNodeName(one.wanted, "rack-0.slurm.example", &words), one.name) << one.what;
    EXPECT_EQ(words, one.left) << one.what;
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.contains("left out"), one.given.back().ends_with("node1") && one.wanted == "rack-0") << said;
  }
}

TEST(IdentityText, IsJson) {
  EXPECT_EQ(IdentityText("rack-0", true), "{\"node\": \"rack-0\", \"steps\": true}\n");
  EXPECT_EQ(IdentityText("a\"b", false), "{\"node\": \"a\\\"b\", \"steps\": false}\n");
}

class Caller {
 public:
  explicit Caller(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    constexpr std::string_view kRequest = "GET /slurmd HTTP/1.1\r\n\r\n";
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(write(fd_, kRequest.data(), kRequest.size()), ssize_t(kRequest.size()));
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
  ~Caller() { close(fd_); }

  std::string Answer() const {
    char buffer[1024];
    const ssize_t count = read(fd_, buffer, sizeof buffer);
    return {buffer, count > 0 ? size_t(count) : 0};
  }

 private:
  int fd_;
};

// Anybody may ask: whoever did so all the time kept process 1 busy with a look at all processes for each.
TEST(IdentityTest, HoweverManyAskProcessesAreLookedAtTenTimesASecond) {
  int looks = 0;
  bool steps = false;
  auto identity = *Identity::Listen(TestPort(3), "rack-0", [&] {
    ++looks;
    return steps;
  });
  const auto ask = [&](Answerer::Clock::time_point now) {
    const Caller caller(TestPort(3));
    EXPECT_TRUE(identity.Serve(now));
    return caller.Answer();
  };
  const auto begin = Answerer::Clock::now();
  for (int call = 0; call < 20; ++call)
    EXPECT_TRUE(ask(begin + std::chrono::milliseconds(4 * call)).ends_with(IdentityText("rack-0", false)));
  EXPECT_EQ(looks, 1);
  steps = true;
  EXPECT_TRUE(ask(begin + std::chrono::milliseconds(100)).ends_with(IdentityText("rack-0", true)));
  EXPECT_EQ(looks, 2);
}

}  // namespace
}  // namespace capstan::entry
