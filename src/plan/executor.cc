#include "plan/executor.h"

#include <algorithm>

#include "async/with_deadline.h"
#include "base/log.h"

namespace capstan::plan {

using async::Deadline;
using async::Task;

Executor::Executor(Services& services, Options options)
    : services_(services), options_(std::move(options)), random_(options_.seed), group_(services.loop) {}

Executor::~Executor() = default;

const Ledger& Executor::ledger(const Key& key) const {
  static const Ledger kNothing;
  const auto found = records_.find(key);
  return found == records_.end() ? kNothing : found->second.ledger;
}

std::set<std::string> Executor::TargetsInFlight(const Key& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? std::set<std::string>() : found->second.targets;
}

void Executor::Forget(const Key& key) {
  const auto found = records_.find(key);
  if (found != records_.end() && found->second.ledger.in_flight() == 0) records_.erase(found);
}

std::optional<Tick> Executor::Submit(const Key& key, std::vector<Action> actions, std::optional<Action> status) {
  Record& record = records_[key];
  const Tick now = services_.loop.Now();
  std::set<ActionId> left;
  std::vector<ActionId> wanted;
  for (const Action& action : actions) {
    wanted.push_back(action.id());
    if (action.effect->Satisfied(services_))
      record.ledger.Clear(action.id());
    else if (!record.ledger.Done(action.id(), now))
      left.insert(action.id());
  }
  if (status) wanted.push_back(status->id());
  std::ranges::sort(wanted);
  record.ledger.KeepOnly(wanted);

  for (Action& action : actions) {
    if (!left.contains(action.id())) continue;
    const bool waits = std::ranges::any_of(action.after, [&](ActionId id) { return left.contains(id); });
    if (!waits && MayStart(record, action)) Start(key, record, std::move(action));
  }
  std::optional<Tick> again = record.ledger.NextRetry(now);
  if (status && !status->effect->Satisfied(services_)) {
    const auto patience = SubmitStatus(key, record, *std::move(status));
    if (patience) again = again ? std::min(*again, *patience) : *patience;
  } else {
    record.status_wanted.reset();
  }
  return again;
}

// Starts the status write, or says until when it waits for other actions that are on their way.
std::optional<Tick> Executor::SubmitStatus(const Key& key, Record& record, Action status) {
  const Tick now = services_.loop.Now();
  if (!record.status_wanted) record.status_wanted = now;
  const Tick patience = *record.status_wanted + options_.status_patience;
  if (record.ledger.in_flight() > 0 && now < patience) return patience;
  if (MayStart(record, status)) Start(key, record, std::move(status));
  return std::nullopt;
}

bool Executor::MayStart(const Record& record, const Action& action) const {
  if (!record.ledger.MayStart(action.id(), services_.loop.Now())) return false;
  if (record.targets.contains(action.effect->target())) return false;
  if (record.ledger.in_flight() >= options_.wave_limit) return false;
  const auto lane = in_flight_.find(action.effect->lane());
  if (lane != in_flight_.end() && lane->second >= options_.lane_limit) return false;
  if (action.effect->destructive() && !options_.may_destroy()) return false;
  return options_.may_write();
}

void Executor::Start(const Key& key, Record& record, Action action) {
  record.ledger.Started(action.id(), std::string(action.effect->verb()), action.effect->target());
  record.targets.insert(action.effect->target());
  ++in_flight_[action.effect->lane()];
  ++started_;
  std::string name = ToString(key) + ": " + std::string(action.effect->verb()) + " " + action.effect->target();
  group_.Spawn(std::move(name), Run(key, std::move(action)));
}

Task<void> Executor::Run(Key key, Action action) {
  const Tick began = services_.loop.Now();
  const Deadline deadline = services_.loop.After(options_.action_limit);
  const Result<void> result = co_await Perform(action, deadline);
  Ended(key, action, result, services_.loop.Now() - began);
}

Task<Result<void>> Executor::Perform(const Action& action, Deadline deadline) {
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
  co_return co_await action.effect->Run(services_, deadline);
}

void Executor::Ended(const Key& key, const Action& action, const Result<void>& result, Duration took) {
  --in_flight_[action.effect->lane()];
  Record& record = records_[key];
  record.targets.erase(action.effect->target());
  if (result)
    record.ledger.Succeeded(action.id(), services_.loop.Now());
  else
    record.ledger.Failed(action.id(), result.error(), services_.loop.Now(), random_);

  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (result) {
    log::Info("done", {{"key", ToString(key)},
                       {"verb", action.effect->verb()},
                       {"target", action.effect->target()},
                       {"reason", action.reason},
                       {"took_ms", millis}});
  } else {
    log::Warn("not done", {{"key", ToString(key)},
                           {"verb", action.effect->verb()},
                           {"target", action.effect->target()},
                           {"reason", action.reason},
                           {"error", result.error().message()},
                           {"took_ms", millis}});
  }
  Tell(key, action, result);
  options_.ended(key, action);
}

void Executor::Tell(const Key& key, const Action& action, const Result<void>& result) {
  if (!action.event) return;
  // A conflict is the ordinary way to learn that the world has moved on; the next Decide deals with it.
  if (!result && result.error().code() == Code::kConflict) return;
  const std::string what = std::string(action.effect->verb()) + " " + action.effect->target() + ": " + action.reason;
  options_.tell(key, {.warning = !result || action.event->warning,
                      .reason = result ? action.event->reason : action.event->reason + "Failed",
                      .action = action.event->action,
                      .note = result ? what : what + ": " + result.error().message()});
}

Task<void> Executor::Stop() {
  group_.Cancel();
  co_await group_.Join();
}

}  // namespace capstan::plan
