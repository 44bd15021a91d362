#include "entry/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "entry/overheard.h"
#include "entry/process.h"
#include "entry/readiness.h"
#include "entry/root/commands.h"
#include "entry/root/served.h"
#include "entry/starter.h"

namespace capstan::entry {
namespace {

using Clock = Daemon::Clock;
using Moment = Daemon::Moment;

constexpr int kForwarded[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2};
constexpr auto kRefreshEvery = std::chrono::seconds(2);
constexpr auto kHandoverEvery = std::chrono::milliseconds(1000);
constexpr auto kAskEvery = std::chrono::milliseconds(500);
constexpr auto kBelievedAfter = std::chrono::minutes(1);

int ExitStatus(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void Earlier(Moment* moment, const Moment& other) {
  if (other && (!*moment || *other < **moment)) *moment = other;
}

class Supervisor {
 public:
  Supervisor(const Container& container, int signals, std::vector<Daemon> daemons, std::optional<Identity> identity,
             std::optional<Reconfigurer> reconfigurer, std::optional<Handover> handover, std::optional<Starter> starter,
             std::optional<Waiting> waiting, std::optional<Registration> registration, std::optional<ServedRoot> root)
      : stop_limit_(container.stop_limit),
        signals_(signals),
        daemons_(std::move(daemons)),
        identity_(std::move(identity)),
        reconfigurer_(std::move(reconfigurer)),
        handover_(std::move(handover)),
        starter_(std::move(starter)),
        waiting_(std::move(waiting)),
        registration_(std::move(registration)),
        root_(std::move(root)),
        host_(container.reconfigure ? container.reconfigure->host : ""),
        ready_path_(container.folder.empty() ? "" : container.folder + "/ready") {}
  ~Supervisor() { SetReady(false); }

  Result<void> Start();
  int Run();

 private:
  int PollTimeout() const;
  void Stop(int signal);
  void LookForHandover(Clock::time_point now);
  void LookAtWaiting(Clock::time_point now);
  void LookAtRegistration(bool asked, Clock::time_point now);
  bool LookAtStart(Clock::time_point now);
  void KeepLive(bool in_charge, Clock::time_point now);
  void StartFirst(Clock::time_point now);
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
  std::optional<Starter> starter_;
  std::optional<Waiting> waiting_;
  std::optional<Registration> registration_;
  std::optional<ServedRoot> root_;
  const std::string host_;
  const std::string ready_path_;
  bool stopping_ = false, gives_up_ = false;
  Readiness readiness_;     // of the first daemon, where it is tried
  bool stands_by_ = false;  // it was not in charge when it was asked last, and another one is
  Moment kill_at_, refresh_at_, handover_at_, ask_at_;
};

Result<void> Supervisor::Start() {
  for (Daemon& daemon : daemons_) {
    if (starter_ && &daemon == &daemons_.front())
      StartFirst(Clock::now());
    else if (waiting_ && &daemon == &daemons_.front())
      CAPSTAN_CHECK_OK(daemon.TryWith(""));
    else
      CAPSTAN_CHECK_OK(daemon.Start());
    if (daemon.refreshes()) refresh_at_ = Clock::now() + kRefreshEvery;
  }
  return {};
}

int Supervisor::Run() {
  for (std::optional<int> status; !status; status = ExitStatus()) {
    SetReady(std::ranges::all_of(daemons_, &Daemon::ready) && (!root_ || root_->ready()));
    std::vector<pollfd> waiting{{.fd = signals_, .events = POLLIN, .revents = 0}};
    for (const Daemon& daemon : daemons_) daemon.AddTo(&waiting);
    if (starter_) starter_->AddTo(&waiting);
    if (waiting_) waiting_->AddTo(&waiting);
    readiness_.AddTo(&waiting);
    if (identity_) identity_->AddTo(&waiting);
    if (reconfigurer_) reconfigurer_->AddTo(&waiting);
    if (root_) root_->AddTo(&waiting);
    poll(waiting.data(), waiting.size(), PollTimeout());
    // Messages first: a main process names its successor and then ends.
    for (Daemon& daemon : daemons_) daemon.OnNotifications();
    for (Daemon& daemon : daemons_) daemon.Listen();
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
  if (starter_) Earlier(&next, starter_->next());
  if (waiting_) Earlier(&next, waiting_->next());
  if (registration_) Earlier(&next, registration_->next());
  if (root_) Earlier(&next, root_->next());
  if (waiting_ && daemons_.front().trying() && daemons_.front().main() > 0)
    Earlier(&next, daemons_.front().started() + Waiting::kSoon);
  Earlier(&next, ask_at_);
  Earlier(&next, readiness_.next());
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
  ask_at_.reset();
  readiness_.GiveUp();
  starter_.reset();
  waiting_.reset();
  registration_.reset();
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

void Supervisor::LookAtWaiting(Clock::time_point now) {
  if (!waiting_ || stopping_) return;
  Daemon& first = daemons_.front();
  if (const std::optional<std::string> failed = first.TakeFailed())
    waiting_->Ended(first.words(), "it ended with " + *failed + " and said nothing", now);
  if (waiting_->Serve(now)) {
    if (const Result<void> started = first.TryWith(""); !started)
      waiting_->Ended(first.words(), started.error().message(), now);
  } else if (first.trying() && first.main() > 0 && now >= first.started() + Waiting::kSoon) {
    first.Runs();
    waiting_->Runs();
  }
}

void Supervisor::LookAtRegistration(bool asked, Clock::time_point now) {
  Daemon& first = daemons_.front();
  if (asked) registration_->Suspect(now);
  const bool able = first.ready() && !first.trying() && !stopping_;
  if (registration_->Serve(able, [] { return HasChild("slurmstepd"); }, now)) first.StartAnew();
}

// The next try of the first daemon while it does not run. Whether it says now that it is in charge.
bool Supervisor::LookAtStart(Clock::time_point now) {
  if (!starter_ || stopping_) return false;
  Daemon& first = daemons_.front();
  if (const std::optional<std::string> failed = first.TakeFailed())
    starter_->Ended(first.words(), "it ended with " + *failed + " and said nothing", now);
  starter_->Serve(now);
  if (starter_->due(now)) StartFirst(now);
  const std::optional<Charge> said = readiness_.Turn(now);
  if (!said) return false;
  // One alone that listens at an address of which nothing is known here would never be said to run.
  const bool alone = !handover_ || !handover_->concerns_us();
  const bool believed = *said == Charge::kSilent && alone && first.ready() && now >= first.started() + kBelievedAfter;
  const bool in_charge = *said == Charge::kYes || believed;
  stands_by_ = !in_charge && handover_ && handover_->AnotherWrites();
  if (in_charge) first.Runs();
  return in_charge;
}

// Keeps what is live, once the first daemon has been asked whether it is in charge.
void Supervisor::KeepLive(bool in_charge, Clock::time_point now) {
  if (!starter_ || stopping_) return;
  if (in_charge && starter_->HasToKeep(*reconfigurer_, now)) starter_->Keep(*reconfigurer_, now);
  const Daemon& first = daemons_.front();
  const bool asks = first.ready() && (first.trying() || starter_->HasToKeep(*reconfigurer_, now));
  if (!asks) return ask_at_.reset();
  if (ask_at_ && now < *ask_at_) return;
  ask_at_ = now + kAskEvery;
  readiness_.Ask(starter_->port(), now);
}

void Supervisor::StartFirst(Clock::time_point now) {
  if (const auto changed = starter_->TakeChanged()) handover_.emplace(*changed, host_);
  if (handover_ && starter_->again() && handover_->WouldWait()) return starter_->Wait(now);
  if (handover_ && handover_->MustWait()) return starter_->NotBefore(now + kHandoverEvery / 2);
  const auto conf = starter_->Next(*reconfigurer_, handover_ && handover_->AnotherWrites(), now);
  if (!conf) return;
  readiness_.GiveUp();
  stands_by_ = false;
  Daemon& first = daemons_.front();
  if (const Result<void> started = first.TryWith(*conf); !started)
    starter_->Ended(first.words(), started.error().message(), now);
}

void Supervisor::Reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (Daemon& daemon : daemons_) daemon.OnReaped(pid, entry::ExitStatus(status));
    if (reconfigurer_) reconfigurer_->OnReaped(pid, entry::ExitStatus(status), Clock::now());
    if (registration_) registration_->OnReaped(pid, entry::ExitStatus(status), Clock::now());
  }
  for (Daemon& daemon : daemons_) daemon.LookForMain();
}

void Supervisor::OnTime() {
  const auto now = Clock::now();
  for (Daemon& daemon : daemons_) daemon.OnTime(now);
  if (root_) root_->Serve(now);
  const bool asked = identity_ && identity_->Serve(now);
  if (registration_) LookAtRegistration(asked, now);
  LookAtWaiting(now);
  const bool in_charge = LookAtStart(now);
  if (reconfigurer_) {
    const Daemon& first = daemons_.front();
    const bool runs = first.ready() && (!first.trying() || stands_by_);
    reconfigurer_->Serve(first.main(), runs && !stopping_, now);
  }
  KeepLive(in_charge, now);
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

// Until the root's tree stands, or a stop signal is pending. Before any daemon is started: nobody else has children yet. Who asks what the
// slurmd is called is answered.
void AwaitTree(ServedRoot& root, std::optional<Identity>& identity) {
  while (!root.stands() && !PendingStopSignal()) {
    root.Serve(Clock::now());
    if (identity) identity->Serve(Clock::now());
    std::vector<pollfd> waiting;
    root.AddTo(&waiting);
    if (identity) identity->AddTo(&waiting);
    poll(waiting.data(), waiting.size(), 500);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace

Result<int> Supervise(const Container& container) {
  // Orphans come to us; as PID 1 they do anyway.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : kForwarded) sigaddset(&wanted, number);
  sigaddset(&wanted, SIGCHLD);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  signal(SIGPIPE, SIG_IGN);  // nobody may read our log any more
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
    Result<Identity> listening = Identity::Listen(container.identity_port, node, [] { return HasChild("slurmstepd"); });
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
  const uint64_t seed = static_cast<uint64_t>(UnixSeconds(Time::clock::now())) + static_cast<uint64_t>(getpid());
  std::optional<Starter> starter;
  if (reconfigurer) {
    const Reconfigurer::Options& options = *container.reconfigure;
    CAPSTAN_TRY(Overheard overheard, Overheard::Begin());
    daemons.front().Overhear(std::move(overheard));
    starter.emplace(options.mounted, options.folder, seed);
  }
  std::optional<Waiting> waiting;
  if (container.wait) {
    CAPSTAN_TRY(Overheard overheard, Overheard::Begin());
    daemons.front().Overhear(std::move(overheard));
    waiting.emplace(*container.wait, seed);
  }
  std::optional<Registration> registration;
  if (container.registration) {
    Result<Registration> begun = Registration::Begin(*container.registration, Clock::now());
    if (begun)
      registration.emplace(*std::move(begun));
    else
      Say("slurmd is not started anew where slurmctld loses its record: " + begun.error().message());
  }
  while (handover && handover->MustWait()) {
    if (const auto stopped = PendingStopSignal()) return 128 + *stopped;
    std::this_thread::sleep_for(kHandoverEvery / 2);
  }
  std::optional<ServedRoot> root;
  if (!container.shared_root.empty()) {
    unlink((container.folder + "/ready").c_str());  // of a container before, where that folder is a volume
    CAPSTAN_TRY(ServedRoot served, ServedRoot::Begin({.volume = container.shared_root, .pod = container.pod_uid}));
    root.emplace(std::move(served));
    if (const Result<void> offered = OfferCommands(); !offered)
      Say("a root without Slurm has no commands of Slurm: " + offered.error().message());
    if (!container.services.front().node.empty()) AwaitTree(*root, identity);
    if (const auto stopped = PendingStopSignal()) return 128 + *stopped;
  }
  Supervisor supervisor(container, signals, std::move(daemons), std::move(identity), std::move(reconfigurer),
                        std::move(handover), std::move(starter), std::move(waiting), std::move(registration),
                        std::move(root));
  CAPSTAN_CHECK_OK(supervisor.Start());
  return supervisor.Run();
}

}  // namespace capstan::entry
