#include "plan/ledger.h"

#include <algorithm>

#include "async/backoff.h"

namespace capstan::plan {
namespace {

constexpr Duration kRefusalBackoff = 5min;
constexpr Duration kSettleTime = 5s;  // longer than Slurm takes to show what was done to a node

// The server has understood, and will not.
bool IsRefusal(const Error& error) { return error.code() == Code::kInvalid || error.code() == Code::kForbidden; }

// Another content may fare better: it is no refusal, nor a fight.
bool IsOfItsContent(const Error& error) { return IsRefusal(error) || error.code() == Code::kConflict; }

Duration BackOff(const Error& error, int tries, Random& random) {
  if (error.code() == Code::kConflict) {
    return async::Backoff::After({.first = 20ms, .cap = 5s, .jitter = 0.5}, tries, random);
  }
  return async::Backoff::After({.first = 200ms, .cap = 30s, .jitter = 0.25}, tries, random);
}

// For the same content. What the server asks for counts where it is longer. (It may ask for no wait at all, for ever.)
Duration WaitAfter(const Error& error, Duration back_off, Random& random) {
  if (IsRefusal(error)) back_off = random.Jittered(kRefusalBackoff, 0.1);
  return std::max(back_off, error.retry_after().value_or(Duration(0)));
}

}  // namespace

std::string_view ReasonOf(const Error& error) {
  if (error.code() == Code::kAlreadyExists) return "NameConflict";
  // A conflict that is to be waited out is no race: see Apply in objects/effects.h.
  if (error.code() == Code::kConflict && error.retry_after()) return "Contested";
  return "ActionFailed";
}

bool NeedsSomebody(const Error& error) { return IsRefusal(error) || ReasonOf(error) != "ActionFailed"; }

bool Ledger::MayStart(ActionId id, Tick now, uint64_t seen) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return true;
  const Entry& entry = found->second;
  if (entry.in_flight) return false;
  return entry.retry_at <= now || (entry.error && IsRefusal(*entry.error) && entry.seen != seen);
}

bool Ledger::InFlight(ActionId id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.in_flight;
}

void Ledger::Started(ActionId id, std::string verb, std::string target, uint64_t seen) {
  Entry& entry = entries_[id];
  entry.verb = std::move(verb);
  entry.target = std::move(target);
  entry.seen = seen;
  entry.in_flight = true;
  ++in_flight_;
}

bool Ledger::Done(ActionId id, Tick now) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && found->second.done && !found->second.in_flight && found->second.retry_at > now;
}

void Ledger::Succeeded(ActionId id, Tick now) {
  Entry& entry = entries_[id];
  if (entry.in_flight) --in_flight_;
  entry.in_flight = false;
  entry.done = true;
  entry.tries = 0;
  entry.error.reset();
  entry.retry_at = now + kSettleTime;
}

void Ledger::Clear(ActionId id) {
  const auto found = entries_.find(id);
  if (found != entries_.end() && !found->second.in_flight) entries_.erase(found);
}

void Ledger::Failed(ActionId id, const Error& error, Tick now, Random& random) {
  Entry& entry = entries_[id];
  if (entry.in_flight) --in_flight_;
  entry.in_flight = false;
  entry.done = false;
  entry.error = error;
  const Duration back_off = BackOff(error, ++entry.tries, random);
  const Duration wait = WaitAfter(error, back_off, random);
  entry.retry_at = now + wait;
  entry.other_at = now + (IsOfItsContent(error) ? back_off : wait);
}

void Ledger::KeepOnly(const std::vector<ActionId>& wanted) {
  for (auto one = entries_.begin(); one != entries_.end();) {
    const bool keep = one->second.in_flight || std::ranges::binary_search(wanted, one->first);
    if (!keep && one->second.error) PassOn(one->first.aim, one->second, wanted);
    one = keep ? std::next(one) : entries_.erase(one);
  }
}

void Ledger::PassOn(uint64_t aim, const Entry& failed, const std::vector<ActionId>& wanted) {
  for (auto id = std::ranges::lower_bound(wanted, ActionId{aim, 0}); id != wanted.end() && id->aim == aim; ++id) {
    const auto [heir, is_new] = entries_.try_emplace(*id, failed);
    if (is_new) heir->second.retry_at = failed.other_at;
  }
}

std::vector<Failure> Ledger::Failures() const {
  std::vector<Failure> failures;
  for (const auto& [id, entry] : entries_) {
    if (!entry.error) continue;
    failures.push_back({id, entry.verb, entry.target, entry.error->code(), entry.error->message(), entry.tries,
                        ReasonOf(*entry.error)});
  }
  std::ranges::sort(failures, {}, [](const Failure& f) { return std::tie(f.target, f.verb, f.id); });
  return failures;
}

std::optional<Tick> Ledger::NextRetry(Tick now) const {
  std::optional<Tick> next;
  for (const auto& [id, entry] : entries_) {
    if (!entry.in_flight && entry.retry_at > now && (!next || entry.retry_at < *next)) next = entry.retry_at;
  }
  return next;
}

}  // namespace capstan::plan
