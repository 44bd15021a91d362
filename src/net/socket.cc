#include "net/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/un.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "async/yield.h"

namespace asio = boost::asio;

namespace capstan::net {
namespace {

// A peer that vanished without a word is noticed by the kernel within 60 s when nothing is sent to it, and
// within 30 s when something is.
constexpr int kProbeAfterSeconds = 30;
constexpr int kProbeEverySeconds = 10;
constexpr int kProbes = 3;
constexpr int kUnacknowledgedMs = 30'000;

// So much is read from a busy peer, or written to one, before others get their turn.
constexpr size_t kTurnBytes = 128 << 10;
// What a write counts for at least: small ones take their time, too.
constexpr size_t kLeastTurnBytes = 1 << 10;

constexpr size_t kSliceBytes = 64 << 10;
constexpr Duration kLookEvery = 250ms;

void SetTcpOptions(int fd) {
  const auto set = [fd](int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

// Calls `fire` at a deadline unless it is destroyed before.
class Alarm {
 public:
  Alarm(async::Loop& loop, async::Deadline deadline, std::move_only_function<void()> fire) : loop_(loop) {
    if (deadline.never()) return;
    id_ = loop.Schedule(deadline.at(), [this, fire = std::move(fire)]() mutable {
      id_.reset();
      fire();
    });
  }
  ~Alarm() {
    if (id_) loop_.Unschedule(*id_);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  async::Loop& loop_;
  std::optional<async::Loop::TimerId> id_;
};

}  // namespace

Address Address::Unix(std::string_view path) {
  Address address;
  auto& unix_address = reinterpret_cast<sockaddr_un&>(address.storage);
  unix_address.sun_family = AF_UNIX;
  path.copy(unix_address.sun_path, sizeof unix_address.sun_path - 1);
  address.size = socklen_t(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

std::string Address::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return "[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  return reinterpret_cast<const sockaddr_un&>(storage).sun_path;
}

Socket::Socket(async::Loop& loop, int fd) : loop_(loop), descriptor_(loop.context(), fd) {
  boost::system::error_code ignored;
  descriptor_.native_non_blocking(true, ignored);
  SetTcpOptions(fd);  // without effect on a unix socket
}

Socket::~Socket() {
  if (!ssl_) return;
  // Our close_notify, if it fits into the socket's buffer; nobody waits for the peer's.
  if (failure_.empty() && SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
  SSL_free(ssl_);
  SSL_free(outer_ssl_);
  ERR_clear_error();
}

async::Task<Result<std::unique_ptr<Socket>>> Socket::Connect(async::Loop& loop, Address address,
                                                             async::Deadline deadline) {
  const int fd = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) co_return Fail(Code::kUnavailable, std::string("no socket: ") + std::strerror(errno));
  auto connecting = std::make_unique<Socket>(loop, fd);
  int error = ::connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    CAPSTAN_CO_CHECK_OK(co_await connecting->Wait(Wants::kWrite, deadline));
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) co_return Fail(Code::kUnavailable, std::strerror(error));
  // Registered anew: Asio goes on watching a descriptor that once waited to become writable for just that, and it is
  // writable whenever it is waited for again, so that each such wait would wake the loop twice.
  co_return std::make_unique<Socket>(loop, connecting->descriptor_.release());
}

async::Task<Result<void>> Socket::StartTls(std::shared_ptr<const TlsContext> context, std::string server_name,
                                           async::Deadline deadline) {
  outer_ssl_ = std::exchange(ssl_, nullptr);
  ssl_ = outer_ssl_ ? context->NewClientInside(outer_ssl_, server_name)
                    : context->NewClient(descriptor_.native_handle(), server_name);
  co_return co_await Handshake(deadline);
}

async::Task<Result<void>> Socket::AcceptTls(std::shared_ptr<const TlsContext> context, async::Deadline deadline) {
  ssl_ = context->NewServer(descriptor_.native_handle());
  co_return co_await Handshake(deadline);
}

async::Task<Result<void>> Socket::Handshake(async::Deadline deadline) {
  while (true) {
    const Attempt attempt = TryHandshake();
    if (attempt.state == Attempt::State::kDone) co_return Result<void>();
    if (attempt.state == Attempt::State::kFailed) co_return Fail(Failure());
    CAPSTAN_CO_CHECK_OK(
        co_await Wait(attempt.state == Attempt::State::kWantsRead ? Wants::kRead : Wants::kWrite, deadline));
  }
}

async::Task<Result<size_t>> Socket::Read(std::string& into, async::Deadline deadline) {
  if (unyielded_ > kTurnBytes) co_await LetOthersTurn();
  while (true) {
    if (shut_) co_return Fail(Code::kCancelled, "the connection is being closed");
    const Attempt attempt = TryRead(into);
    if (attempt.state == Attempt::State::kDone) {
      unyielded_ += attempt.count;
      co_return attempt.count;
    }
    if (attempt.state == Attempt::State::kFailed) co_return Fail(Failure());
    CAPSTAN_CO_CHECK_OK(
        co_await Wait(attempt.state == Attempt::State::kWantsRead ? Wants::kRead : Wants::kWrite, deadline));
  }
}

async::Task<Result<void>> Socket::Write(std::string_view bytes, async::Deadline deadline) {
  while (!bytes.empty()) {
    if (unyielded_ > kTurnBytes) co_await LetOthersTurn();
    if (deadline.Passed(loop_.Now())) co_return Fail(Code::kDeadline, "the deadline passed");
    const Attempt attempt = TryWrite(bytes.substr(0, kSliceBytes));
    if (attempt.state == Attempt::State::kDone) {
      bytes.remove_prefix(attempt.count);
      CountWritten(attempt.count);
      continue;
    }
    if (attempt.state == Attempt::State::kFailed) co_return Fail(Failure());
    CAPSTAN_CO_CHECK_OK(
        co_await Wait(attempt.state == Attempt::State::kWantsRead ? Wants::kRead : Wants::kWrite, deadline));
  }
  co_return Result<void>();
}

async::Task<Result<Socket::Heard>> Socket::WriteUntilHeard(std::string_view bytes, std::string& into,
                                                           async::Deadline deadline) {
  Heard heard;
  while (true) {
    if (unyielded_ > kTurnBytes) co_await LetOthersTurn();
    if (shut_) co_return Fail(Code::kCancelled, "the connection is being closed");
    const Attempt read = TryRead(into);
    if (read.state == Attempt::State::kFailed) co_return Fail(Failure());
    if (read.state == Attempt::State::kDone) {
      unyielded_ += read.count;
      heard.ended = read.count == 0;
      co_return heard;
    }
    if (deadline.Passed(loop_.Now())) co_return Fail(Code::kDeadline, "the deadline passed");
    // What OpenSSL could not write it wants to be given again, and no less of it.
    const Attempt write = TryWrite(bytes.substr(0, kSliceBytes));
    if (write.state == Attempt::State::kFailed) co_return Fail(Failure());
    if (write.state == Attempt::State::kDone) {
      bytes.remove_prefix(write.count);
      heard.written += write.count;
      CountWritten(write.count);
      if (bytes.empty()) co_return heard;
      continue;
    }
    const Wants wants = write.state == Attempt::State::kWantsRead ? Wants::kRead : Wants::kWrite;
    const Result<void> waited = co_await Wait(wants, deadline.Earlier(loop_.After(kLookEvery)));
    if (!waited && waited.error().code() != Code::kDeadline) co_return Fail(waited.error());
  }
}

async::Task<void> Socket::LetOthersTurn() {
  unyielded_ = 0;
  co_await async::Yield(loop_);
}

void Socket::CountWritten(size_t bytes) { unyielded_ += std::max(bytes, kLeastTurnBytes); }

bool Socket::Quiet() {
  if (shut_ || !failure_.empty()) return false;
  std::string unasked;
  const Attempt attempt = TryRead(unasked);  // takes TLS session tickets and the like along
  return attempt.state == Attempt::State::kWantsRead || attempt.state == Attempt::State::kWantsWrite;
}

void Socket::EndWriting() {
  if (ssl_) {
    SSL_shutdown(ssl_);  // close_notify, if it fits into the socket's buffer
    ERR_clear_error();
  }
  shutdown(descriptor_.native_handle(), SHUT_WR);
}

void Socket::Shut() {
  shut_ = true;
  descriptor_.cancel();
}

async::Task<Result<void>> Socket::Wait(Wants wants, async::Deadline deadline) {
  if (shut_) co_return Fail(Code::kCancelled, "the connection is being closed");
  if (deadline.Passed(loop_.Now())) co_return Fail(Code::kDeadline, "the deadline passed");
  bool late = false;
  Alarm alarm(loop_, deadline, [this, &late] {
    late = true;
    descriptor_.cancel();
  });
  const auto type =
      wants == Wants::kRead ? asio::posix::descriptor_base::wait_read : asio::posix::descriptor_base::wait_write;
  auto [error] = co_await descriptor_.async_wait(type, asio::as_tuple(asio::use_awaitable));
  unyielded_ = 0;
  if (!error) co_return Result<void>();
  if (late) co_return Fail(Code::kDeadline, "the deadline passed");
  if (shut_) co_return Fail(Code::kCancelled, "the connection is being closed");
  throw boost::system::system_error(error);  // our coroutine was cancelled
}

Socket::Attempt Socket::TryHandshake() {
  ERR_clear_error();
  errno = 0;
  const int returned = SSL_do_handshake(ssl_);
  return returned == 1 ? Attempt{Attempt::State::kDone} : NotEnded(AfterTls(returned));
}

Socket::Attempt Socket::TryRead(std::string& into) {
  if (unreadable_) return {Attempt::State::kFailed};
  char buffer[16384];  // one TLS record
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    const int got = SSL_read(ssl_, buffer, sizeof buffer);
    if (got <= 0) {
      const Attempt attempt = AfterTls(got);
      unreadable_ = attempt.state == Attempt::State::kFailed;
      return attempt;
    }
    into.append(buffer, size_t(got));
    return {Attempt::State::kDone, size_t(got)};
  }
  const ssize_t got = recv(descriptor_.native_handle(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Attempt::State::kWantsRead};
  if (got < 0) {
    unreadable_ = true;
    return Broken(std::strerror(errno));
  }
  into.append(buffer, size_t(got));
  return {Attempt::State::kDone, size_t(got)};
}

Socket::Attempt Socket::TryWrite(std::string_view bytes) {
  if (ssl_) {
    ERR_clear_error();
    errno = 0;
    const int sent = SSL_write(ssl_, bytes.data(), int(bytes.size()));
    return sent > 0 ? Attempt{Attempt::State::kDone, size_t(sent)} : NotEnded(AfterTls(sent));
  }
  const ssize_t sent = send(descriptor_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return {Attempt::State::kWantsWrite};
  if (sent < 0) return Broken(std::strerror(errno));
  return {Attempt::State::kDone, size_t(sent)};
}

Socket::Attempt Socket::AfterTls(int returned) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, returned)) {
    case SSL_ERROR_WANT_READ:
      return {Attempt::State::kWantsRead};
    case SSL_ERROR_WANT_WRITE:
      return {Attempt::State::kWantsWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {Attempt::State::kDone, 0};  // close_notify
    default: {
      const bool refused = PeerRefusedOurCertificate();
      std::string why = TlsFailure(ssl_, system_error);
      // A write may have failed before its reason was read.
      if (refused && !std::exchange(refused_, true)) failure_.clear();
      return Broken(std::move(why));
    }
  }
}

// Where bytes must still flow, the peer's orderly end is a failure, too.
Socket::Attempt Socket::NotEnded(Attempt attempt) {
  return attempt.state == Attempt::State::kDone ? Broken(Peer() + " closed the connection") : attempt;
}

Socket::Attempt Socket::Broken(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  return {Attempt::State::kFailed};
}

Error Socket::Failure() const {
  if (refused_) return Error(Code::kUnauthenticated, Peer() + " refused our certificate (" + failure_ + ")");
  return Error(Code::kUnavailable, failure_);
}

std::string Socket::Peer() const { return ssl_ && SSL_is_server(ssl_) ? "the client" : "the server"; }

}  // namespace capstan::net
