#include "kube/webhook/certificates.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"

namespace capstan::kube {
namespace {

constexpr Duration kBackdate = 1h;  // for clocks that are behind ours

// The Secret as the API server has it.
struct SecretObject {
  json::ObjectMeta metadata;
  std::map<std::string, Secret> data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<SecretObject>({
        json::Field<&SecretObject::metadata>("metadata"),
        json::Field<&SecretObject::data>("data"),
    });
    return schema;
  }
};

struct Entry {
  std::string_view key;
  std::string_view value;
};

// The one place that says which part of a record stands under which key.
std::array<Entry, 7> EntriesOf(const CertificateRecord& record) {
  return {{{"ca.crt", record.trusted_pem},
           {"ca.key", record.authority_key_pem.Reveal()},
           {"next-ca.crt", record.next.certificate_pem},
           {"next-ca.key", record.next.key_pem.Reveal()},
           {"next-ca.published", record.next_published},
           {"tls.crt", record.serving.certificate_pem},
           {"tls.key", record.serving.key_pem.Reveal()}}};
}

std::optional<net::CertificateFacts> FactsOf(const net::CertifiedKey& pair) {
  const auto all = net::ReadCertificates(pair.certificate_pem);
  return all && net::Belongs(pair) ? std::optional(all->front()) : std::nullopt;
}

bool Good(const net::CertificateFacts& authority, Time now) {
  return authority.authority && authority.validity.until > now;
}

// The CA that signs now; nullopt when it cannot.
std::optional<net::CertificateFacts> UsableAuthority(const ExaminedRecord& of, Time now) {
  if (of.trusted.empty() || !of.authority_key_fits || !Good(of.trusted.front(), now)) return std::nullopt;
  return of.trusted.front();
}

// Can the serving certificate be served, and is it trusted?
bool UsableServing(const ExaminedRecord& of, Time now) {
  if (!of.serving || of.serving->validity.until <= now) return false;
  for (size_t i = 0; i < of.trusted.size(); ++i) {
    if (of.signers[i] && Good(of.trusted[i], now)) return true;
  }
  return false;
}

bool ServingDue(const CertificatePolicy& policy, const ExaminedRecord& of, Time now) {
  if (!of.serving || of.serving->validity.until <= now || !of.signers.front()) return true;
  for (const std::string& name : policy.names) {
    if (!std::ranges::binary_search(of.serving->names, name)) return true;
  }
  // A new one must live longer, which it does not when the CA itself is about to end.
  const Time until = of.serving->validity.until;
  const Time fresh = std::min(now + policy.serving_life, of.trusted.front().validity.until);
  return until - now <= policy.serving_life / 3 && fresh > until;
}

// Those CAs that are still good, except `but`.
std::string StillGood(const ExaminedRecord& of, std::string_view but, Time now) {
  std::string kept;
  for (const auto& authority : of.trusted) {
    if (Good(authority, now) && authority.pem != but) kept += authority.pem;
  }
  return kept;
}

Result<net::CertifiedKey> Authority(const CertificatePolicy& policy, Time now) {
  return net::NewAuthority(policy.name, {now - kBackdate, now + policy.authority_life});
}

Result<net::CertifiedKey> Serving(const CertificatePolicy& policy, const net::CertifiedKey& authority,
                                  const std::vector<std::string>& names, Time now) {
  return net::IssueServing(authority, names, {now - kBackdate, now + policy.serving_life});
}

// `authority` signs from now on, and what is still good stays trusted.
Result<CertificateRecord> SignedAnew(const CertificatePolicy& policy, const ExaminedRecord& of,
                                     const net::CertifiedKey& authority, Time now) {
  CertificateRecord next = of.record;
  next.trusted_pem = authority.certificate_pem + StillGood(of, authority.certificate_pem, now);
  next.authority_key_pem = authority.key_pem;
  next.next = {};
  next.next_published.clear();
  CAPSTAN_TRY(next.serving, Serving(policy, authority, policy.names, now));
  return next;
}

// Keeps the names that the certificate has: during a rolling update replicas may differ in what they want.
Result<CertificateRecord> WithNewServing(const CertificatePolicy& policy, const ExaminedRecord& of, Time now) {
  std::vector<std::string> names = policy.names;
  for (const std::string& name : of.serving ? of.serving->names : std::vector<std::string>()) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  CertificateRecord next = of.record;
  CAPSTAN_TRY(next.serving, Serving(policy, {of.trusted.front().pem, of.record.authority_key_pem}, names, now));
  return next;
}

}  // namespace

bool CertificateRecord::empty() const {
  return std::ranges::all_of(EntriesOf(*this), [](const Entry& entry) { return entry.value.empty(); });
}

ExaminedRecord::ExaminedRecord(CertificateRecord from) : record(std::move(from)) {
  if (auto all = net::ReadCertificates(record.trusted_pem)) trusted = *std::move(all);
  authority_key_fits = !trusted.empty() && net::Belongs({trusted.front().pem, record.authority_key_pem});
  next = FactsOf(record.next);
  serving = FactsOf(record.serving);
  for (const auto& authority : trusted)
    signers.push_back(serving && net::SignedBy(record.serving.certificate_pem, authority.pem));
}

std::string ExaminedRecord::Bundle() const {
  return (next ? record.next.certificate_pem : std::string()) + record.trusted_pem;
}

Result<CertificateRecord> ReadCertificateRecord(std::string_view secret_json) {
  CAPSTAN_TRY(const SecretObject object, json::Decode<SecretObject>(secret_json));
  std::map<std::string, Secret, std::less<>> values;
  for (const Entry& entry : EntriesOf({})) {
    const auto encoded = object.data.find(std::string(entry.key));
    if (encoded == object.data.end()) continue;
    auto bytes = FromBase64(encoded->second.Reveal());
    if (!bytes) return Fail(Code::kInvalid, "data[" + std::string(entry.key) + "] is not base64");
    values.emplace(entry.key, *std::move(bytes));
  }
  const auto text = [&](std::string_view key) {
    const auto at = values.find(key);
    return at == values.end() ? std::string() : std::string(at->second.Reveal());
  };
  return CertificateRecord{.uid = object.metadata.uid,
                           .resource_version = object.metadata.resource_version,
                           .trusted_pem = text("ca.crt"),
                           .authority_key_pem = values["ca.key"],
                           .next = {text("next-ca.crt"), values["next-ca.key"]},
                           .next_published = text("next-ca.published"),
                           .serving = {text("tls.crt"), values["tls.key"]}};
}

std::string NewSecretJson(std::string_view ns, std::string_view name, const CertificateRecord& record) {
  std::string data;
  for (const Entry& entry : EntriesOf(record)) {
    if (entry.value.empty()) continue;
    if (!data.empty()) data += ',';
    data += JsonQuoted(entry.key) + ":\"" + Base64(entry.value) + "\"";
  }
  return R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":)" + JsonQuoted(name) + R"(,"namespace":)" +
         JsonQuoted(ns) + R"(},"type":"kubernetes.io/tls","data":{)" + data + "}}";
}

std::string SecretPatchJson(const CertificateRecord& from, const CertificateRecord& to) {
  const auto before = EntriesOf(from), after = EntriesOf(to);
  std::string data;
  for (size_t i = 0; i < after.size(); ++i) {
    if (before[i].value == after[i].value) continue;
    if (!data.empty()) data += ',';
    data += JsonQuoted(after[i].key) + ":" + (after[i].value.empty() ? "null" : "\"" + Base64(after[i].value) + "\"");
  }
  return R"({"metadata":{"uid":)" + JsonQuoted(from.uid) + R"(,"resourceVersion":")" +
         std::to_string(from.resource_version) + R"("},"data":{)" + data + "}}";
}

std::string_view Name(CertificateState state) {
  constexpr std::array<std::string_view, 11> kNames = {"absent",      "foreign",     "settled",   "broken",
                                                       "serving due", "unpublished", "withdrawn", "publishing",
                                                       "CA due",      "outdated",    "current"};
  return kNames[size_t(state)];
}

CertificateState StateOf(const CertificatePolicy& policy, const std::optional<ExaminedRecord>& examined,
                         Published published, Time now) {
  using enum CertificateState;
  if (!examined || examined->record.empty()) return kAbsent;
  const CertificateRecord& record = examined->record;
  if (record.authority_key_pem.empty() && !record.serving.certificate_pem.empty()) return kForeign;
  const auto authority = UsableAuthority(*examined, now);
  const bool next = examined->next && Good(*examined->next, now);
  const bool urgent = !authority && !UsableServing(*examined, now);
  const auto noted = ParseRfc3339(record.next_published);
  const bool settled = published == Published::kYes && noted && now - *noted >= policy.settle;
  if (next && (settled || urgent)) return kSettled;
  if (urgent) return kBroken;
  if (authority && ServingDue(policy, *examined, now)) return kServingDue;
  if (next && published == Published::kYes && !noted) return kUnpublished;
  if (next && published == Published::kNo && noted) return kWithdrawn;
  if (next) return kPublishing;
  if (!authority || authority->validity.until - now <= policy.authority_life / 3) return kAuthorityDue;
  if (!std::ranges::all_of(examined->trusted, [&](const auto& each) { return Good(each, now); })) return kOutdated;
  return kCurrent;
}

bool HasStep(CertificateState state) {
  using enum CertificateState;
  return state != kForeign && state != kPublishing && state != kCurrent;
}

Result<CertificateRecord> NextRecord(const CertificatePolicy& policy, CertificateState state,
                                     const std::optional<ExaminedRecord>& examined, Time now) {
  const ExaminedRecord from = examined ? *examined : ExaminedRecord(CertificateRecord());
  CertificateRecord next = from.record;
  switch (state) {
    case CertificateState::kAbsent:
    case CertificateState::kBroken: {
      CAPSTAN_TRY(const net::CertifiedKey made, Authority(policy, now));
      return SignedAnew(policy, from, made, now);
    }
    case CertificateState::kSettled:
      return SignedAnew(policy, from, from.record.next, now);
    case CertificateState::kServingDue:
      return WithNewServing(policy, from, now);
    case CertificateState::kUnpublished:
      next.next_published = FormatRfc3339(now);
      return next;
    case CertificateState::kWithdrawn:
      next.next_published.clear();
      return next;
    case CertificateState::kAuthorityDue: {
      CAPSTAN_TRY(next.next, Authority(policy, now));
      next.next_published.clear();
      return next;
    }
    case CertificateState::kOutdated:
      next.trusted_pem = StillGood(from, "", now);
      return next;
    case CertificateState::kForeign:
    case CertificateState::kPublishing:
    case CertificateState::kCurrent:
      break;
  }
  return Fail(Code::kInternal, "state \"" + std::string(Name(state)) + "\" has no step");
}

}  // namespace capstan::kube
