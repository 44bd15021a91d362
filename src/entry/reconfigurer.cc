#include "entry/reconfigurer.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "entry/files.h"
#include "entry/heartbeat.h"
#include "entry/last_words.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr auto kCheckLimit = std::chrono::seconds(5);
constexpr auto kAskLimit = std::chrono::seconds(30);  // scontrol itself gives up after MessageTimeout
constexpr auto kMaxRetry = std::chrono::seconds(30);
constexpr auto kMaxAgain = std::chrono::minutes(10);
constexpr auto kLookAnyway = std::chrono::seconds(30);  // should the kernel not tell
constexpr auto kHeartbeatEvery = std::chrono::seconds(2);
constexpr size_t kMaxMessage = 400;
constexpr const char* kVariable = "SLURM_CONF";

// What scontrol's message leaves open.
bool WasNotReached(std::string_view said) { return said.contains("Unable to contact"); }
bool MayHaveAnswered(std::string_view said) { return said.contains("timed out") || said.contains("Zero Bytes"); }

std::string JsonOf(const Configuration& configuration) {
  std::string json = "{";
  for (const auto& [name, digest] : configuration.digests())
    json += (json.size() > 1 ? ", " : "") + JsonQuoted(name) + ": " + JsonQuoted(digest);
  return json + "}";
}

}  // namespace

Result<Reconfigurer> Reconfigurer::Begin(Options options) {
  std::optional<Configuration> live = ReadConfiguration(options.mounted);
  if (!live) return Fail(Code::kNotFound, "there is no configuration in " + options.mounted);
  CAPSTAN_TRY(Answerer answerer, Answerer::Listen(options.port));
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watch >= 0)
    inotify_add_watch(watch, options.mounted.c_str(), IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE | IN_DELETE);
  const std::string path = options.folder + "/scontrol.out";
  const int output = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600);
  Reconfigurer made(std::move(options), watch, output, std::move(answerer), *std::move(live));
  if (output < 0) return Fail(Code::kUnavailable, "cannot write " + path + ": " + strerror(errno));
  CAPSTAN_CHECK_OK(made.WriteCopy());
  return made;
}

Reconfigurer::Reconfigurer(Reconfigurer&& other) noexcept
    : options_(other.options_),
      watch_(std::exchange(other.watch_, -1)),
      output_(std::exchange(other.output_, -1)),
      answerer_(std::move(other.answerer_)) {
  SetLive(std::move(other.live_));
}

Reconfigurer::~Reconfigurer() {
  if (child_ > 0) kill(child_, SIGKILL);
  if (watch_ >= 0) close(watch_);
  if (output_ >= 0) close(output_);
}

void Reconfigurer::AddTo(std::vector<pollfd>* waiting) const {
  waiting->push_back({.fd = watch_, .events = POLLIN, .revents = 0});
  answerer_.AddTo(waiting);
}

std::optional<Reconfigurer::Clock::time_point> Reconfigurer::next() const {
  auto next = answerer_.next();
  for (const auto& moment :
       {limit_, step_ == Step::kIdle ? look_at_ : std::nullopt, several_ ? heartbeat_at_ : std::nullopt}) {
    if (moment && (!next || *moment < *next)) next = moment;
  }
  return next;
}

void Reconfigurer::Serve(pid_t daemon, bool able, Clock::time_point now) {
  NoteChanges(now);
  NoteDaemon(daemon, now);
  if (able && !runs_) BeginsToRun(now);
  if (limit_ && now >= *limit_) {
    if (step_ == Step::kAwaiting)
      Refuse("slurmctld has not taken it within " + FormatDuration(options_.answer_limit), now);
    else if (child_ > 0)
      kill(child_, SIGKILL);
    limit_.reset();
  }
  if (step_ == Step::kIdle && look_at_ && now >= *look_at_) {
    if (able)
      Look(now);
    else
      look_at_ = now + options_.settle;
  }
  LookAtHeartbeat(now);
  answerer_.Serve(now, [this](std::string_view path) -> Answerer::Answer {
    if (path != "/configuration") return {};
    return {"200 OK", Answer()};
  });
}

void Reconfigurer::SetLive(Configuration configuration) {
  live_ = std::move(configuration);
  live_files_ = JsonOf(live_);
  several_ = SlurmctldHosts(live_).size() > 1;
  heartbeat_.clear();
  heartbeat_at_.reset();
}

void Reconfigurer::SetRefused(Configuration configuration, std::string message) {
  std::string files = JsonOf(configuration);
  refused_ = {std::move(configuration), std::move(message), std::move(files)};
}

// It lies on the storage that the slurmctlds share, which may be slow: not as often as somebody asks.
void Reconfigurer::LookAtHeartbeat(Clock::time_point now) {
  if (!several_ || (heartbeat_at_ && now < *heartbeat_at_)) return;
  const auto heartbeat = ReadHeartbeat(live_);
  heartbeat_ = heartbeat ? "{\"server\": " + std::to_string(heartbeat->server) + ", \"age_s\": " +
                               std::to_string(UnixSeconds(Time::clock::now()) - UnixSeconds(heartbeat->at)) + "}"
                         : "";
  heartbeat_at_ = now + kHeartbeatEvery;
}

void Reconfigurer::NoteChanges(Clock::time_point now) {
  alignas(inotify_event) char events[4096];
  bool changed = false;
  while (read(watch_, events, sizeof events) > 0) changed = true;
  if (changed) {
    const auto soon = now + options_.settle;
    look_at_ = std::max(soon, not_before_.value_or(soon));
  } else if (!look_at_) {
    look_at_ = now + kLookAnyway;
  }
}

void Reconfigurer::NoteDaemon(pid_t daemon, Clock::time_point now) {
  const pid_t before = std::exchange(daemon_, daemon);
  if (before == daemon || before == 0 || daemon == 0) return;
  if (step_ == Step::kAwaiting) return IsLive(now);
  if (step_ != Step::kAsking) refused_.reset();
}

void Reconfigurer::Starts(Start start) {
  if (child_ > 0) kill(std::exchange(child_, 0), SIGKILL);
  step_ = Step::kIdle;
  limit_.reset();
  daemon_ = 0;  // its new process is no reconfigure
  runs_ = false;
  SetLive(std::move(start.configuration));
  reads_ = std::move(start.folder);
  started_since_ = start.since;
  if (const Result<void> copied = WriteCopy(); !copied) Say(copied.error().message());
}

void Reconfigurer::DoesNotStart(Configuration mounted, std::string message) {
  runs_ = false;
  SetRefused(std::move(mounted), std::move(message));
}

void Reconfigurer::BeginsToRun(Clock::time_point now) {
  runs_ = true;
  since_ = started_since_.value_or(Time::clock::now());
  ++times_live_;
  if (reads_.empty()) return refused_.reset();
  again_after_ = options_.start_again;
  again_at_ = now + again_after_;
  look_at_ = again_at_;
}

void Reconfigurer::Look(Clock::time_point now) {
  look_at_.reset();
  std::optional<Configuration> mounted = ReadConfiguration(options_.mounted);
  if (!mounted) {
    look_at_ = now + options_.settle;
    return;
  }
  if (*mounted == live_) return refused_.reset();
  const bool again = refused_ && *mounted == refused_->configuration;
  if (again && (!again_at_ || now < *again_at_)) {
    if (again_at_) look_at_ = std::min<Clock::time_point>(*again_at_, now + kLookAnyway);
    return;
  }
  if (!again) refused_.reset();
  candidate_ = std::move(mounted);
  // It parses the files as every command of Slurm does, and asks nobody.
  Run(Step::kChecking, {"show", "hostnames", "a"}, options_.mounted, now);
}

void Reconfigurer::Run(Step step, const std::vector<std::string>& arguments, const std::string& folder,
                       Clock::time_point now) {
  std::vector<std::string> argv{options_.scontrol};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  [[maybe_unused]] const int truncated = ftruncate(output_, 0);
  const ScopedVariable conf(kVariable, folder + "/slurm.conf");
  const Result<pid_t> child = SpawnInto(argv, output_);
  if (!child) {
    Say(child.error().message());
    return Rest(now);
  }
  step_ = step;
  child_ = *child;
  limit_ = now + (step == Step::kChecking ? kCheckLimit : kAskLimit);
}

void Reconfigurer::OnReaped(pid_t pid, int exit_status, Clock::time_point now) {
  if (pid != child_ || child_ == 0) return;
  child_ = 0;
  limit_.reset();
  if (step_ == Step::kChecking)
    Checked(exit_status, now);
  else
    Asked(exit_status, now);
}

void Reconfigurer::Checked(int exit_status, Clock::time_point now) {
  if (exit_status != 0) return Refuse("Slurm cannot read it: " + Output(*candidate_), now);
  if (!reads_.empty()) {
    if (const auto put = WriteConfiguration(*candidate_, options_.mounted, reads_); !put) {
      Say(put.error().message());
      return Rest(now);
    }
  }
  if (StandsBy(*candidate_, options_.host)) return IsLive(now);
  asked_ = daemon_;
  Run(Step::kAsking, {"reconfigure"}, options_.folder + "/live", now);
}

void Reconfigurer::Asked(int exit_status, Clock::time_point now) {
  if (exit_status == 0 || daemon_ != asked_) return IsLive(now);
  const std::string said = Output(*candidate_);
  if (WasNotReached(said)) {
    Say("slurmctld cannot be told yet that its configuration has changed: " + said);
    return Rest(now);
  }
  if (MayHaveAnswered(said) || exit_status > 128) {
    step_ = Step::kAwaiting;
    limit_ = now + options_.answer_limit;
    return;
  }
  Refuse("slurmctld refuses it, and its log says why (" + said + ")", now);
}

void Reconfigurer::IsLive(Clock::time_point now) {
  SetLive(*std::move(candidate_));
  since_ = Time::clock::now();
  ++reconfigures_;
  ++times_live_;
  refused_.reset();
  Say("slurmctld has the configuration that was mounted");
  if (const Result<void> copied = WriteCopy(); !copied) Say(copied.error().message());
  retry_ = {};
  step_ = Step::kIdle;
  limit_.reset();
  not_before_ = now + options_.between;
  look_at_ = not_before_;  // what came meanwhile, if anything
}

void Reconfigurer::Refuse(std::string message, Clock::time_point now) {
  if (!reads_.empty()) {
    if (const auto put = WriteConfiguration(live_, options_.mounted, reads_); !put) Say(put.error().message());
  }
  if (refused_ && refused_->configuration == *candidate_) {  // what slurmctld said at its start says more
    again_after_ = std::min<std::chrono::milliseconds>(again_after_ * 2, kMaxAgain);
    again_at_ = now + again_after_;
  } else {
    Say("the configuration that is mounted is not used: " + message);
    SetRefused(*std::move(candidate_), std::move(message));
    again_at_.reset();
  }
  retry_ = {};
  step_ = Step::kIdle;
  limit_.reset();
  not_before_ = now + options_.between;
  look_at_ = not_before_;
}

void Reconfigurer::Rest(Clock::time_point now) {
  step_ = Step::kIdle;
  retry_ = std::clamp<std::chrono::milliseconds>(retry_ * 2, options_.first_retry, kMaxRetry);
  look_at_ = now + retry_;
}

Result<void> Reconfigurer::WriteCopy() const {
  return WriteConfiguration(live_, options_.mounted, options_.folder + "/live");
}

std::string Reconfigurer::Output(const Configuration& configuration) const {
  std::string said(4096, '\0');
  const ssize_t count = pread(output_, said.data(), said.size(), 0);
  said.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return OneLine(Trim(WithoutPasswords(std::move(said), configuration)), kMaxMessage);
}

std::string Reconfigurer::Answer() const {
  std::string json = "{\"files\": " + (runs_ ? live_files_ : R"({"slurm.conf": ""})") +
                     ", \"since\": " + JsonQuoted(FormatRfc3339(since_)) +
                     ", \"reconfigures\": " + std::to_string(reconfigures_);
  if (!runs_) json += ", \"runs\": false";
  if (refused_) {
    json += ", \"refused\": {\"files\": " + refused_->files + ", \"message\": " + JsonQuoted(refused_->message) + "}";
  }
  if (!heartbeat_.empty()) json += ", \"heartbeat\": " + heartbeat_;
  return json + "}\n";
}

}  // namespace capstan::entry
