#include "entry/overheard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace capstan::entry {
namespace {

// Our own standard error is a pipe that a test reads, or does not.
class OverheardTest : public ::testing::Test {
 protected:
  OverheardTest() : overheard_(*Overheard::Begin()), stderr_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe2(log_, O_NONBLOCK | O_CLOEXEC), 0);
    dup2(log_[1], STDERR_FILENO);
  }
  ~OverheardTest() override {
    dup2(stderr_, STDERR_FILENO);
    for (const int fd : {stderr_, log_[0], log_[1]}) close(fd);
  }

  void Say(const std::string& text) {
    ASSERT_EQ(write(overheard_.end(), text.data(), text.size()), ssize_t(text.size()));
  }
  std::string Log() const {
    std::string all;
    char buffer[4096];
    for (ssize_t count = 0; (count = read(log_[0], buffer, sizeof buffer)) > 0;) all.append(buffer, size_t(count));
    return all;
  }

  Overheard overheard_;
  const int stderr_;
  int log_[2];
  std::string heard_;
  const Overheard::Hear hear_ = [this](std::string_view bytes) { heard_ += bytes; };
};

TEST_F(OverheardTest, PassesOnWhatItHears) {
  Say("one\n");
  Say("two\n");
  overheard_.Turn(hear_);
  EXPECT_EQ(heard_, "one\ntwo\n");
  EXPECT_EQ(Log(), "one\ntwo\n");
}

// A log that nobody reads must hold up the daemon, as it would without us, and not our signals.
TEST_F(OverheardTest, WaitsForNobodyAndLosesNothing) {
  const std::string line(1000, 'x');
  std::string all;
  for (int i = 0; i < 100; ++i) {
    Say(line);
    all += line;
    overheard_.Turn(hear_);
  }
  EXPECT_LT(heard_.size(), all.size()) << "it reads no more than it can pass on";
  std::vector<pollfd> waiting;
  overheard_.AddTo(&waiting);
  EXPECT_EQ(waiting.front().fd, STDERR_FILENO);
  overheard_.Finish(hear_);
  EXPECT_EQ(heard_, all) << "the last words of one that has ended are heard anyway";
  std::string log;
  for (int i = 0; i < 100; ++i) {
    log += Log();
    overheard_.Turn(hear_);
  }
  EXPECT_EQ(log, all);
}

}  // namespace
}  // namespace capstan::entry
