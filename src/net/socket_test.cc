#include "net/socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "net/testing/run.h"

namespace capstan::net {
namespace {

using testing::RunTask;

class SocketTest : public ::testing::Test {
 protected:
  SocketTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = std::make_unique<Socket>(loop_, ends[0]);
    peer_ = ends[1];
  }
  ~SocketTest() override { close(peer_); }

  // What has been written to the peer.
  std::string Drain() const {
    std::string all(1 << 20, '\0');
    const ssize_t got = recv(peer_, all.data(), all.size(), MSG_DONTWAIT);
    all.resize(size_t(std::max<ssize_t>(got, 0)));
    return all;
  }
  void Say(std::string_view bytes) const {
    EXPECT_EQ(send(peer_, bytes.data(), bytes.size(), 0), ssize_t(bytes.size()));
  }

  // Whether somebody else had a turn before all was written.
  async::Task<bool> WriteMuch(bool listening, bool& turned) {
    const std::string piece(16 << 10, 'x');
    loop_.Post([&turned] { turned = true; });
    for (int i = 0; i < 16; ++i) {
      if (listening)
        EXPECT_TRUE(co_await socket_->WriteUntilHeard(piece, into_, loop_.After(10s)));
      else
        EXPECT_TRUE(co_await socket_->Write(piece, loop_.After(10s)));
      EXPECT_EQ(Drain().size(), piece.size());
    }
    co_return turned;
  }

  async::RealLoop loop_;
  std::unique_ptr<Socket> socket_;
  int peer_ = -1;
  std::string into_;
};

// A server that takes whatever comes.
TEST_F(SocketTest, OthersHaveTheirTurnWhileMuchIsWritten) {
  for (const bool listening : {false, true}) {
    bool turned = false;
    EXPECT_TRUE(RunTask(loop_, WriteMuch(listening, turned))) << listening;
  }
}

TEST_F(SocketTest, NothingIsWrittenAfterTheDeadline) {
  const async::Deadline passed(loop_.Now());
  EXPECT_EQ(RunTask(loop_, socket_->Write("x", passed)).error().code(), Code::kDeadline);
  EXPECT_EQ(RunTask(loop_, socket_->WriteUntilHeard("x", into_, passed)).error().code(), Code::kDeadline);
  EXPECT_EQ(Drain(), "");
}

TEST_F(SocketTest, StopsWritingWhenThePeerSpeaksOrEnds) {
  auto heard = RunTask(loop_, socket_->WriteUntilHeard("one", into_, loop_.After(10s)));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->written, 3u);
  EXPECT_EQ(into_, "");
  Say("stop");
  heard = RunTask(loop_, socket_->WriteUntilHeard("two", into_, loop_.After(10s)));
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->written, 0u);
  EXPECT_EQ(into_, "stop");
  EXPECT_FALSE(heard->ended);
  shutdown(peer_, SHUT_WR);
  heard = RunTask(loop_, socket_->WriteUntilHeard("three", into_, loop_.After(10s)));
  ASSERT_TRUE(heard);
  EXPECT_TRUE(heard->ended);
  EXPECT_EQ(Drain(), "one");
}

async::Task<void> Write(Socket& socket, std::string_view bytes, std::string& into, async::Deadline deadline,
                        std::optional<Result<Socket::Heard>>& heard) {
  heard = co_await socket.WriteUntilHeard(bytes, into, deadline);
}

TEST(SocketInVirtualTime, WhoCannotWriteLooksFourTimesASecond) {
  async::VirtualLoop loop;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Socket socket(loop, ends[0]);
  const Tick begun = loop.Now();
  loop.Schedule(begun + 1100ms, [&] { EXPECT_EQ(send(ends[1], "stop", 4, 0), 4); });
  const std::string much(64 << 20, 'x');  // more than fits
  std::string into;
  std::optional<Result<Socket::Heard>> heard;
  async::TaskGroup group(loop);
  group.Spawn("write", Write(socket, much, into, loop.After(1h), heard));
  ASSERT_TRUE(loop.RunUntil([&] { return group.size() == 0; }, 2h));
  close(ends[1]);
  ASSERT_TRUE(*heard) << heard->error().message();
  EXPECT_EQ(into, "stop");
  EXPECT_LT((*heard)->written, much.size());
  EXPECT_EQ(loop.Now() - begun, 1250ms);
}

class TcpTest : public ::testing::Test {
 protected:
  TcpTest() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    peer_ = accept(listener, nullptr, nullptr);
    close(listener);
    socket_ = std::make_unique<Socket>(loop_, fd_);
  }
  ~TcpTest() override { close(peer_); }

  int OptionOf(int level, int option) const {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(getsockopt(fd_, level, option, &value, &size), 0);
    return value;
  }

  async::RealLoop loop_;
  int fd_ = -1, peer_ = -1;
  std::unique_ptr<Socket> socket_;
};

TEST_F(TcpTest, APeerThatVanishedIsNoticedByTheKernel) {
  EXPECT_EQ(OptionOf(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(OptionOf(IPPROTO_TCP, TCP_KEEPIDLE), 30);
  EXPECT_EQ(OptionOf(IPPROTO_TCP, TCP_KEEPINTVL), 10);
  EXPECT_EQ(OptionOf(IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(OptionOf(IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
}

TEST_F(TcpTest, WhatBrokeItIsSaidAgain) {
  const linger hard{1, 0};
  setsockopt(peer_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close(std::exchange(peer_, -1));
  std::string into;
  const Result<size_t> first = RunTask(loop_, socket_->Read(into, loop_.After(10s)));
  ASSERT_FALSE(first);
  const Result<size_t> again = RunTask(loop_, socket_->Read(into, loop_.After(10s)));
  ASSERT_FALSE(again) << "the kernel says it once and then that the peer has ended";
  EXPECT_EQ(again.error(), first.error());
}

}  // namespace
}  // namespace capstan::net
