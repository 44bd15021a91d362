#include "entry/readiness.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace capstan::entry {
namespace {

constexpr auto kReadyzLimit = std::chrono::seconds(2);
constexpr std::string_view kReadyz = "GET /readyz HTTP/1.0\r\n\r\n";
constexpr size_t kStatusLine = 12;  // "HTTP/1.1 200"

// A socket that connects to this machine, or -1.
int Connect(uint16_t port, bool six) {
  const int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_in four = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  sockaddr_in6 other = {};
  other.sin6_family = AF_INET6;
  other.sin6_port = htons(port);
  other.sin6_addr = in6addr_loopback;
  const int done = six ? connect(fd, reinterpret_cast<sockaddr*>(&other), sizeof other)
                       : connect(fd, reinterpret_cast<sockaddr*>(&four), sizeof four);
  if (done == 0 || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

}  // namespace

void Readiness::GiveUp() {
  failed_ = false;
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void Readiness::Ask(uint16_t port, Clock::time_point now) {
  if (asking()) return;
  fd_ = Connect(port, six_);
  sent_ = false;
  heard_.clear();
  deadline_ = now + kReadyzLimit;
  failed_ = fd_ < 0;
}

void Readiness::AddTo(std::vector<pollfd>* waiting) const {
  if (asking()) waiting->push_back({.fd = fd_, .events = short(sent_ ? POLLIN : POLLOUT), .revents = 0});
}

std::optional<Charge> Readiness::Turn(Clock::time_point now) {
  if (std::exchange(failed_, false)) {
    six_ = !six_;
    return Charge::kSilent;
  }
  if (!asking()) return std::nullopt;
  bool goes_on = true;
  if (!sent_) {
    sent_ = send(fd_, kReadyz.data(), kReadyz.size(), MSG_NOSIGNAL) == ssize_t(kReadyz.size());
    goes_on = sent_ || errno == EAGAIN || errno == EINTR;
  }
  char buffer[256];
  const ssize_t count = sent_ ? recv(fd_, buffer, sizeof buffer, 0) : 0;
  if (count > 0) heard_.append(buffer, static_cast<size_t>(count));
  if (sent_) goes_on = count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  if (heard_.size() < kStatusLine && goes_on && now < *deadline_) return std::nullopt;
  GiveUp();
  if (heard_.size() >= kStatusLine && heard_.starts_with("HTTP/1."))
    return heard_.substr(8, 2) == " 2" ? Charge::kYes : Charge::kNo;
  six_ = !six_;
  return Charge::kSilent;
}

}  // namespace capstan::entry
