#include "net/certificate_authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/server.h"
#include "net/testing/run.h"

namespace capstan::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RunTask;

constexpr Time kNoon = Time(1'780'000'000s);
constexpr Duration kDay = 24h;
constexpr Validity kYear{kNoon - 1h, kNoon + 365 * kDay};

TEST(CertificateAuthority, SaysWhatWasAskedFor) {
  const auto ca = NewAuthority("slurm-bridge", kYear);
  ASSERT_TRUE(ca);
  const auto own = IssueServing(*ca, {"bridge.slinky.svc", "::1", "127.0.0.1"}, {kNoon - 1h, kNoon + 90 * kDay});
  ASSERT_TRUE(own) << own.error().message();
  const auto facts = ReadCertificates(own->certificate_pem + ca->certificate_pem);
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->size(), 2u);
  EXPECT_THAT((*facts)[0].names, ElementsAre("127.0.0.1", "::1", "bridge.slinky.svc"));
  EXPECT_EQ((*facts)[0].validity.from, kNoon - 1h);
  EXPECT_EQ((*facts)[0].validity.until, kNoon + 90 * kDay);
  EXPECT_FALSE((*facts)[0].authority);
  EXPECT_EQ((*facts)[0].pem, own->certificate_pem);
  EXPECT_TRUE((*facts)[1].authority);
  EXPECT_TRUE(Belongs(*ca));
  EXPECT_TRUE(Belongs(*own));
  EXPECT_TRUE(SignedBy(own->certificate_pem, ca->certificate_pem));
}

TEST(CertificateAuthority, TellsItsOwnFromOthers) {
  const auto ca = NewAuthority("x", kYear), other = NewAuthority("x", kYear);
  const auto own = IssueServing(*ca, {"x"}, kYear);
  EXPECT_FALSE(SignedBy(own->certificate_pem, other->certificate_pem));
  EXPECT_FALSE(Belongs({own->certificate_pem, ca->key_pem}));
  EXPECT_FALSE(Belongs({own->certificate_pem, Secret("no key")}));
  EXPECT_FALSE(Belongs({}));
  EXPECT_FALSE(SignedBy("", ca->certificate_pem));
}

TEST(CertificateAuthority, NothingItSignsOutlivesIt) {
  const auto ca = NewAuthority("x", {kNoon, kNoon + 10 * kDay});
  const auto own = IssueServing(*ca, {"x"}, {kNoon - kDay, kNoon + 90 * kDay});
  const auto facts = ReadCertificates(own->certificate_pem);
  EXPECT_EQ(facts->front().validity.from, kNoon);
  EXPECT_EQ(facts->front().validity.until, kNoon + 10 * kDay);
}

TEST(CertificateAuthority, SaysWhatCannotBe) {
  const auto ca = NewAuthority("x", kYear), other = NewAuthority("x", kYear);
  const auto refusal = [&](const CertifiedKey& authority, std::vector<std::string> names) {
    const auto issued = IssueServing(authority, names, kYear);
    return issued ? "" : issued.error().message();
  };
  EXPECT_THAT(refusal(*ca, {}), HasSubstr("needs a name"));
  EXPECT_EQ(refusal(*ca, {"a b"}), "\"a b\" is neither a DNS name nor an address");
  EXPECT_THAT(refusal(*ca, {"x,DNS:evil"}), HasSubstr("neither a DNS name"));
  EXPECT_THAT(refusal({ca->certificate_pem, other->key_pem}, {"x"}), HasSubstr("does not belong"));
  EXPECT_THAT(refusal({}, {"x"}), HasSubstr("not in PEM form"));
  EXPECT_THAT(ReadCertificates("").error().message(), HasSubstr("no certificate"));
  std::string broken = ca->certificate_pem;
  broken.replace(60, 8, "????????");
  EXPECT_THAT(ReadCertificates(ca->certificate_pem + broken).error().message(), HasSubstr("broken"));
}

struct Trusting final : Credentials {
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls; }
  std::shared_ptr<const TlsMaterial> tls;
};

// What clients make of it: chain, name, address, in the handshake that the API server does as well.
TEST(CertificateAuthority, ClientsTrustWhatItSigned) {
  async::RealLoop loop;
  const Time now = loop.WallNow();
  const auto ca = NewAuthority("test", {now - 1h, now + kDay});
  const auto own = IssueServing(*ca, {"hook.ns.svc", "127.0.0.1"}, {now - 1h, now + kDay});
  auto identity = std::make_shared<ServingIdentity>();
  ASSERT_TRUE(identity->Replace({own->certificate_pem, own->key_pem, {}}));
  auto server = HttpServer::Start({.address = "127.0.0.1", .identity = identity},
                                  {{"/", [](const Request&) { return TextResponse("ok"); }}});
  const auto get = [&](std::string name) {
    TlsMaterial material;
    material.ca_pem = ca->certificate_pem;
    material.server_name = std::move(name);
    auto credentials = std::make_shared<Trusting>();
    credentials->tls = std::make_shared<TlsMaterial>(std::move(material));
    HttpClient client(
        loop, {.server = {Endpoint::Scheme::kHttps, "127.0.0.1", (*server)->port(), ""}, .credentials = credentials});
    const auto response = RunTask(loop, client.Send({"GET", "/"}, loop.After(10s)));
    return response ? response->body : response.error().message();
  };
  EXPECT_EQ(get(""), "ok");
  EXPECT_EQ(get("hook.ns.svc"), "ok");
  EXPECT_THAT(get("other.ns.svc"), HasSubstr("for another name"));
}

}  // namespace
}  // namespace capstan::net
