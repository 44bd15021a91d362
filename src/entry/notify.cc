#include "entry/notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"

namespace capstan::entry {
namespace {

// Takes the sender from the control messages, and closes what else came.
pid_t Sender(msghdr* message) {
  pid_t sender = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials;
      memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
      sender = credentials.pid;
    } else if (part->cmsg_type == SCM_RIGHTS) {
      const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
        close(fd);
      }
    }
  }
  return sender;
}

}  // namespace

Notification ParseNotification(std::string_view text) {
  Notification notification;
  for (const std::string_view line : Split(text, '\n')) {
    if (line == "READY=1") notification.ready = true;
    if (line == "RELOADING=1") notification.reloading = true;
    if (line == "STOPPING=1") notification.stopping = true;
    constexpr std::string_view kMainPid = "MAINPID=";
    if (line.starts_with(kMainPid)) {
      const auto pid = ParseInt(line.substr(kMainPid.size()));
      if (pid && *pid > 1 && *pid <= INT32_MAX) notification.main_pid = static_cast<pid_t>(*pid);
    }
  }
  return notification;
}

Result<NotifySocket> NotifySocket::Bind(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Fail(Code::kInvalid, path + " is too long for a socket's path");
  path.copy(address.sun_path, path.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Fail(Code::kInternal, std::string("no socket: ") + strerror(errno));
  const int on = 1;
  unlink(path.c_str());
  if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || chmod(path.c_str(), 0666) != 0) {
    const int error = errno;
    close(fd);
    return Fail(Code::kUnavailable, "cannot listen on " + path + ": " + strerror(error));
  }
  return NotifySocket(fd, path);
}

NotifySocket::NotifySocket(NotifySocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

NotifySocket::~NotifySocket() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(path_.c_str());
}

std::optional<Notification> NotifySocket::Receive() {
  char text[4096];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(16 * sizeof(int))];
  iovec piece = {.iov_base = text, .iov_len = sizeof text};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return std::nullopt;
  Notification notification = ParseNotification(std::string_view(text, static_cast<size_t>(count)));
  notification.sender = Sender(&message);
  return notification;
}

}  // namespace capstan::entry
