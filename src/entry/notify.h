// The socket on which a daemon started with --systemd speaks to its service manager, which here is us.
//
// Slurm needs it for `scontrol reconfigure`: slurmctld and slurmd then start a new process of themselves, and
// once that one runs well, announce it as the new main process and end. If it fails, the old one goes on; so
// a bad configuration takes nothing down. The protocol is systemd's sd_notify: a datagram of KEY=VALUE lines.
// Slurm writes to a path only, so the socket cannot be an abstract one.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::entry {

struct Notification {
  bool ready = false;             // READY=1
  bool reloading = false;         // RELOADING=1
  bool stopping = false;          // STOPPING=1
  std::optional<pid_t> main_pid;  // MAINPID=<n>, n > 1
  pid_t sender = 0;               // by the kernel's word; 0 when it is in no namespace of ours
};

// Unknown lines and values that make no sense are passed over: a newer daemon may say more.
Notification ParseNotification(std::string_view text);

// A bound socket. Not copyable; closed and unlinked in the end.
class NotifySocket {
 public:
  // Binds `path`, in place of what is there, for everybody to write to: whom to believe is decided by
  // Notification::sender.
  static Result<NotifySocket> Bind(const std::string& path);

  NotifySocket(NotifySocket&& other) noexcept;
  NotifySocket& operator=(NotifySocket&&) = delete;
  ~NotifySocket();

  int fd() const { return fd_; }                     // readable when Receive has something
  const std::string& path() const { return path_; }  // for NOTIFY_SOCKET

  // The next message; nullopt when there is none now. Never waits. File descriptors sent along are closed.
  std::optional<Notification> Receive();

 private:
  NotifySocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
};

}  // namespace capstan::entry
