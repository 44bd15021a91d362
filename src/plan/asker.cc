#include "plan/asker.h"

#include <algorithm>

#include "async/backoff.h"
#include "async/contained.h"
#include "base/log.h"

namespace capstan::plan {
namespace {

using State = AnswerState;

constexpr Duration kAnswerLifetime = 15min;

// When an answer of this age is too old; an age without bound is never reached.
Tick TooOldAt(Tick fetched_at, Duration max_age) {
  return max_age > Tick::max() - fetched_at ? Tick::max() : fetched_at + max_age;
}

}  // namespace

Asker::Asker(Services& services, std::function<void(const std::string&)> changed, uint64_t seed)
    : services_(services),
      changed_(std::move(changed)),
      random_(seed),
      next_due_(services.loop),
      group_(services.loop) {}

void Asker::Ask(KeyNumber key, const std::vector<Asked>& asked) {
  const Tick now = services_.loop.Now();
  auto& entries = answers_.entries();
  if (entries.size() >= forget_at_) ForgetUnasked(now);
  std::set<std::string> ids;
  for (const Asked& one : asked) {
    std::string id = one.question->id();
    Answers::Entry& entry = entries[id];
    entry.question = one.question;
    entry.asked_at = now;
    Duration& wanted = entry.wanted_by[key];
    wanted = ids.contains(id) ? std::min(wanted, one.max_age) : one.max_age;
    FetchOrAwait(id, entry);
    ids.insert(std::move(id));
  }
  const auto known = asked_by_.find(key);
  if (known != asked_by_.end()) {
    for (const std::string& id : known->second) {
      const auto entry = entries.find(id);
      if (ids.contains(id) || entry == entries.end()) continue;
      entry->second.wanted_by.erase(key);
      FetchOrAwait(id, entry->second);
    }
  }
  if (!ids.empty())
    asked_by_[key] = std::move(ids);
  else if (known != asked_by_.end())
    asked_by_.erase(known);
}

// Fetches the answer if it is too old for who wants it, else sees to it that this is done when it will be.
void Asker::FetchOrAwait(const std::string& id, Answers::Entry& entry) {
  const Tick now = services_.loop.Now();
  std::optional<Tick> due;
  if (!entry.in_flight && !entry.wanted_by.empty()) {
    due = entry.refresh_at;
    if (entry.state == State::kPending) due = now;
    if (entry.failures == 0)
      for (const auto& [key, max_age] : entry.wanted_by) due = std::min(*due, TooOldAt(entry.fetched_at, max_age));
  }
  const bool fetch = due && *due <= now;
  if (fetch || due == Tick::max()) due.reset();
  if (entry.due && entry.due != due) due_.erase({*entry.due, id});
  if (due && entry.due != due) due_.emplace(*due, id);
  const bool sooner = due && due != entry.due && due_.begin()->second == id;
  entry.due = due;
  if (fetch) {
    entry.in_flight = true;
    group_.Spawn("ask " + id, Fetch(id));  // which may end in here
  }
  if (!sooner) return;
  if (!std::exchange(awaits_due_, true)) group_.Spawn("keep answers young", FetchWhenDue());
  next_due_.Cancel();
}

async::Task<void> Asker::FetchWhenDue() {
  while (true) {
    while (!due_.empty() && due_.begin()->first <= services_.loop.Now()) {
      const std::string id = due_.begin()->second;
      FetchOrAwait(id, answers_.entries().at(id));
    }
    co_await next_due_.WaitUntil(due_.empty() ? Tick::max() : due_.begin()->first);
  }
}

// Looks at all of them only when there are twice as many as were left the last time.
void Asker::ForgetUnasked(Tick now) {
  auto& entries = answers_.entries();
  std::erase_if(entries, [&](const auto& pair) {
    const bool forgotten = !pair.second.in_flight && now - pair.second.asked_at > kAnswerLifetime;
    if (forgotten && pair.second.due) due_.erase({*pair.second.due, pair.first});
    return forgotten;
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

async::Task<void> Asker::Fetch(std::string id) {
  const std::shared_ptr<const Question> question = answers_.entries()[id].question;
  auto fetched =
      co_await async::Contained([&] { return question->Fetch(services_, services_.loop.After(question->limit())); });
  Answers::Entry& entry = answers_.entries()[id];
  entry.in_flight = false;
  const State before = entry.state;
  const uint64_t digest = entry.digest;
  const std::string error = entry.error;
  Note(entry, std::move(fetched));
  FetchOrAwait(id, entry);
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
