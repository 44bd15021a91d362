#include "kube/webhook/keeper.h"

#include "async/backoff.h"
#include "async/timer.h"
#include "base/log.h"

namespace capstan::kube {
namespace {

constexpr Duration kRequestTimeout = 10s;  // for one call
constexpr Duration kFirstRetry = 1s;       // after a look that failed
constexpr int kMostChanges = 8;            // looks at once, one after the other
constexpr std::string_view kSecretTrouble = "Secret";

std::string TitleOf(const TrustTarget& target) { return std::string(target.resource.kind) + " " + target.name; }

void SetExpiry(net::Metrics* metrics, const char* certificate, Time until) {
  if (!metrics) return;
  metrics
      ->AddGauge("capstan_webhook_certificate_expiry_seconds", "When a certificate of ours ends, in Unix time.",
                 {{"certificate", certificate}})
      .Set(double(UnixSeconds(until)));
}

}  // namespace

WebhookKeeper::WebhookKeeper(async::Loop& loop, Client& client, std::shared_ptr<net::ServingIdentity> identity,
                             Options options)
    : loop_(loop),
      client_(client),
      identity_(std::move(identity)),
      options_(std::move(options)),
      random_(options_.seed) {}

async::Task<void> WebhookKeeper::Run() {
  async::Backoff backoff({.first = kFirstRetry, .cap = options_.interval}, random_);
  for (int changes = 0;;) {
    const Result<bool> changed = co_await Look();
    if (!changed) {
      Began(std::string(kSecretTrouble), changed.error());
      co_await async::Sleep(loop_, backoff.Next());
      continue;
    }
    Over(std::string(kSecretTrouble));
    backoff.Reset();
    changes = *changed ? changes + 1 : 0;
    if (changes > 0 && changes < kMostChanges) continue;
    changes = 0;
    co_await async::Sleep(loop_, random_.Jittered(options_.interval, 0.2));
  }
}

async::Task<Result<bool>> WebhookKeeper::Look() {
  CAPSTAN_CO_TRY(const Seen seen, co_await Read());
  const Published published = PublishedIn(seen);
  const CertificateState state = StateOf(options_.policy, seen.record, published, loop_.WallNow());
  Serve(seen, state);
  if (state == CertificateState::kForeign)
    co_return Fail(Code::kConflict, "Secret " + options_.secret.ToString() +
                                        " holds a certificate that is not ours (it has no ca.key): remove it, name "
                                        "another Secret, or use it as files");
  if (identity_->ready() && published == Published::kYes) ready_ = true;
  const Result<void> stepped = HasStep(state) ? co_await Step(seen, state) : Result<void>();
  if (stepped && HasStep(state)) co_return true;
  const bool repaired = co_await Repair(seen);
  if (!stepped) co_return Fail(stepped.error());
  co_return repaired;
}

async::Task<Result<WebhookKeeper::Seen>> WebhookKeeper::Read() {
  Seen seen;
  for (const TrustTarget& target : options_.targets) {
    const async::Deadline deadline = loop_.After(kRequestTimeout);
    const Result<std::string> text = co_await client_.Get(target.resource, {"", target.name}, {}, deadline);
    if (!text && text.error().code() == Code::kNotFound) {
      seen.objects.emplace_back();
      continue;
    }
    Result<TrustObject> object = text ? ReadTrust(target, *text) : Result<TrustObject>(Fail(text.error()));
    if (object && object->missing.empty()) {
      Over(TitleOf(target));
    } else {
      Began(TitleOf(target),
            object ? Error(Code::kNotFound, "has no webhook \"" + object->missing.front() + "\"") : object.error());
      seen.complete = false;
    }
    seen.objects.push_back(object ? std::optional(*std::move(object)) : std::nullopt);
  }
  CAPSTAN_CO_TRY(seen.record, co_await ReadSecret());
  co_return seen;
}

async::Task<Result<std::optional<ExaminedRecord>>> WebhookKeeper::ReadSecret() {
  const Result<std::string> secret = co_await client_.Get(kSecrets, options_.secret, {}, loop_.After(kRequestTimeout));
  if (!secret && secret.error().code() == Code::kNotFound) co_return std::nullopt;
  if (!secret) co_return Fail(secret.error());
  CAPSTAN_CO_TRY(CertificateRecord record, ReadCertificateRecord(*secret));
  const bool same =
      last_ && last_->record.uid == record.uid && last_->record.resource_version == record.resource_version;
  if (!same) last_.emplace(std::move(record));
  co_return last_;
}

Published WebhookKeeper::PublishedIn(const Seen& seen) const {
  if (!seen.record) return Published::kNo;
  for (const auto& object : seen.objects) {
    if (object && !Holds(*object, seen.record->Bundle())) return Published::kNo;
  }
  return seen.complete ? Published::kYes : Published::kUnknown;
}

void WebhookKeeper::Serve(const Seen& seen, CertificateState state) {
  if (!seen.record || state == CertificateState::kBroken) return;
  if (!seen.record->serving) return;  // "serving due" is the state then, and the next look brings a better one
  const net::CertifiedKey& serving = seen.record->record.serving;
  const Time until = seen.record->serving->validity.until;
  SetExpiry(options_.metrics, "serving", until);
  if (!seen.record->trusted.empty())
    SetExpiry(options_.metrics, "authority", seen.record->trusted.front().validity.until);
  if (serving.certificate_pem == served_.certificate_pem && serving.key_pem == served_.key_pem) return;
  const Result<void> replaced = identity_->Replace({serving.certificate_pem, serving.key_pem, {}});
  if (!replaced) return Began("serving certificate", replaced.error());
  Over("serving certificate");
  served_ = serving;
  log::Info("webhook serving certificate in use",
            {{"secret", options_.secret.ToString()}, {"until", FormatRfc3339(until)}});
}

async::Task<Result<void>> WebhookKeeper::Step(const Seen& seen, CertificateState state) {
  CAPSTAN_CO_TRY(const CertificateRecord next, NextRecord(options_.policy, state, seen.record, loop_.WallNow()));
  const async::Deadline deadline = loop_.After(kRequestTimeout);
  Result<std::string> written =
      seen.record
          ? co_await client_.Patch(kSecrets, options_.secret, PatchType::kMerge,
                                   SecretPatchJson(seen.record->record, next), {}, deadline)
          : co_await client_.Create(kSecrets, options_.secret,
                                    NewSecretJson(options_.secret.ns, options_.secret.name, next), {}, deadline);
  if (!written) {
    const Code code = written.error().code();
    if (code == Code::kConflict || code == Code::kAlreadyExists) co_return Result<void>();  // another was quicker
    co_return Fail(written.error());
  }
  log::Info("webhook certificates changed", {{"secret", options_.secret.ToString()}, {"was", Name(state)}});
  if (options_.metrics)
    options_.metrics
        ->AddCounter("capstan_webhook_certificate_steps_total", "Changes of the Secret with our certificates.",
                     {{"step", std::string(Name(state))}})
        .Add();
  co_return Result<void>();
}

async::Task<bool> WebhookKeeper::Repair(const Seen& seen) {
  if (!seen.record || seen.record->trusted.empty()) co_return false;  // nothing that anybody could trust
  const std::string bundle = seen.record->Bundle();
  bool repaired = false;
  for (size_t i = 0; i < options_.targets.size(); ++i) {
    const TrustTarget& target = options_.targets[i];
    const auto& object = seen.objects[i];
    if (!object || Holds(*object, bundle)) continue;
    const Result<std::string> patched =
        co_await client_.Patch(target.resource, {"", target.name}, PatchType::kJson, TrustPatch(*object, bundle), {},
                               loop_.After(kRequestTimeout));
    if (!patched && patched.error().code() == Code::kConflict) {  // another was quicker
      repaired = true;
      continue;
    }
    if (!patched) {
      Began("caBundle of " + TitleOf(target), patched.error());
      continue;
    }
    Over("caBundle of " + TitleOf(target));
    repaired = true;
    log::Info("caBundle written", {{"object", TitleOf(target)}});
    if (options_.metrics)
      options_.metrics->AddCounter("capstan_webhook_ca_bundle_repairs_total", "caBundles written.").Add();
  }
  co_return repaired;
}

void WebhookKeeper::Began(const std::string& trouble, const Error& error) {
  if (!troubles_.insert(trouble).second) return;
  log::Warn("webhook certificates: trouble", {{"with", trouble}, {"error", error.message()}});
}

void WebhookKeeper::Over(const std::string& trouble) {
  if (troubles_.erase(trouble) > 0) log::Info("webhook certificates: trouble over", {{"with", trouble}});
}

}  // namespace capstan::kube
