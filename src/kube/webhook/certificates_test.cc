#include "kube/webhook/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/hash.h"

namespace capstan::kube {
namespace {

using enum CertificateState;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kStart = Time(1'780'000'000s);
constexpr Duration kDay = 24h;

const CertificatePolicy kPolicy{.name = "hook", .names = {"hook.ns.svc", "127.0.0.1"}};

CertificateRecord Next(CertificateState state, const CertificateRecord& record, Time now,
                       const CertificatePolicy& policy = kPolicy) {
  return *NextRecord(policy, state, ExaminedRecord(record), now);
}

CertificateRecord First(Time now = kStart) { return *NextRecord(kPolicy, kAbsent, std::nullopt, now); }

CertificateState Now(const CertificateRecord& record, Time now, Published published = Published::kYes,
                     const CertificatePolicy& policy = kPolicy) {
  return StateOf(policy, ExaminedRecord(record), published, now);
}

Time UntilOf(const net::CertifiedKey& pair) {
  return net::ReadCertificates(pair.certificate_pem)->front().validity.until;
}

std::string BundleOf(const CertificateRecord& record) { return ExaminedRecord(record).Bundle(); }

// One step after the other until there is none, with all caBundles kept up to date at once.
CertificateRecord Settle(CertificateRecord record, Time now) {
  for (int steps = 0; steps < 6; ++steps) {
    const CertificateState state = Now(record, now);
    if (!HasStep(state)) return record;
    record = Next(state, record, now);
  }
  ADD_FAILURE() << "does not come to rest";
  return record;
}

// The handshake's view: signed by one of those trusted that is good now.
bool Trusted(const net::CertifiedKey& serving, const std::string& bundle, Time now) {
  const auto own = net::ReadCertificates(serving.certificate_pem), all = net::ReadCertificates(bundle);
  if (!own || own->front().validity.until <= now || !all || !net::Belongs(serving)) return false;
  return std::ranges::any_of(*all, [&](const net::CertificateFacts& ca) {
    return ca.authority && ca.validity.from <= now && now < ca.validity.until &&
           net::SignedBy(serving.certificate_pem, ca.pem);
  });
}

TEST(WebhookCertificates, TheFirstOneMakesEverything) {
  EXPECT_EQ(StateOf(kPolicy, std::nullopt, Published::kNo, kStart), kAbsent);
  EXPECT_EQ(Now(CertificateRecord{}, kStart), kAbsent);
  const CertificateRecord record = First();
  EXPECT_EQ(Now(record, kStart), kCurrent);
  EXPECT_TRUE(Trusted(record.serving, BundleOf(record), kStart));
  EXPECT_EQ(net::ReadCertificates(record.serving.certificate_pem)->front().names,
            (std::vector<std::string>{"127.0.0.1", "hook.ns.svc"}));
}

TEST(WebhookCertificates, TheServingCertificateIsRenewedInItsLastThird) {
  const CertificateRecord record = First();
  EXPECT_EQ(Now(record, kStart + 59 * kDay), kCurrent);
  EXPECT_EQ(Now(record, kStart + 60 * kDay), kServingDue);
  const CertificateRecord next = Settle(record, kStart + 60 * kDay);
  EXPECT_EQ(BundleOf(next), BundleOf(record));
  EXPECT_EQ(UntilOf(next.serving), kStart + 150 * kDay);
}

TEST(WebhookCertificates, ANewCaIsServedOnlyAfterAllTrustIt) {
  const Time due = kStart + 244 * kDay;
  CertificateRecord record = First();
  for (Time now = kStart; now < due; now += 10 * kDay) record = Settle(record, now);
  ASSERT_EQ(Now(record, due), kAuthorityDue);
  const CertificateRecord made = Next(kAuthorityDue, record, due);
  EXPECT_EQ(made.serving.certificate_pem, record.serving.certificate_pem);
  EXPECT_THAT(BundleOf(made), HasSubstr(record.trusted_pem));
  EXPECT_THAT(BundleOf(made), HasSubstr(made.next.certificate_pem));

  // Not while one bundle lacks it, nor while one could not be read.
  EXPECT_EQ(Now(made, due + 1h, Published::kNo), kPublishing);
  EXPECT_EQ(Now(made, due + 1h, Published::kUnknown), kPublishing);
  ASSERT_EQ(Now(made, due + 1h), kUnpublished);
  const CertificateRecord noted = Next(kUnpublished, made, due + 1h);
  EXPECT_EQ(Now(noted, due + 1h + 9min), kPublishing);
  EXPECT_EQ(Now(noted, due + 1h + 11min, Published::kUnknown), kPublishing);
  // One that is lost again begins the wait anew.
  ASSERT_EQ(Now(noted, due + 1h + 11min, Published::kNo), kWithdrawn);
  EXPECT_EQ(Now(Next(kWithdrawn, noted, due + 1h + 11min), due + 1h + 11min), kUnpublished);

  ASSERT_EQ(Now(noted, due + 1h + 11min), kSettled);
  const CertificateRecord promoted = Next(kSettled, noted, due + 1h + 11min);
  EXPECT_EQ(BundleOf(promoted), BundleOf(made));  // no caBundle changes when the certificate does
  EXPECT_TRUE(net::SignedBy(promoted.serving.certificate_pem, made.next.certificate_pem));
  EXPECT_TRUE(Trusted(record.serving, BundleOf(promoted), due + 1h + 11min));
  EXPECT_EQ(promoted.authority_key_pem, made.next.key_pem);
}

// A replica that has not looked at the Secret for as long as its certificate lives is still trusted; and a bundle is
// never more than three CAs.
TEST(WebhookCertificates, FiveYearsLoseNoCertificateThatIsStillGood) {
  CertificateRecord record;
  std::vector<net::CertifiedKey> good;  // all that was ever handed out and has not expired
  size_t handed_out = 0;
  for (Time now = kStart; now < kStart + 5 * 365 * kDay; now += 27 * kDay) {
    record = Settle(std::move(record), now);
    if (good.empty() || good.back().certificate_pem != record.serving.certificate_pem) {
      good.push_back(record.serving);
      ++handed_out;
    }
    std::erase_if(good, [&](const net::CertifiedKey& old) { return UntilOf(old) <= now; });
    EXPECT_LE(net::ReadCertificates(BundleOf(record))->size(), 3u);
    for (const net::CertifiedKey& old : good) EXPECT_TRUE(Trusted(old, BundleOf(record), now)) << FormatRfc3339(now);
  }
  EXPECT_GT(handed_out, 20u);
}

TEST(WebhookCertificates, AnExpiredCaIsDropped) {
  const CertificateRecord old = First();
  CertificateRecord record = First(kStart + 300 * kDay);
  record.trusted_pem += old.trusted_pem;
  EXPECT_EQ(Now(record, kStart + 301 * kDay), kCurrent);
  EXPECT_EQ(Now(record, kStart + 366 * kDay), kServingDue);
  record = Settle(record, kStart + 366 * kDay);
  EXPECT_THAT(record.trusted_pem, Not(HasSubstr(old.trusted_pem)));
}

TEST(WebhookCertificates, DamageIsRepairedWithoutLosingTrust) {
  const CertificateRecord good = First();
  const struct {
    const char* what;
    std::function<void(CertificateRecord&)> damage;
    CertificateState state;
  } cases[] = {
      {"another's serving key", [&](auto& r) { r.serving.key_pem = good.authority_key_pem; }, kServingDue},
      {"no serving certificate", [&](auto& r) { r.serving = {}; }, kServingDue},
      {"a serving certificate of nobody we know", [&](auto& r) { r.serving = First().serving; }, kServingDue},
      {"a broken CA key", [&](auto& r) { r.authority_key_pem = Secret("x"); }, kAuthorityDue},
      {"another's CA key", [&](auto& r) { r.authority_key_pem = First().authority_key_pem; }, kAuthorityDue},
      {"no CA", [&](auto& r) { r.trusted_pem.clear(); }, kBroken},
      {"a CA that is no PEM", [&](auto& r) { r.trusted_pem = "x"; }, kBroken},
      {"no CA key, nothing served", [&](auto& r) { r.authority_key_pem = {}, r.serving = {}; }, kBroken},
      {"a next CA without its key", [&](auto& r) { r.next = {First().trusted_pem, Secret()}; }, kCurrent},
  };
  for (const auto& each : cases) {
    CertificateRecord record = good;
    each.damage(record);
    EXPECT_EQ(Now(record, kStart + kDay), each.state) << each.what;
    const bool served = Trusted(record.serving, BundleOf(record), kStart + kDay);
    CertificateRecord repaired = record;
    Time now = kStart + kDay;
    for (int steps = 0; steps < 12; ++steps, now += 6min) {
      const CertificateState state = Now(repaired, now);
      if (!HasStep(state)) continue;
      repaired = Next(state, repaired, now);
      if (served) EXPECT_TRUE(Trusted(record.serving, BundleOf(repaired), now)) << each.what;
    }
    EXPECT_EQ(Now(repaired, now), kCurrent) << each.what;
    EXPECT_TRUE(Trusted(repaired.serving, BundleOf(repaired), now)) << each.what;
  }
}

TEST(WebhookCertificates, ALongSleepIsSurvived) {
  EXPECT_EQ(Now(First(), kStart + 400 * kDay), kBroken);
  const CertificateRecord record = Settle(First(), kStart + 400 * kDay);
  EXPECT_TRUE(Trusted(record.serving, BundleOf(record), kStart + 400 * kDay));
  EXPECT_EQ(net::ReadCertificates(record.trusted_pem)->size(), 1u);
}

// When the bundles cannot be read for so long that the CA runs out, the next CA is used all the same.
TEST(WebhookCertificates, UnknownBundlesDoNotWedgeForEver) {
  CertificateRecord record = First();
  record = Next(kAuthorityDue, record, kStart + 250 * kDay);
  EXPECT_EQ(Now(record, kStart + 251 * kDay, Published::kUnknown), kServingDue);
  record = Next(kServingDue, record, kStart + 330 * kDay);
  EXPECT_EQ(Now(record, kStart + 360 * kDay, Published::kUnknown), kPublishing);  // a new one would live no longer
  EXPECT_EQ(Now(record, kStart + 366 * kDay, Published::kUnknown), kSettled);
}

TEST(WebhookCertificates, SomebodyElsesSecretIsLeftAlone) {
  CertificateRecord record = First();
  record.authority_key_pem = Secret();
  EXPECT_EQ(Now(record, kStart), kForeign);
  EXPECT_EQ(Now(record, kStart + 1000 * kDay), kForeign);
  EXPECT_FALSE(HasStep(kForeign));
}

TEST(WebhookCertificates, ReplicasThatDifferInNamesDoNotFight) {
  CertificatePolicy older = kPolicy, newer = kPolicy;
  newer.names = {"bridge.ns.svc"};
  CertificateRecord record = First();
  EXPECT_EQ(Now(record, kStart, Published::kYes, newer), kServingDue);
  record = Next(kServingDue, record, kStart, newer);
  EXPECT_EQ(Now(record, kStart, Published::kYes, newer), kCurrent);
  EXPECT_EQ(Now(record, kStart, Published::kYes, older), kCurrent);
}

TEST(WebhookCertificates, TheSecretSaysAllOfTheRecord) {
  CertificateRecord record = First();
  record.next = {First().trusted_pem, First().authority_key_pem};
  record.next_published = "2026-11-21T00:00:00Z";
  const std::string text = NewSecretJson("ns", "hook-tls", record);
  EXPECT_THAT(text, HasSubstr(R"("type":"kubernetes.io/tls")"));
  const auto read = ReadCertificateRecord(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(NewSecretJson("ns", "hook-tls", *read), text);
  EXPECT_THAT(ReadCertificateRecord(R"({"data":{"ca.crt":"?"}})").error().message(),
              HasSubstr("data[ca.crt] is not base64"));
}

TEST(WebhookCertificates, APatchSaysOnlyWhatChangesAndOfWhichSecret) {
  CertificateRecord from = First();
  from.uid = "u1";
  from.resource_version = 17;
  from.next_published = "x";
  CertificateRecord to = from;
  to.next_published.clear();
  to.serving.certificate_pem = "new";
  EXPECT_EQ(SecretPatchJson(from, to),
            R"({"metadata":{"uid":"u1","resourceVersion":"17"},"data":{"next-ca.published":null,"tls.crt":")" +
                Base64("new") + "\"}}");
}

}  // namespace
}  // namespace capstan::kube
