#include "entry/notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace capstan::entry {
namespace {

TEST(ParseNotification, KnowsTheFourStatements) {
  const Notification all = ParseNotification("READY=1\nMAINPID=42\nRELOADING=1\nSTOPPING=1\n");
  EXPECT_TRUE(all.ready && all.reloading && all.stopping);
  EXPECT_EQ(all.main_pid, 42);
  // What Slurm sends, without a newline at the end.
  EXPECT_EQ(ParseNotification("READY=1\nMAINPID=4711").main_pid, 4711);
}

TEST(ParseNotification, PassesOverWhatMakesNoSense) {
  for (const char* text : {"", "\n", "READY=0", "READY=10", "READY", "STATUS=ok", "X_MAINPID=3",
                           "MAINPID=", "MAINPID=1", "MAINPID=0", "MAINPID=-1", "MAINPID=x", "MAINPID=99999999999999"}) {
    const Notification none = ParseNotification(text);
    EXPECT_FALSE(none.ready || none.reloading || none.stopping || none.main_pid) << text;
  }
}

class NotifySocketTest : public ::testing::Test {
 protected:
  NotifySocketTest() : folder_(mkdtemp(name_)) {}
  ~NotifySocketTest() override { rmdir(folder_.c_str()); }

  void Send(const std::string& path, std::string_view text) {
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    // As Slurm does it: connected, the length counting one NUL behind the path.
    ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t) + path.size() + 1), 0);
    ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(fd);
  }

  char name_[32] = "/tmp/notify_test.XXXXXX";
  const std::string folder_;
};

TEST_F(NotifySocketTest, ReceivesMessagesInOrderWithTheKernelsWordForTheSender) {
  auto socket = NotifySocket::Bind(folder_ + "/notify");
  ASSERT_TRUE(socket);
  EXPECT_FALSE(socket->Receive());
  Send(socket->path(), "READY=1");
  Send(socket->path(), "MAINPID=7");
  const auto first = socket->Receive();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ready);
  EXPECT_EQ(first->sender, getpid());
  EXPECT_EQ(socket->Receive()->main_pid, 7);
  EXPECT_FALSE(socket->Receive());
}

TEST_F(NotifySocketTest, TakesThePlaceOfASocketLeftBehind) {
  auto dead = NotifySocket::Bind(folder_ + "/notify");
  auto socket = NotifySocket::Bind(folder_ + "/notify");
  ASSERT_TRUE(socket);
  Send(socket->path(), "READY=1");
  EXPECT_TRUE(socket->Receive());
}

TEST_F(NotifySocketTest, SaysWhyItCannotListen) {
  EXPECT_EQ(NotifySocket::Bind("/nonexistent/notify").error().message(),
            "cannot listen on /nonexistent/notify: No such file or directory");
  EXPECT_EQ(NotifySocket::Bind(std::string(200, 'x')).error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace capstan::entry
