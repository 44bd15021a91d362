#include "entry/answerer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entry/port_test.h"

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;  // NOLINT

class AnswererTest : public ::testing::Test {
 protected:
  AnswererTest() : answerer_(*Answerer::Listen(TestPort(2))) {}

  int Call(const std::string& text) const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(TestPort(2)), .sin_addr = {}, .sin_zero = {}};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(write(fd, text.data(), text.size()), ssize_t(text.size()));
    return fd;
  }
  void Serve(Answerer::Clock::time_point now = Answerer::Clock::now()) {
    answerer_.Serve(now, [](std::string_view path) -> Answerer::Answer {
      return path == "/it" ? Answerer::Answer{"200 OK", "the text"} : Answerer::Answer();
    });
  }
  static std::string ReadAll(int fd) {
    std::string all;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(fd, buffer, sizeof buffer)) > 0;) all.append(buffer, size_t(count));
    close(fd);
    return all;
  }

  Answerer answerer_;
};

TEST_F(AnswererTest, AnswersItsPathAndNoOther) {
  const int good = Call("GET /it HTTP/1.1\r\nHost: x\r\n\r\n"), other = Call("GET /others HTTP/1.1\r\n\r\n");
  Serve();
  EXPECT_TRUE(ReadAll(good).ends_with("Content-Length: 8\r\n\r\nthe text"));
  EXPECT_TRUE(ReadAll(other).starts_with("HTTP/1.1 404 "));
}

// Anybody may call: whoever says too much or nothing must not keep others out.
TEST_F(AnswererTest, CutsOffWhoIsSlowOrSaysTooMuch) {
  const int slow = Call("GET /it"), talks = Call(std::string(4000, 'x'));
  Serve();
  EXPECT_EQ(ReadAll(talks), "");
  ASSERT_TRUE(answerer_.next());
  Serve(*answerer_.next());
  EXPECT_EQ(ReadAll(slow), "");
  EXPECT_FALSE(answerer_.next());
}

// Slurm's own daemons call at the port of a slurmctld that does not run: thousands of them left none for a kubelet.
TEST_F(AnswererTest, WhoSpeaksNoHttpIsCutOffAtOnce) {
  for (const char* words : {"POST /it HTTP/1.1\r\n", "\x16\x03\x01", "G\xff"}) {
    const int other = Call(words);
    Serve();
    EXPECT_EQ(ReadAll(other), "");
  }
  EXPECT_FALSE(answerer_.next());
}

// Else those who say nothing would keep all others out.
TEST_F(AnswererTest, OfMoreThanEightTheOldestGivesWay) {
  std::vector<int> silent;
  for (int i = 0; i < 9; ++i) silent.push_back(Call("GET"));
  const int asks = Call("GET /it HTTP/1.1\r\n\r\n");
  Serve();
  EXPECT_TRUE(ReadAll(asks).ends_with("the text"));
  EXPECT_EQ(ReadAll(silent.front()), "");
  silent.erase(silent.begin());
  std::vector<pollfd> waiting;
  answerer_.AddTo(&waiting);
  EXPECT_EQ(waiting.size(), 9u) << "and for whoever comes next";
  const int late = Call("GET /i");
  Serve();
  EXPECT_EQ(write(late, "t HTTP/1.1\r\n\r\n", 15), 15);
  Serve();
  EXPECT_TRUE(ReadAll(late).ends_with("the text"));
  for (const int fd : silent) close(fd);
}

// Its thread reaps processes, and passes signals on.
TEST_F(AnswererTest, TakesSixteenInOneTurn) {
  std::vector<int> callers;
  for (int i = 0; i < 17; ++i) callers.push_back(Call("GET /it HTTP/1.1\r\n\r\n"));
  int answered = 0;
  answerer_.Serve(Answerer::Clock::now(), [&](std::string_view) -> Answerer::Answer {
    ++answered;
    return {"200 OK", "x"};
  });
  EXPECT_EQ(answered, 16);
  Serve();
  EXPECT_TRUE(ReadAll(callers.back()).starts_with("HTTP/1.1 200 OK"));
  callers.pop_back();
  for (const int fd : callers) close(fd);
}

}  // namespace
}  // namespace capstan::entry
