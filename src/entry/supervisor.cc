#include "entry/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "entry/notify.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2};
constexpr int kMaxRestarts = 5;
constexpr auto kSteadyAfter = std::chrono::minutes(5);
constexpr int kMessagesAtOnce = 64;  // so that a flood of messages cannot keep signals waiting

int ExitStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// "status 1", "signal 11": how a process ended, for people.
std::string Ending(int exit_status) {
  return exit_status > 128 ? "signal " + std::to_string(exit_status - 128) : "status " + std::to_string(exit_status);
}

class Supervisor {
 public:
  Supervisor(const Service& service, int signals, std::optional<NotifySocket> socket)
      : service_(service), signals_(signals), socket_(std::move(socket)), ready_path_(service.folder + "/ready") {}
  ~Supervisor() { SetReady(false); }

  Result<void> Start();
  int Run();

 private:
  int PollTimeout() const;
  void OnSignals();
  void OnNotifications();
  void OnNotification(const Notification& notification);
  void Ignore(const std::string& what);
  void Reap();
  void OnMainEnded(int exit_status);
  void OnTime();
  void SetReady(bool ready) const;

  const Service& service_;
  const int signals_;
  std::optional<NotifySocket> socket_;
  const std::string ready_path_;

  pid_t main_ = 0;  // 0 while it waits to be started again
  pid_t predecessor_ = -1;
  int stop_signal_ = 0;             // the SIGTERM or SIGINT we were sent
  std::optional<int> exit_status_;  // set: the end
  int last_status_ = 0;
  int restarts_ = 0;
  OncePerMinute ignored_;
  Clock::time_point started_;
  std::optional<Clock::time_point> restart_at_;
  std::optional<Clock::time_point> kill_at_;
};

Result<void> Supervisor::Start() {
  CAPSTAN_TRY(main_, Spawn(service_.argv));
  started_ = Clock::now();
  restart_at_.reset();
  if (!service_.notifies) SetReady(true);
  return {};
}

int Supervisor::Run() {
  while (!exit_status_) {
    pollfd waiting[2] = {{.fd = signals_, .events = POLLIN, .revents = 0},
                         {.fd = socket_ ? socket_->fd() : -1, .events = POLLIN, .revents = 0}};
    poll(waiting, 2, PollTimeout());
    // Messages first: a main process names its successor and then ends.
    OnNotifications();
    OnSignals();
    OnTime();
  }
  return *exit_status_;
}

int Supervisor::PollTimeout() const {
  std::optional<Clock::time_point> next = restart_at_;
  if (kill_at_ && (!next || *kill_at_ < *next)) next = kill_at_;
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void Supervisor::OnSignals() {
  signalfd_siginfo info;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) {
      Reap();
      continue;
    }
    if (main_ > 0) kill(main_, number);
    if (number != SIGTERM && number != SIGINT) continue;
    stop_signal_ = number;
    if (!kill_at_) kill_at_ = Clock::now() + service_.stop_limit;
    if (main_ == 0) exit_status_ = last_status_;
  }
}

void Supervisor::OnNotifications() {
  for (int i = 0; socket_ && i < kMessagesAtOnce; ++i) {
    const std::optional<Notification> notification = socket_->Receive();
    if (!notification) return;
    OnNotification(*notification);
  }
}

void Supervisor::OnNotification(const Notification& notification) {
  if (main_ == 0 || notification.sender != main_) {
    // A daemon that has handed over may still say that it is stopping.
    if (notification.sender != predecessor_)
      Ignore("a message from process " + std::to_string(notification.sender) + ", which is not the daemon");
    return;
  }
  const pid_t successor = notification.main_pid.value_or(main_);
  if (successor != main_) {
    if (!IsDescendant(successor)) {
      Ignore("the announcement of process " + std::to_string(successor) + ", which is not ours");
      return;
    }
    Say("process " + std::to_string(successor) + " takes over from " + std::to_string(main_));
    predecessor_ = std::exchange(main_, successor);
    if (stop_signal_ != 0) kill(main_, stop_signal_);
  }
  if (notification.ready) SetReady(true);
  if (notification.stopping || notification.reloading) SetReady(false);
}

// Whoever may write to the socket may do so a thousand times a second.
void Supervisor::Ignore(const std::string& what) {
  if (const auto untold = ignored_.Tell(Clock::now()))
    Say("ignored " + what + (*untold == 0 ? "" : "; and " + std::to_string(*untold) + " more before it"));
}

void Supervisor::Reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    // It may have named its successor after we last looked.
    if (pid == main_) OnNotifications();
    if (pid == main_) OnMainEnded(ExitStatus(status));
  }
  // A successor that ended before its parent did was not ours to reap.
  if (main_ > 0 && !exit_status_ && kill(main_, 0) != 0 && errno == ESRCH) OnMainEnded(EXIT_FAILURE);
}

void Supervisor::OnMainEnded(int exit_status) {
  SetReady(false);
  main_ = 0;
  last_status_ = exit_status;
  if (Clock::now() - started_ > kSteadyAfter) restarts_ = 0;
  const bool asked = stop_signal_ != 0;
  if (asked || !service_.keeps_jobs || restarts_ == kMaxRestarts || !HasChild("slurmstepd")) {
    exit_status_ = exit_status;
    return;
  }
  const auto delay = service_.first_restart_delay * (1 << restarts_++);
  Say("the daemon ended with " + Ending(exit_status) + " while job steps are running; it is started again in " +
      std::to_string(delay.count()) + " ms to keep them");
  restart_at_ = Clock::now() + delay;
}

void Supervisor::OnTime() {
  const auto now = Clock::now();
  if (restart_at_ && now >= *restart_at_ && !exit_status_) {
    if (const Result<void> started = Start(); !started) {
      Say(started.error().message());
      exit_status_ = last_status_;
    }
  }
  if (kill_at_ && now >= *kill_at_ && main_ > 0) {
    Say("the daemon did not stop in time and is killed");
    kill(main_, SIGKILL);
    kill_at_ = now + std::chrono::seconds(10);
  }
}

void Supervisor::SetReady(bool ready) const {
  if (service_.folder.empty()) return;
  if (!ready) {
    unlink(ready_path_.c_str());
    return;
  }
  const int fd = open(ready_path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
}

}  // namespace

std::optional<int64_t> OncePerMinute::Tell(Clock::time_point now) {
  if (told_ && now - *told_ < std::chrono::minutes(1)) {
    ++untold_;
    return std::nullopt;
  }
  told_ = now;
  return std::exchange(untold_, 0);
}

Result<int> Supervise(const Service& service) {
  // Orphans come to us; as PID 1 they do anyway.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : kForwarded) sigaddset(&wanted, number);
  sigaddset(&wanted, SIGCHLD);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const int signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return Fail(Code::kInternal, std::string("no signalfd: ") + strerror(errno));

  std::optional<NotifySocket> socket;
  if (service.notifies) {
    CAPSTAN_TRY(NotifySocket bound, NotifySocket::Bind(service.folder));
    setenv("NOTIFY_SOCKET", bound.path().c_str(), 1);
    socket.emplace(std::move(bound));
  }
  if (const auto stopped = PendingStopSignal()) return 128 + *stopped;
  Supervisor supervisor(service, signals, std::move(socket));
  CAPSTAN_CHECK_OK(supervisor.Start());
  return supervisor.Run();
}

}  // namespace capstan::entry
