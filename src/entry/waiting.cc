#include "entry/waiting.h"

#include <utility>

#include "base/text.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr auto kMountedEvery = std::chrono::milliseconds(500);
constexpr Duration kTriedAfter = 30s;
constexpr double kSpread = 0.2;
constexpr size_t kLongestQuote = 400;

}  // namespace

Waiting::Waiting(Options options, uint64_t seed)
    : options_(std::move(options)), random_(seed), mounted_(ReadFiles(options_.mounted)) {
  Result<Answerer> listening = Answerer::Listen(options_.port);
  if (listening)
    answerer_.emplace(*std::move(listening));
  else
    Say("nobody can ask why " + options_.daemon + " does not start: " + listening.error().message());
}

void Waiting::AddTo(std::vector<pollfd>* waiting) const {
  for (const auto& one : {&answerer_, &in_its_place_}) {
    if (*one) (*one)->AddTo(waiting);
  }
}

std::optional<Waiting::Clock::time_point> Waiting::next() const {
  std::optional<Clock::time_point> next = look_at_;
  for (const auto& one : {&answerer_, &in_its_place_}) {
    const auto its = *one ? (*one)->next() : std::nullopt;
    if (its && (!next || *its < *next)) next = its;
  }
  return next;
}

bool Waiting::Serve(Clock::time_point now) {
  if (answerer_) {
    answerer_->Serve(now, [this](std::string_view path) -> Answerer::Answer {
      if (path == "/readyz") return {ready() ? "200 OK" : "503 Service Unavailable"};
      if (path != "/start") return {};
      return {"200 OK", Answer()};
    });
  }
  if (in_its_place_)
    in_its_place_->Serve(
        now, [this](std::string_view) -> Answerer::Answer { return {"503 Service Unavailable", Answer()}; });
  if (!look_at_ || now < *look_at_) return false;
  look_at_ = now + kMountedEvery;
  std::optional<Configuration> mounted = ReadFiles(options_.mounted);
  const bool changed = mounted && mounted != mounted_;
  if (!changed && now < *again_at_) return false;
  if (mounted) mounted_ = std::move(mounted);
  look_at_.reset();
  in_its_place_.reset();
  return true;
}

void Waiting::Ended(const LastWords& words, const std::string& otherwise, Clock::time_point now) {
  std::string said = words.Quote(mounted_.value_or(Configuration()), kLongestQuote);
  if (said.empty()) said = otherwise;
  const std::string before = std::exchange(message_, options_.daemon + " does not start: " + said);
  if (message_ != before) Say(message_ + "; it is tried again every half minute, and when its files change");
  StandIn();
  look_at_ = now + kMountedEvery;
  again_at_ = now + std::chrono::duration_cast<Clock::duration>(random_.Jittered(kTriedAfter, kSpread));
}

void Waiting::StandIn() {
  if (options_.probed == 0 || in_its_place_) return;
  Result<Answerer> listening = Answerer::Listen(options_.probed);
  if (listening)
    in_its_place_.emplace(*std::move(listening));
  else
    Say("no probe is answered while " + options_.daemon + " does not run: " + listening.error().message());
}

std::string Waiting::Answer() const { return "{\"message\": " + JsonQuoted(message_) + "}\n"; }

}  // namespace capstan::entry
