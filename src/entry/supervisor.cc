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
#include <thread>
#include <utility>

#include "entry/handover.h"
#include "entry/identity.h"
#include "entry/notify.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2};
constexpr int kMaxRestarts = 5;  // to keep jobs
constexpr std::chrono::milliseconds kMaxRestartDelay = std::chrono::minutes(1);
constexpr auto kSteadyAfter = std::chrono::minutes(5);
constexpr auto kRefreshEvery = std::chrono::seconds(2);
constexpr auto kHandoverEvery = std::chrono::milliseconds(1000);
constexpr int kMessagesAtOnce = 64;  // so that a flood of messages cannot keep signals waiting

int ExitStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

// "status 1", "signal 11": how a process ended, for people.
std::string Ending(int exit_status) {
  return exit_status > 128 ? "signal " + std::to_string(exit_status - 128) : "status " + std::to_string(exit_status);
}

using Moment = std::optional<Clock::time_point>;

void Earlier(Moment* moment, const Moment& other) {
  if (other && (!*moment || *other < **moment)) *moment = other;
}

// One daemon: its main process while it has one, else the moment when it gets one again.
class Daemon {
 public:
  Daemon(const Service& service, std::optional<NotifySocket> socket) : service_(service), socket_(std::move(socket)) {}

  Result<void> Start();
  void Signal(int number) const {
    if (main_ > 0) kill(main_, number);
  }
  void Stop(int number);
  void KillLate();
  void OnNotifications();
  void OnReaped(pid_t pid, int exit_status);
  void LookForMain();  // after reaping
  void OnTime(Clock::time_point now);
  void Refresh();

  int fd() const { return socket_ ? socket_->fd() : -1; }
  pid_t main() const { return main_; }
  bool ready() const { return ready_ || (service_.may_fail && restarts_ > 0); }
  const Moment& restart_at() const { return restart_at_; }
  bool refreshes() const { return service_.refresh != nullptr; }
  // Set: it has ended, and is not started again.
  const std::optional<int>& exit_status() const { return exit_status_; }

 private:
  void OnNotification(const Notification& notification);
  void Ignore(const std::string& what);
  void OnEnded(int exit_status);

  const Service& service_;
  std::optional<NotifySocket> socket_;
  pid_t main_ = 0;  // 0 while it waits to be started again
  pid_t predecessor_ = -1;
  int stop_signal_ = 0;      // the SIGTERM or SIGINT we were sent
  bool restarting_ = false;  // it was told to end, to be started anew
  bool ready_ = false;
  std::optional<int> exit_status_;
  int last_status_ = 0;
  int restarts_ = 0;
  OncePerMinute ignored_;
  Clock::time_point started_;
  Moment restart_at_;
};

Result<void> Daemon::Start() {
  if (socket_) {
    setenv("NOTIFY_SOCKET", socket_->path().c_str(), 1);
  } else {
    unsetenv("NOTIFY_SOCKET");
  }
  CAPSTAN_TRY(main_, Spawn(service_.argv));
  started_ = Clock::now();
  restart_at_.reset();
  ready_ = !service_.notifies;
  return {};
}

void Daemon::Stop(int number) {
  stop_signal_ = number;
  Signal(number);
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
    exit_status_ = last_status_;
  }
}

void Daemon::Refresh() {
  if (!service_.refresh || stop_signal_ != 0 || !service_.refresh()) return;
  Say(service_.name + " is told that its files have changed");
  if (service_.reload_signal == SIGTERM) restarting_ = main_ > 0;
  if (main_ > 0) {
    kill(main_, service_.reload_signal);
  } else {
    restart_at_ = Clock::now();  // perhaps that is what it lacked
  }
}

class Supervisor {
 public:
  Supervisor(const Container& container, int signals, std::vector<Daemon> daemons, std::optional<Identity> identity,
             std::optional<Reconfigurer> reconfigurer, std::optional<Handover> handover)
      : stop_limit_(container.stop_limit),
        signals_(signals),
        daemons_(std::move(daemons)),
        identity_(std::move(identity)),
        reconfigurer_(std::move(reconfigurer)),
        handover_(std::move(handover)),
        ready_path_(container.folder.empty() ? "" : container.folder + "/ready") {}
  ~Supervisor() { SetReady(false); }

  Result<void> Start();
  int Run();

 private:
  int PollTimeout() const;
  void Stop(int signal);
  void LookForHandover(Clock::time_point now);
  void OnSignals();
  void Reap();
  void OnTime();
  std::optional<int> ExitStatus() const;
  void SetReady(bool ready) const;

  const std::chrono::milliseconds stop_limit_;
  const int signals_;
  std::vector<Daemon> daemons_;
  std::optional<Identity> identity_;
  std::optional<Reconfigurer> reconfigurer_;
  std::optional<Handover> handover_;
  const std::string ready_path_;
  bool stopping_ = false, gives_up_ = false;
  Moment kill_at_, refresh_at_, handover_at_;
};

Result<void> Supervisor::Start() {
  for (Daemon& daemon : daemons_) {
    CAPSTAN_CHECK_OK(daemon.Start());
    if (daemon.refreshes()) refresh_at_ = Clock::now() + kRefreshEvery;
  }
  return {};
}

int Supervisor::Run() {
  for (std::optional<int> status; !status; status = ExitStatus()) {
    SetReady(std::ranges::all_of(daemons_, &Daemon::ready));
    std::vector<pollfd> waiting{{.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const Daemon& daemon : daemons_) waiting.push_back({.fd = daemon.fd(), .events = POLLIN, .revents = 0});
    if (identity_) identity_->AddTo(&waiting);
    if (reconfigurer_) reconfigurer_->AddTo(&waiting);
    poll(waiting.data(), waiting.size(), PollTimeout());
    // Messages first: a main process names its successor and then ends.
    for (Daemon& daemon : daemons_) daemon.OnNotifications();
    OnSignals();
    OnTime();
  }
  if (gives_up_) handover_->GiveUp();
  return *ExitStatus();
}

// The first daemon's, once it has ended for good, or all have when they were asked to.
std::optional<int> Supervisor::ExitStatus() const {
  const auto ended = [](const Daemon& daemon) { return daemon.exit_status().has_value(); };
  if (stopping_ && !std::ranges::all_of(daemons_, ended)) return std::nullopt;
  return daemons_.front().exit_status();
}

int Supervisor::PollTimeout() const {
  Moment next = kill_at_;
  Earlier(&next, refresh_at_);
  Earlier(&next, handover_at_);
  if (identity_) Earlier(&next, identity_->next());
  if (reconfigurer_) Earlier(&next, reconfigurer_->next());
  for (const Daemon& daemon : daemons_) Earlier(&next, daemon.restart_at());
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
    } else if (number == SIGTERM || number == SIGINT) {
      Stop(number);
    } else {
      daemons_.front().Signal(number);
    }
  }
}

void Supervisor::Stop(int signal) {
  stopping_ = true;
  refresh_at_.reset();
  if (!kill_at_) kill_at_ = Clock::now() + stop_limit_;
  for (Daemon& daemon : daemons_) daemon.Stop(signal);
}

void Supervisor::LookForHandover(Clock::time_point now) {
  if (!handover_ || !handover_->concerns_us() || (handover_at_ && now < *handover_at_)) return;
  handover_at_ = now + kHandoverEvery;
  if (stopping_ || !handover_->IsAsked()) return;
  Say("slurmctld gives control back to one that comes before it");
  gives_up_ = true;
  Stop(SIGTERM);
}

void Supervisor::Reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (Daemon& daemon : daemons_) daemon.OnReaped(pid, entry::ExitStatus(status));
    if (reconfigurer_) reconfigurer_->OnReaped(pid, entry::ExitStatus(status), Clock::now());
  }
  for (Daemon& daemon : daemons_) daemon.LookForMain();
}

void Supervisor::OnTime() {
  const auto now = Clock::now();
  for (Daemon& daemon : daemons_) daemon.OnTime(now);
  if (identity_) identity_->Serve(now);
  if (reconfigurer_) {
    const Daemon& first = daemons_.front();
    reconfigurer_->Serve(first.main(), first.ready() && !stopping_, now);
  }
  LookForHandover(now);
  if (refresh_at_ && now >= *refresh_at_) {
    for (Daemon& daemon : daemons_) daemon.Refresh();
    refresh_at_ = now + kRefreshEvery;
  }
  if (kill_at_ && now >= *kill_at_) {
    for (Daemon& daemon : daemons_) daemon.KillLate();
    kill_at_ = now + std::chrono::seconds(10);
  }
}

void Supervisor::SetReady(bool ready) const {
  if (ready_path_.empty()) return;
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

Result<int> Supervise(const Container& container) {
  // Orphans come to us; as PID 1 they do anyway.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : kForwarded) sigaddset(&wanted, number);
  sigaddset(&wanted, SIGCHLD);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  const int signals = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) return Fail(Code::kInternal, std::string("no signalfd: ") + strerror(errno));

  std::vector<Daemon> daemons;
  for (const Service& service : container.services) {
    std::optional<NotifySocket> socket;
    if (service.notifies) {
      const std::string name = daemons.empty() ? "notify" : "notify-" + service.name;
      CAPSTAN_TRY(NotifySocket bound, NotifySocket::Bind(container.folder + "/" + name));
      socket.emplace(std::move(bound));
    }
    daemons.emplace_back(service, std::move(socket));
  }
  if (const auto stopped = PendingStopSignal()) return 128 + *stopped;
  std::optional<Identity> identity;
  if (const std::string& node = container.services.front().node; !node.empty()) {
    Result<Identity> listening = Identity::Listen(container.identity_port, node);
    if (listening)
      identity.emplace(*std::move(listening));
    else
      Say("nobody can ask what slurmd is called in Slurm: " + listening.error().message());
  }
  std::optional<Reconfigurer> reconfigurer;
  if (container.reconfigure) {
    Result<Reconfigurer> begun = Reconfigurer::Begin(*container.reconfigure);
    if (begun)
      reconfigurer.emplace(*std::move(begun));
    else
      Say("a changed configuration will need a restart: " + begun.error().message());
  }
  std::optional<Handover> handover;
  if (container.reconfigure) {
    const auto configuration = ReadConfiguration(container.reconfigure->mounted);
    if (configuration) handover.emplace(*configuration, container.reconfigure->host);
  }
  while (handover && handover->MustWait()) {
    if (const auto stopped = PendingStopSignal()) return 128 + *stopped;
    std::this_thread::sleep_for(kHandoverEvery / 2);
  }
  Supervisor supervisor(container, signals, std::move(daemons), std::move(identity), std::move(reconfigurer),
                        std::move(handover));
  CAPSTAN_CHECK_OK(supervisor.Start());
  return supervisor.Run();
}

}  // namespace capstan::entry
