#include "kube/lease.h"

#include <algorithm>
#include <cassert>

#include "base/log.h"
#include "base/text.h"

namespace capstan::kube {
namespace {

constexpr Duration kLeaseRequestTimeout = 5s;

std::string Quoted(const std::string& name, const std::string& value) {
  return JsonQuoted(name) + ":" + JsonQuoted(value);
}

}  // namespace

const json::Schema& LeaseRecord::Spec::Schema() {
  static const json::Schema schema = json::Object<Spec>({
      json::Field<&Spec::holder>("holderIdentity"),
      json::Field<&Spec::duration_seconds>("leaseDurationSeconds"),
      json::Field<&Spec::acquire_time>("acquireTime"),
      json::Field<&Spec::renew_time>("renewTime"),
      json::Field<&Spec::transitions>("leaseTransitions"),
  });
  return schema;
}

const json::Schema& LeaseRecord::Schema() {
  static const json::Schema schema = json::Object<LeaseRecord>({
      json::Field<&LeaseRecord::metadata>("metadata"),
      json::Field<&LeaseRecord::spec>("spec"),
  });
  return schema;
}

Lease::Lease(async::Loop& loop, Client& client, Options options)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      random_(options_.seed),
      releasing_(loop),
      ended_(loop) {
  assert(options_.renew_deadline < options_.duration);
}

async::Task<void> Lease::Run(std::function<void()> acquired, std::function<void(std::string)> lost) {
  // However Run ends, also by cancellation, nothing is ours any more.
  struct Ending {
    Lease& lease;
    ~Ending() {
      lease.running_ = false;
      lease.ended_.Set();
    }
  } ending{*this};
  running_ = true;

  while (!releasing_.is_set() && !co_await TryAcquire()) {
    auto next = loop_.After(random_.Jittered(options_.poll * 9 / 10, 0.1));
    if (free_at_ > loop_.Now()) next = next.Earlier(async::Deadline(free_at_));
    co_await releasing_.Wait(next);
  }
  if (releasing_.is_set()) co_return;
  log::Info("lease acquired", {{"lease", options_.key.ToString()}, {"identity", options_.identity}});
  acquired();

  bool again = false;
  while (true) {
    const auto wait = random_.Jittered(again ? options_.retry / 8 : options_.retry, 0.1);
    if (co_await releasing_.Wait(loop_.After(wait).Earlier(async::Deadline(good_until_)))) co_return;
    // Asked before the next try, not after it: a process that was frozen must not find itself renewed.
    const bool late = loop_.Now() >= good_until_;
    const Renewal renewal = late ? Renewal::kAgain : co_await Renew();
    again = renewal == Renewal::kAgain;
    if (renewal == Renewal::kTaken || (renewal == Renewal::kAgain && loop_.Now() >= good_until_)) {
      held_ = false;
      const std::string why = renewal == Renewal::kTaken
                                  ? "the lease is held by \"" + holder_ + "\""
                                  : "the lease could not be renewed for " + FormatDuration(options_.renew_deadline);
      log::Error("lease lost", {{"lease", options_.key.ToString()}, {"reason", why}});
      lost(why);
      co_return;
    }
  }
}

async::Task<bool> Lease::TryAcquire() {
  const auto patience = loop_.After(kLeaseRequestTimeout);
  const Result<LeaseRecord> record = co_await Read(patience);
  const bool absent = !record && record.error().code() == Code::kNotFound;
  Note(record || absent ? nullptr : &record.error());
  if (!record && !absent) co_return false;
  if (absent ? !MayCreate() : !MayTake(*record)) co_return false;

  const Tick sent = loop_.Now();
  auto before = record ? std::optional(*record) : std::nullopt;
  const Result<LeaseRecord> taken = co_await Write(std::move(before), false, patience);
  const bool raced =
      !taken && (taken.error().code() == Code::kConflict || taken.error().code() == Code::kAlreadyExists);
  Note(taken || raced ? nullptr : &taken.error());
  if (!taken) co_return false;
  good_until_ = sent + options_.renew_deadline;
  held_ = true;
  co_return true;
}

// Another's record runs from when we first saw it so, by our own clock; whatever its times say.
bool Lease::MayTake(const LeaseRecord& record) {
  const std::string version = record.metadata.uid + "/" + std::to_string(record.metadata.resource_version);
  if (version != seen_version_) {
    seen_version_ = version;
    seen_since_ = loop_.Now();
  }
  seen_duration_ = Duration(0);
  if (record.spec.holder.empty() || record.spec.holder == options_.identity) return true;
  const int64_t seconds = record.spec.duration_seconds;
  seen_duration_ = seconds > 0 ? std::min<Duration>(std::chrono::seconds(seconds), 1h) : options_.duration;
  free_at_ = seen_since_ + seen_duration_;
  return loop_.Now() >= free_at_;
}

// A holder whose record was deleted may write until its time is over, and it may have renewed after we last looked.
bool Lease::MayCreate() {
  if (!seen_version_.empty()) {
    seen_version_.clear();
    free_at_ = loop_.Now() + seen_duration_;
  }
  return loop_.Now() >= free_at_;
}

async::Task<Lease::Renewal> Lease::Renew() {
  // Three tries fit in, the last of them begun late: an answer that never comes must not use up all the time.
  const auto patience = loop_.After(options_.renew_deadline / 3).Earlier(async::Deadline(good_until_));
  if (!known_) {
    const Result<LeaseRecord> record = co_await Read(patience);
    const bool absent = !record && record.error().code() == Code::kNotFound;
    Note(record || absent ? nullptr : &record.error());
    if (!record && !absent) co_return Renewal::kAgain;
    if (record && record->spec.holder != options_.identity) co_return Renewal::kTaken;
  }
  const Tick sent = loop_.Now();
  const Result<LeaseRecord> renewed = co_await Write(known_, false, patience);
  Note(renewed ? nullptr : &renewed.error());
  if (!renewed) co_return Renewal::kAgain;
  good_until_ = sent + options_.renew_deadline;
  co_return Renewal::kDone;
}

async::Task<Result<void>> Lease::Release(async::Deadline deadline) {
  const bool was_held = std::exchange(held_, false);
  releasing_.Set();
  if (running_ && !co_await ended_.Wait(deadline)) co_return Fail(Code::kDeadline, "a renewal did not end in time");
  // Asked again: it may have become ours while we waited.
  const bool ours = std::exchange(held_, false) || was_held;
  while (ours) {
    if (!known_) {
      const Result<LeaseRecord> record = co_await Read(deadline);
      if (!record) co_return Fail(record.error());
      if (record->spec.holder != options_.identity) break;
    }
    const Result<LeaseRecord> given_up = co_await Write(known_, true, deadline);
    if (given_up) break;
    if (given_up.error().code() != Code::kConflict) co_return Fail(given_up.error());
  }
  co_return Result<void>();
}

async::Task<Result<LeaseRecord>> Lease::Read(async::Deadline deadline) {
  Result<LeaseRecord> record = co_await client_.Get<LeaseRecord>(kLeases, options_.key, {}, deadline);
  known_ = record ? std::optional(*record) : std::nullopt;
  if (record) holder_ = record->spec.holder;
  co_return record;
}

// Creates the record, or changes it if it is still the one from `before`. After any failure what is there is
// unknown.
async::Task<Result<LeaseRecord>> Lease::Write(std::optional<LeaseRecord> before, bool give_up,
                                              async::Deadline deadline) {
  known_.reset();
  std::string body = RecordJson(before, give_up);
  auto answer =
      before ? client_.Patch<LeaseRecord>(kLeases, options_.key, PatchType::kMerge, std::move(body), {}, deadline)
             : client_.Create<LeaseRecord>(kLeases, options_.key, std::move(body), {}, deadline);
  Result<LeaseRecord> record = co_await std::move(answer);
  if (record) {
    known_ = *record;
    holder_ = record->spec.holder;
  }
  co_return record;
}

std::string Lease::RecordJson(const std::optional<LeaseRecord>& before, bool give_up) const {
  const std::string now = FormatRfc3339Micro(loop_.WallNow());
  const bool ours = before && before->spec.holder == options_.identity;
  const int64_t transitions = before ? before->spec.transitions + (ours ? 0 : 1) : 0;
  // A second for whoever does not know that "" means nobody.
  const int64_t seconds = give_up ? 1 : options_.duration / 1s;
  std::string json = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{)";
  json += Quoted("name", options_.key.name) + "," + Quoted("namespace", options_.key.ns);
  if (before) {
    json += "," + Quoted("uid", before->metadata.uid);
    json += "," + Quoted("resourceVersion", std::to_string(before->metadata.resource_version));
  }
  json += R"(},"spec":{)" + Quoted("holderIdentity", give_up ? "" : options_.identity) + "," + Quoted("renewTime", now);
  if (!ours || before->spec.acquire_time.empty()) json += "," + Quoted("acquireTime", now);
  json += R"(,"leaseDurationSeconds":)" + std::to_string(seconds);
  json += R"(,"leaseTransitions":)" + std::to_string(transitions) + "}}";
  return json;
}

// The same trouble is worth one line, not one every two seconds.
void Lease::Note(const Error* error) {
  if (error && !failing_) {
    log::Warn("the lease cannot be read or written",
              {{"lease", options_.key.ToString()}, {"error", error->message()}, {"held", held_}});
  }
  failing_ = error != nullptr;
}

}  // namespace capstan::kube
