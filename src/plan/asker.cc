#include "plan/asker.h"

#include "async/backoff.h"
#include "async/contained.h"
#include "base/log.h"

namespace capstan::plan {
namespace {

using State = AnswerState;

constexpr Duration kFetchTimeout = 10s;
constexpr Duration kAnswerLifetime = 15min;

// When an answer of this age is too old; an age without bound is never reached.
Tick TooOldAt(Tick fetched_at, Duration max_age) {
  return max_age > Tick::max() - fetched_at ? Tick::max() : fetched_at + max_age;
}

}  // namespace

Asker::Asker(Services& services, std::function<void(const std::string&)> changed, uint64_t seed)
    : services_(services), changed_(std::move(changed)), random_(seed), group_(services.loop) {}

void Asker::Ask(const std::vector<Asked>& asked) {
  const Tick now = services_.loop.Now();
  auto& entries = answers_.entries();
  if (entries.size() >= forget_at_) ForgetUnasked(now);
  for (const Asked& one : asked) {
    Answers::Entry& entry = entries[one.question->id()];
    entry.question = one.question;
    entry.asked_at = now;
    const bool failing = entry.failures > 0;
    const Tick due = failing ? entry.refresh_at : std::min(entry.refresh_at, TooOldAt(entry.fetched_at, one.max_age));
    if (entry.in_flight || (entry.state != State::kPending && now < due)) continue;
    entry.in_flight = true;
    group_.Spawn("ask " + one.question->id(), Fetch(one.question->id()));
  }
}

// Looks at all of them only when there are twice as many as were left the last time.
void Asker::ForgetUnasked(Tick now) {
  auto& entries = answers_.entries();
  std::erase_if(entries, [&](const auto& pair) {
    return !pair.second.in_flight && now - pair.second.asked_at > kAnswerLifetime;
  });
  forget_at_ = 2 * entries.size() + 64;
}

void Asker::Outdate(const std::string& id) {
  for (auto entry = answers_.entries().lower_bound(id); entry != answers_.entries().end(); ++entry) {
    const std::string& known = entry->first;
    if (!known.starts_with(id)) break;
    if (known.size() != id.size() && known[id.size()] != ' ') continue;
    entry->second.refresh_at = Tick::min();
    entry->second.outdated = entry->second.in_flight;
  }
}

std::optional<Tick> Asker::NextRefresh(const std::vector<Asked>& asked) const {
  std::optional<Tick> next;
  for (const Asked& one : asked) {
    const Answers::Entry* entry = answers_.Find(one.question->id());
    if (entry == nullptr) continue;
    // An answer under way wakes nobody when it is the same as before.
    const Tick due = entry->in_flight      ? TooOldAt(services_.loop.Now(), one.max_age)
                     : entry->failures > 0 ? entry->refresh_at
                                           : std::min(entry->refresh_at, TooOldAt(entry->fetched_at, one.max_age));
    next = next ? std::min(*next, due) : due;
  }
  return next;
}

async::Task<void> Asker::Fetch(std::string id) {
  const std::shared_ptr<const Question> question = answers_.entries()[id].question;
  auto fetched =
      co_await async::Contained([&] { return question->Fetch(services_, services_.loop.After(kFetchTimeout)); });
  Answers::Entry& entry = answers_.entries()[id];
  entry.in_flight = false;
  const State before = entry.state;
  const uint64_t digest = entry.digest;
  const std::string error = entry.error;
  Note(entry, std::move(fetched));
  if (entry.state != before || entry.digest != digest || entry.error != error) changed_(id);
}

void Asker::Note(Answers::Entry& entry, Result<std::optional<Question::Fetched>> fetched) {
  const Tick now = services_.loop.Now();
  if (!fetched) {
    entry.state = State::kFailed;
    entry.error = fetched.error().message();
    entry.refresh_at = now + async::Backoff::After({.first = 500ms, .cap = 30s}, ++entry.failures, random_);
    log::Warn("question not answered", {{"question", entry.question->id()}, {"error", entry.error}});
    return;
  }
  entry.failures = 0;
  entry.error.clear();
  entry.fetched_at = now;
  entry.refresh_at = std::exchange(entry.outdated, false) ? Tick::min() : Tick::max();
  entry.state = *fetched ? State::kKnown : State::kAbsent;
  entry.value = *fetched ? std::move((*fetched)->value) : nullptr;
  entry.digest = *fetched ? (*fetched)->digest : 0;
}

async::Task<void> Asker::Stop() {
  group_.Cancel();
  co_await group_.Join();
}

}  // namespace capstan::plan
