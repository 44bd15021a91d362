#include "entry/answerer.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace capstan::entry {
namespace {

constexpr size_t kMaxCallers = 8;
constexpr size_t kMaxRequest = 2048;
constexpr auto kCallLimit = std::chrono::seconds(2);
constexpr int kBacklog = 16;
constexpr int kMostAccepted = 16;  // in one Serve: its thread has other things to do

// All addresses of both families, or of IPv4 where there is no other.
int Bind(uint16_t port) {
  const int on = 1, off = 0;
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    sockaddr_in6 address = {};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
  }
  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

constexpr std::string_view kGet = "GET ";

std::string Response(const Answerer::Answer& answer) {
  return "HTTP/1.1 " + answer.status + "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(answer.text.size()) + "\r\n\r\n" + answer.text;
}

std::string_view PathOf(std::string_view request) {
  request.remove_prefix(kGet.size());
  return request.substr(0, request.find(' '));
}

}  // namespace

Result<Answerer> Answerer::Listen(uint16_t port) {
  const int fd = Bind(port);
  if (fd < 0 || listen(fd, kBacklog) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return Fail(Code::kUnavailable, "cannot listen on port " + std::to_string(port) + ": " + strerror(error));
  }
  return Answerer(fd);
}

Answerer::Answerer(Answerer&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), callers_(std::exchange(other.callers_, {})) {}

Answerer::~Answerer() {
  for (const Caller& caller : callers_) close(caller.fd);
  if (fd_ >= 0) close(fd_);
}

void Answerer::AddTo(std::vector<pollfd>* waiting) const {
  waiting->push_back({.fd = fd_, .events = POLLIN, .revents = 0});
  for (const Caller& caller : callers_) {
    const bool answers = !caller.answer.empty();
    waiting->push_back({.fd = caller.fd, .events = short(answers ? POLLOUT : POLLIN), .revents = 0});
  }
}

std::optional<Answerer::Clock::time_point> Answerer::next() const {
  if (callers_.empty()) return std::nullopt;
  return std::ranges::min(callers_, {}, &Caller::deadline).deadline;
}

void Answerer::Serve(Clock::time_point now, const Answering& answering) {
  std::erase_if(callers_, [&](Caller& caller) {
    if (now < caller.deadline && Goes(caller, answering)) return false;
    close(caller.fd);
    return true;
  });
  for (int count = 0; count < kMostAccepted; ++count) {
    const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) break;
    Admit(fd, now, answering);
  }
}

// Most have asked already, and need no place.
void Answerer::Admit(int fd, Clock::time_point now, const Answering& answering) {
  Caller caller{.fd = fd, .deadline = now + kCallLimit};
  if (!Goes(caller, answering)) {
    close(fd);
    return;
  }
  if (callers_.size() == kMaxCallers) {
    close(callers_.front().fd);
    callers_.pop_front();
  }
  callers_.push_back(std::move(caller));
}

bool Answerer::Goes(Caller& caller, const Answering& answering) {
  while (caller.answer.empty()) {
    char buffer[1024];
    const ssize_t count = recv(caller.fd, buffer, sizeof buffer, 0);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    caller.heard.append(buffer, static_cast<size_t>(count));
    const std::string_view begun = std::string_view(caller.heard).substr(0, kGet.size());
    if (begun != kGet.substr(0, begun.size())) return false;
    if (caller.heard.contains("\r\n\r\n")) {
      caller.answer = Response(answering(PathOf(caller.heard)));
    } else if (count == 0 || caller.heard.size() > kMaxRequest) {
      return false;
    }
  }
  const ssize_t count = send(caller.fd, caller.answer.data(), caller.answer.size(), MSG_NOSIGNAL);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  caller.answer.erase(0, static_cast<size_t>(count));
  return !caller.answer.empty();
}

}  // namespace capstan::entry
