#include "entry/daemon.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>

#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr int kMaxRestarts = 5;  // to keep jobs
constexpr std::chrono::milliseconds kMaxRestartDelay = std::chrono::minutes(1);
constexpr auto kSteadyAfter = std::chrono::minutes(5);
constexpr const char* kConfVariable = "SLURM_CONF";
constexpr int kMessagesAtOnce = 64;  // so that a flood of messages cannot keep signals waiting

// "status 1", "signal 11": how a process ended, for people.
std::string Ending(int exit_status) {
  return exit_status > 128 ? "signal " + std::to_string(exit_status - 128) : "status " + std::to_string(exit_status);
}

}  // namespace

std::optional<int64_t> OncePerMinute::Tell(std::chrono::steady_clock::time_point now) {
  if (told_ && now - *told_ < std::chrono::minutes(1)) {
    ++untold_;
    return std::nullopt;
  }
  told_ = now;
  return std::exchange(untold_, 0);
}

Result<void> Daemon::Start() {
  if (socket_) {
    setenv("NOTIFY_SOCKET", socket_->path().c_str(), 1);
  } else {
    unsetenv("NOTIFY_SOCKET");
  }
  std::optional<ScopedVariable> conf;
  if (!conf_.empty()) conf.emplace(kConfVariable, conf_);
  CAPSTAN_TRY(main_, overheard_ ? SpawnHeard(service_.argv, overheard_->end()) : Spawn(service_.argv));
  started_ = Clock::now();
  restart_at_.reset();
  ready_ = !service_.notifies;
  return {};
}

Result<void> Daemon::TryWith(const std::string& conf) {
  conf_ = conf;
  words_ = {};
  trying_ = true;
  return Start();
}

void Daemon::AddTo(std::vector<pollfd>* waiting) const {
  if (socket_) waiting->push_back({.fd = socket_->fd(), .events = POLLIN, .revents = 0});
  if (overheard_) overheard_->AddTo(waiting);
}

void Daemon::Stop(int number) {
  stop_signal_ = number;
  Signal(number);
  restart_at_.reset();
  if (main_ == 0) exit_status_ = last_status_;
}

void Daemon::KillLate() {
  if (main_ == 0) return;
  Say(service_.name + " did not stop in time and is killed");
  kill(main_, SIGKILL);
}

void Daemon::OnNotifications() {
  for (int i = 0; socket_ && i < kMessagesAtOnce; ++i) {
    const std::optional<Notification> notification = socket_->Receive();
    if (!notification) return;
    OnNotification(*notification);
  }
}

void Daemon::Listen() {
  if (overheard_) overheard_->Turn([this](std::string_view bytes) { Hear(bytes); });
}

void Daemon::Hear(std::string_view bytes) {
  if (trying_) words_.Hear(bytes);
}

void Daemon::OnNotification(const Notification& notification) {
  if (main_ == 0 || notification.sender != main_) {
    // A daemon that has handed over may still say that it is stopping.
    if (notification.sender != predecessor_)
      Ignore("a message from process " + std::to_string(notification.sender) + ", which is not " + service_.name);
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
  if (notification.ready) ready_ = true;
  if (notification.stopping || notification.reloading) ready_ = false;
}

// Whoever may write to the socket may do so a thousand times a second.
void Daemon::Ignore(const std::string& what) {
  if (const auto untold = ignored_.Tell(Clock::now()))
    Say("ignored " + what + (*untold == 0 ? "" : "; and " + std::to_string(*untold) + " more before it"));
}

void Daemon::OnReaped(pid_t pid, int exit_status) {
  // It may have named its successor after we last looked.
  if (pid == main_) OnNotifications();
  if (pid == main_) OnEnded(exit_status);
}

void Daemon::LookForMain() {
  // A successor that ended before its parent did was not ours to reap.
  if (main_ > 0 && !exit_status_ && kill(main_, 0) != 0 && errno == ESRCH) OnEnded(EXIT_FAILURE);
}

void Daemon::OnEnded(int exit_status) {
  if (overheard_) overheard_->Finish([this](std::string_view bytes) { Hear(bytes); });
  ready_ = false;
  main_ = 0;
  last_status_ = exit_status;
  if (Clock::now() - started_ > kSteadyAfter) restarts_ = 0;
  if (stop_signal_ != 0) {
    exit_status_ = exit_status;
    return;
  }
  if (std::exchange(restarting_, false)) {
    restart_at_ = Clock::now();
    return;
  }
  if (trying_) {
    failed_ = Ending(exit_status);
    return;
  }
  const bool keeps_jobs =
      service_.on_end == OnEnd::kEndUnlessJobs && restarts_ < kMaxRestarts && HasChild("slurmstepd");
  if (!keeps_jobs && service_.on_end != OnEnd::kStartAgain) {
    exit_status_ = exit_status;
    return;
  }
  // Five doublings are 32 s, the sixth is cut to a minute.
  const auto delay = std::min(service_.first_restart_delay * (1 << std::min(restarts_++, 6)), kMaxRestartDelay);
  Say(service_.name + " ended with " + Ending(exit_status) + (keeps_jobs ? " while job steps are running" : "") +
      "; it is started again in " + std::to_string(delay.count()) + " ms");
  restart_at_ = Clock::now() + delay;
}

void Daemon::OnTime(Clock::time_point now) {
  if (!restart_at_ || now < *restart_at_ || exit_status_) return;
  if (const Result<void> started = Start(); !started) {
    Say(started.error().message());
    restart_at_.reset();
    started_ = now;
    OnEnded(last_status_);
  }
}

void Daemon::StartAnew() {
  if (main_ <= 0 || stop_signal_ != 0) return;
  restarting_ = true;
  kill(main_, SIGTERM);
}

void Daemon::Refresh() {
  if (!service_.refresh || stop_signal_ != 0 || exit_status_ || !service_.refresh()) return;
  Say(service_.name + " is told that its files have changed");
  if (service_.reload_signal == SIGTERM) restarting_ = main_ > 0;
  if (main_ > 0) {
    kill(main_, service_.reload_signal);
  } else {
    restart_at_ = Clock::now();  // perhaps that is what it lacked
  }
}

}  // namespace capstan::entry
