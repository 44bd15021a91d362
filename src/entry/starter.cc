#include "entry/starter.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "entry/kept.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr Duration kAgainAfter = 30s;
constexpr double kJitter = 0.2;
constexpr auto kKeepAgainAfter = std::chrono::seconds(30);
constexpr size_t kMaxQuote = 200;  // two of them fit into what a condition shows
constexpr uint16_t kUsualPort = 6817;

Answerer::Answer AnswerProbe(std::string_view path) {
  return {path == "/livez" ? "200 OK" : "503 Service Unavailable", ""};
}

}  // namespace

uint16_t Starter::port() const {
  const std::string port = OptionOf(mounted_, "SlurmctldPort");
  return static_cast<uint16_t>(
      std::clamp<int64_t>(ParseInt(port.substr(0, port.find('-'))).value_or(kUsualPort), 1, 65'535));
}

Starter::Starter(std::string mounted, const std::string& folder, uint64_t seed)
    : mounted_folder_(std::move(mounted)), kept_folder_(folder + "/kept"), random_(seed) {}

void Starter::AddTo(std::vector<pollfd>* waiting) const {
  if (probes_) probes_->AddTo(waiting);
}

std::optional<Starter::Clock::time_point> Starter::next() const {
  std::optional<Clock::time_point> next = probes_ ? probes_->next() : std::nullopt;
  for (const auto& moment : {due_, look_at_}) {
    if (moment && (!next || *moment < *next)) next = moment;
  }
  return next;
}

void Starter::Serve(Clock::time_point now) {
  if (probes_) probes_->Serve(now, &AnswerProbe);
  if (!look_at_ || now < *look_at_) return;
  look_at_ = now + kLookEvery;
  const std::optional<Configuration> mounted = ReadConfiguration(mounted_folder_);
  if (mounted && *mounted != mounted_) {
    mounted_ = *mounted;
    changed_ = mounted_;
    again_ = false;
    BeginAnew(now);
  } else if (now >= *again_at_) {
    again_ = true;
    BeginAnew(now);
  }
}

void Starter::BeginAnew(Clock::time_point now) {
  mounted_said_.reset();
  kept_said_.reset();
  due_ = now;
}

void Starter::Wait(Clock::time_point now) {
  due_.reset();
  look_at_ = now + kLookEvery;
  again_at_ = now + std::chrono::duration_cast<Clock::duration>(random_.Jittered(kAgainAfter, kJitter));
  if (probes_) return;
  Result<Answerer> listening = Answerer::Listen(port());
  if (listening)
    probes_.emplace(*std::move(listening));
  else
    Say("no probe is answered while slurmctld does not run: " + listening.error().message());
}

std::optional<std::string> Starter::Next(Reconfigurer& reconfigurer, bool another_writes, Clock::time_point now) {
  if (!mounted_said_) {
    std::optional<Configuration> mounted = ReadConfiguration(mounted_folder_);
    if (!mounted) {
      due_ = now + kLookEvery;
      return std::nullopt;
    }
    mounted_ = *std::move(mounted);
  }
  StartSeen seen{
      .mounted = mounted_, .another_writes = another_writes, .mounted_said = mounted_said_, .kept_said = kept_said_};
  if (mounted_said_ || MissingInclude(mounted_)) seen.kept = ReadKept(KeptPath(mounted_));
  const StartDecision decision = DecideStart(seen);
  with_ = decision.with;
  Tell(decision.told);
  if (with_ == StartWith::kNone) {
    reconfigurer.DoesNotStart(mounted_, decision.told);
    Wait(now);
    return std::nullopt;
  }
  due_.reset();
  look_at_.reset();
  probes_.reset();
  if (with_ == StartWith::kKept) return StartKept(reconfigurer, **seen.kept, decision.told);
  tried_ = mounted_;
  reconfigurer.Starts({.configuration = tried_});
  return "";
}

std::optional<std::string> Starter::StartKept(Reconfigurer& reconfigurer, const Kept& kept, const std::string& told) {
  Configuration configuration = WithPartitionsOf(mounted_, kept.configuration);
  for (const auto& [name, text] : mounted_.files) {
    if (IsKeyFile(name)) configuration.files.emplace(name, text);
  }
  if (const auto put = WriteConfiguration(configuration, mounted_folder_, kept_folder_); !put) {
    kept_said_ = put.error().message();
    due_ = Clock::time_point();
    return std::nullopt;
  }
  tried_ = std::move(configuration);
  reconfigurer.DoesNotStart(mounted_, told);
  reconfigurer.Starts({.configuration = tried_, .folder = kept_folder_, .since = kept.since});
  return kept_folder_ + "/slurm.conf";
}

void Starter::Tell(const std::string& told) {
  if (!told.empty() && told != told_) Say("the configuration that is mounted is not live: " + told);
  if (!told.empty()) told_ = told;
}

void Starter::Ended(const LastWords& words, const std::string& otherwise, Clock::time_point now) {
  std::string said = WithoutPasswords(words.Quote(tried_, kMaxQuote), mounted_);
  if (said.empty()) said = otherwise;
  (with_ == StartWith::kKept ? kept_said_ : mounted_said_) = std::move(said);
  with_ = StartWith::kNone;
  due_ = now;
}

bool Starter::HasToKeep(const Reconfigurer& reconfigurer, Clock::time_point now) const {
  return reconfigurer.live() != nullptr && reconfigurer.times_live() != kept_life_ && now >= keep_at_;
}

void Starter::Keep(const Reconfigurer& reconfigurer, Clock::time_point now) {
  const Configuration* live = reconfigurer.live();
  if (live == nullptr) return;
  keep_at_ = now + kKeepAgainAfter;
  const std::string path = KeptPath(*live);
  const Result<void> kept = path.empty() ? Fail(Code::kInvalid, "slurm.conf names no StateSaveLocation")
                                         : WriteKept(path, {WithoutKeys(*live), reconfigurer.since()});
  if (kept) {
    kept_life_ = reconfigurer.times_live();
    keep_at_ = now;
  } else if (kept.error().message() != keep_said_) {
    keep_said_ = kept.error().message();
    Say("the configuration that slurmctld runs with is not kept for its next start: " + keep_said_);
  }
}

}  // namespace capstan::entry
