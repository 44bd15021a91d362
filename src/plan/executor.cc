#include "plan/executor.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "async/contained.h"
#include "base/log.h"
#include "kube/errors.h"

namespace capstan::plan {

using async::Deadline;
using async::Task;

namespace {

constexpr Duration kTrustCheck = 1s;

// "apply status" -> "ApplyStatus", as Events name actions.
std::string CamelCase(std::string_view verb) {
  std::string text;
  bool first = true;
  for (const char letter : verb) {
    const bool is_letter = std::isalpha(static_cast<unsigned char>(letter)) != 0;
    if (is_letter) text += first ? char(std::toupper(static_cast<unsigned char>(letter))) : letter;
    first = !is_letter;
  }
  return text;
}

// events.k8s.io refuses longer ones.
constexpr size_t kEventWord = 128;

std::string EventWord(std::string_view word, std::string_view ending = "") {
  return std::string(word.substr(0, kEventWord - ending.size())).append(ending);
}

std::string ActionWord(const Action& action) {
  const bool named = action.event && !action.event->action.empty();
  return EventWord(named ? action.event->action : CamelCase(action.effect->verb()));
}

}  // namespace

Executor::Executor(Services& services, Options options)
    : services_(services), options_(std::move(options)), random_(options_.seed), group_(services.loop) {}

Executor::~Executor() = default;

const Ledger& Executor::ledger(const Key& key) const {
  static const Ledger kNothing;
  const auto found = records_.find(key);
  return found == records_.end() ? kNothing : found->second.ledger;
}

std::vector<Failure> Executor::Failures(const Key& key) const {
  const auto found = records_.find(key);
  if (found == records_.end()) return {};
  std::vector<Failure> failures = found->second.ledger.Failures();
  std::erase_if(failures, [&](const Failure& failure) { return failure.target == found->second.status_target; });
  return failures;
}

std::set<std::string> Executor::TargetsInFlight(const Key& key) const {
  std::set<std::string> targets;
  const auto found = records_.find(key);
  if (found == records_.end()) return targets;
  for (const auto& [target, started] : found->second.targets) targets.insert(target);
  return targets;
}

std::vector<Executor::Running> Executor::running() const {
  std::vector<Running> running;
  for (const auto& [key, record] : records_) {
    for (const auto& [target, started] : record.targets)
      running.push_back({key, started.verb, target, services_.loop.Now() - started.at});
  }
  std::ranges::sort(running,
                    [](const Running& a, const Running& b) { return std::tie(b.age, a.key) < std::tie(a.age, b.key); });
  return running;
}

void Executor::Forget(const Key& key) {
  const auto found = records_.find(key);
  if (found == records_.end() || found->second.ledger.in_flight() > 0) return;
  for (const auto& [target, submit] : found->second.kept) keepers_.erase(target);
  records_.erase(found);
}

// What the last Submit did not want any more is free for others, unless it is being written still.
void Executor::LetGo(Record& record) {
  std::erase_if(record.kept, [&](const auto& one) {
    const bool keeps = one.second == record.submits || record.targets.contains(one.first);
    if (!keeps) keepers_.erase(one.first);
    return !keeps;
  });
}

std::optional<Tick> Executor::Submit(const Key& key, std::vector<Action> actions, std::optional<Action> status) {
  Record& record = records_[key];
  const Tick now = services_.loop.Now();
  ++record.submits;
  const auto want = [&](const Wanted& one) {
    const auto kept = record.kept.find(one.target);
    if (kept != record.kept.end() && one.action.effect->exclusive()) kept->second = record.submits;
  };
  for (auto& [name, lane] : lanes_) lane.waiting.Leave(key);
  const size_t failures = Failures(key).size();
  std::vector<Wanted> wanted;
  std::vector<ActionId> ids;
  for (Action& action : actions) {
    Wanted& one = wanted.emplace_back(Identified(std::move(action)));
    ids.push_back(one.id);
    want(one);
  }
  std::optional<Wanted> wanted_status;
  if (status) {
    wanted_status = Identified(*std::move(status));
    ids.push_back(wanted_status->id);
    want(*wanted_status);
    record.status_target = wanted_status->target;
  }
  std::ranges::sort(ids);
  record.ledger.KeepOnly(ids);
  LetGo(record);

  std::set<ActionId> left;
  for (Wanted& one : wanted) {
    const bool satisfied = one.action.effect->Satisfied(services_);
    if (satisfied) record.ledger.Clear(one.id);
    one.left = !satisfied && !record.ledger.Done(one.id, now);
    if (one.left) left.insert(one.id);
  }
  if (wanted_status && wanted_status->action.effect->Satisfied(services_)) {
    record.ledger.Clear(wanted_status->id);
    wanted_status.reset();
  }
  bool distrusted = false;
  for (Wanted& one : wanted) {
    if (!one.left) continue;
    const bool waits = std::ranges::any_of(one.action.after, [&](ActionId id) { return left.contains(id); });
    if (waits) continue;
    distrusted |= one.action.effect->destructive() && !options_.may_destroy();
    StartIfPossible(key, record, std::move(one));
  }
  std::optional<Tick> again = record.ledger.NextRetry(now);
  // What went wrong and is over without having been done again still stands in the status.
  if (Failures(key).size() < failures) again = now;
  if (distrusted) again = std::min(again.value_or(Tick::max()), now + kTrustCheck);
  if (wanted_status) {
    const auto patience = SubmitStatus(key, record, *std::move(wanted_status));
    if (patience) again = again ? std::min(*again, *patience) : *patience;
  } else {
    record.status_wanted.reset();
  }
  return again;
}

Executor::Wanted Executor::Identified(Action action) const {
  const ActionId id = action.id();
  std::string target = action.effect->target();
  return {.action = std::move(action), .id = id, .target = std::move(target)};
}

// Starts the status write, or says until when it waits for other actions that are on their way.
std::optional<Tick> Executor::SubmitStatus(const Key& key, Record& record, Wanted status) {
  const Tick now = services_.loop.Now();
  if (!record.status_wanted) record.status_wanted = now;
  const Tick patience = *record.status_wanted + options_.status_patience;
  if (record.ledger.in_flight() > 0 && now < patience) return patience;
  StartIfPossible(key, record, std::move(status));
  return std::nullopt;
}

void Executor::StartIfPossible(const Key& key, Record& record, Wanted wanted) {
  const uint64_t seen = wanted.action.effect->TargetDigest(services_);
  if (MayStart(key, record, wanted, seen)) Start(key, record, std::move(wanted), seen);
}

bool Executor::MayStart(const Key& key, const Record& record, const Wanted& wanted, uint64_t seen) {
  if (!record.ledger.MayStart(wanted.id, services_.loop.Now(), seen)) return false;
  if (record.targets.contains(wanted.target)) return false;
  if (record.ledger.in_flight() >= options_.wave_limit) return false;
  const Effect& effect = *wanted.action.effect;
  if (effect.destructive() && !options_.may_destroy()) return false;
  if (!options_.may_write()) return false;
  LaneState& lane = lanes_[effect.lane()];
  const bool room = HasRoom(key, lane);
  if (!room) lane.waiting.Join(key);
  return room;
}

bool Executor::HasRoom(const Key& key, LaneState& lane) const {
  if (lane.in_flight >= options_.lane_limit) return false;
  const size_t others = lane.waiting.size() - size_t(lane.waiting.contains(key));
  const auto mine = lane.by_key.find(key);
  const size_t share = std::max<size_t>(1, options_.lane_limit / (1 + others));
  return others == 0 || mine == lane.by_key.end() || mine->second < share;
}

// Whoever waits longest is asked next; it stays in the list, and so keeps its share, until it has submitted again.
void Executor::LeaveLane(const Key& key, const Lane& name) {
  LaneState& lane = lanes_[name];
  --lane.in_flight;
  if (--lane.by_key[key] == 0) lane.by_key.erase(key);
  if (lane.waiting.empty()) return;
  options_.room(lane.waiting.TakeTurn());
}

void Executor::Start(const Key& key, Record& record, Wanted wanted, uint64_t seen) {
  const std::string verb(wanted.action.effect->verb());
  LaneState& lane = lanes_[wanted.action.effect->lane()];
  ++lane.in_flight;
  ++lane.by_key[key];
  ++started_;
  std::string name = ToString(key) + ": " + verb + " " + wanted.target;
  record.targets[wanted.target] = {verb, services_.loop.Now()};
  record.ledger.Started(wanted.id, verb, std::move(wanted.target), seen);
  if (options_.started) options_.started(key, wanted.action);
  group_.Spawn(std::move(name), Run(key, std::move(wanted.action)));
}

Task<void> Executor::Run(Key key, Action action) {
  const Tick began = services_.loop.Now();
  const Deadline deadline = services_.loop.After(options_.action_limit);
  const Result<void> result = co_await async::Contained([&] { return Perform(key, action, deadline); });
  Ended(key, action, result, services_.loop.Now() - began);
}

Task<Result<void>> Executor::Perform(const Key& key, const Action& action, Deadline deadline) {
  for (const auto& guard : action.guards) {
    switch (co_await guard->Prove(services_, deadline)) {
      case Proof::kYes:
        break;
      case Proof::kNo:
        co_return Fail(Code::kConflict, "not done, since it is no longer so that " + guard->text());
      case Proof::kUnknown:
        co_return Fail(Code::kUnavailable, "not done, since it cannot be seen whether " + guard->text());
    }
  }
  // Proving took time: the lease may have been lost and the stores may have become doubtful meanwhile.
  if (!options_.may_write()) co_return Fail(Code::kCancelled, "not done: this process no longer holds the lease");
  if (action.effect->destructive() && !options_.may_destroy()) {
    co_return Fail(Code::kUnavailable, "not done: what the API server showed is being read anew");
  }
  if (action.effect->exclusive()) co_return co_await RunAlone(key, action, deadline);
  co_return co_await action.effect->Run(services_, deadline);
}

Task<Result<void>> Executor::RunAlone(const Key& key, const Action& action, Deadline deadline) {
  const std::string target = action.effect->target();
  const auto [keeper, is_new] = keepers_.try_emplace(target, key);
  if (keeper->second != key) {
    co_return Fail(Code::kAlreadyExists,
                   target + " is written by " + ToString(keeper->second) + " already, and an object has one writer");
  }
  if (is_new) records_[key].kept.emplace(target, records_[key].submits);
  const Result<void> result = co_await async::Contained([&] { return action.effect->Run(services_, deadline); });
  // Who could not write it (it may be somebody else's) must not keep it from who can.
  if (!result && is_new) {
    keepers_.erase(target);
    records_[key].kept.erase(target);
  }
  co_return result;
}

void Executor::Ended(const Key& key, const Action& action, const Result<void>& result, Duration took) {
  Record& record = records_[key];
  const std::string target = action.effect->target();
  record.targets.erase(target);
  if (result)
    record.ledger.Succeeded(action.id(), services_.loop.Now());
  else
    record.ledger.Failed(action.id(), result.error(), services_.loop.Now(), random_);

  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (result) {
    log::Info("done", {{"key", ToString(key)},
                       {"verb", action.effect->verb()},
                       {"target", target},
                       {"reason", action.reason},
                       {"took_ms", millis}});
  } else {
    const kube::FailedCall* call = kube::FailedCallOf(result.error());
    log::Warn("not done", {{"key", ToString(key)},
                           {"verb", action.effect->verb()},
                           {"target", target},
                           {"reason", action.reason},
                           {"error", result.error().message()},
                           {"request", call != nullptr ? call->request_id : ""},
                           {"took_ms", millis}});
  }
  Tell(key, action, result);
  options_.ended(key, action, result, took);
  LeaveLane(key, action.effect->lane());
}

void Executor::Tell(const Key& key, const Action& action, const Result<void>& result) {
  const auto what = [&action] {
    return std::string(action.effect->verb()) + " " + action.effect->target() + ": " + action.reason;
  };
  if (result) {
    if (!action.event) return;
    options_.tell(
        key, {action.event->warning, EventWord(action.event->reason), ActionWord(action), what(), action.event->about});
    return;
  }
  const Error& error = result.error();
  const bool needs_somebody = NeedsSomebody(error);
  // Any other conflict is the ordinary way to learn that the world has moved on; the next Decide deals with it.
  if (!needs_somebody && (!action.event || error.code() == Code::kConflict)) return;
  options_.tell(key, {.warning = true,
                      .reason = action.event ? EventWord(action.event->reason, "Failed") : std::string(ReasonOf(error)),
                      .action = ActionWord(action),
                      .note = what() + ": " + error.message(),
                      .about = action.event ? action.event->about : std::nullopt});
}

Task<void> Executor::Stop() {
  group_.Cancel();
  co_await group_.Join();
}

}  // namespace capstan::plan
