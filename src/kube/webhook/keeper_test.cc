// Replicas that keep one set of certificates on the modelled API server, in virtual time.
#include "kube/webhook/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "async/task_group.h"
#include "base/hash.h"
#include "kube/testing/fake_api_server.h"
#include "kube/webhook/serving_files.h"

namespace capstan::kube {
namespace {

using json::FindText;
using testing::ApiWrite;
using testing::FakeApiServer;
using ::testing::HasSubstr;

const Key kSecretKey{"ns", "hook-tls"};
constexpr Resource kHooks = kMutatingWebhookConfigurations;
constexpr Resource kJudges = kValidatingWebhookConfigurations;

struct Replica {
  Replica(async::Loop& loop, FakeApiServer& server, uint64_t seed, Duration interval)
      : client(loop, server, {.seed = seed}),
        keeper(loop, client, identity,
               {.secret = kSecretKey,
                .policy = {.name = "hook", .names = {"hook.ns.svc"}},
                .targets = {{kHooks, "hook", {"ours"}}, {kJudges, "judge", {"ours"}}},
                .interval = interval,
                .seed = seed}),
        group(loop) {
    group.Spawn("keeper", keeper.Run());
  }
  Client client;
  std::shared_ptr<net::ServingIdentity> identity = std::make_shared<net::ServingIdentity>();
  WebhookKeeper keeper;
  async::TaskGroup group;  // last: its task uses the rest
};

class WebhookKeeperTest : public ::testing::Test {
 protected:
  WebhookKeeperTest() {
    server.objects().Serve(kHooks, false);
    server.objects().Serve(kJudges, false);
    server.Put(kHooks, R"({"metadata":{"name":"hook"},"webhooks":[
        {"name":"theirs","clientConfig":{"url":"https://a","caBundle":"dGhlaXJz"}},
        {"name":"ours","clientConfig":{"url":"https://b"}}]})");
    server.Put(kJudges, R"({"metadata":{"name":"judge"},"webhooks":[
        {"name":"ours","clientConfig":{"url":"https://b"}}]})");
  }
  ~WebhookKeeperTest() override {
    for (auto& replica : replicas) replica->group.Cancel();
    loop.RunUntil([&] { return std::ranges::all_of(replicas, [](auto& r) { return r->group.size() == 0; }); }, 1min);
  }

  Replica& Start(Duration interval = 30s) {
    return *replicas.emplace_back(std::make_unique<Replica>(loop, server, replicas.size() + 1, interval));
  }
  bool Ready() {
    return std::ranges::all_of(replicas, [](auto& replica) { return replica->keeper.ready(); });
  }
  std::string Bundle(size_t webhook) { return Bundle(kHooks, "hook", webhook); }
  std::string Bundle(const Resource& resource, std::string name, size_t webhook) {
    const json::Value& hooks = *json::Find(*server.Find(resource, {"", std::move(name)}), {"webhooks"});
    return *FromBase64(FindText(hooks.get_array()[webhook], {"clientConfig", "caBundle"}));
  }
  std::string SecretText(const std::string& key) {
    return *FromBase64(FindText(*server.Find(kSecrets, kSecretKey), {"data", key}));
  }
  size_t Writes(const std::string& verb) {
    return size_t(std::ranges::count_if(
        server.writes(), [&](const ApiWrite& write) { return write.verb == verb && write.status < 300; }));
  }
  // As API servers see it now: what the replica serves is trusted at both places.
  void ExpectTrusted(const Replica& replica) {
    const std::string& served = replica.keeper.served_certificate();
    const Time now = loop.WallNow();
    EXPECT_GT(Facts(served).front().validity.until, now);
    for (const std::string& bundle : {Bundle(1), Bundle(kJudges, "judge", 0)}) {
      EXPECT_TRUE(std::ranges::any_of(Facts(bundle), [&](const net::CertificateFacts& ca) {
        return ca.validity.until > now && Signed(served, ca.pem);
      })) << FormatRfc3339(now);
    }
  }

  // Read once: OpenSSL takes its time.
  const std::vector<net::CertificateFacts>& Facts(const std::string& pem) {
    const auto [at, fresh] = facts_.try_emplace(pem);
    if (fresh) at->second = *net::ReadCertificates(pem);
    return at->second;
  }
  bool Signed(const std::string& certificate, const std::string& authority) {
    const auto [at, fresh] = signed_.try_emplace({certificate, authority});
    if (fresh) at->second = net::SignedBy(certificate, authority);
    return at->second;
  }

  std::map<std::string, std::vector<net::CertificateFacts>> facts_;
  std::map<std::pair<std::string, std::string>, bool> signed_;
  async::VirtualLoop loop{Time(1'780'000'000s)};
  FakeApiServer server{loop, 1};
  std::vector<std::unique_ptr<Replica>> replicas;
};

TEST_F(WebhookKeeperTest, ReplicasThatStartTogetherEndWithOneCa) {
  for (int i = 0; i < 3; ++i) Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  EXPECT_EQ(Writes("create"), 1u);
  for (const auto& replica : replicas) {
    EXPECT_EQ(replica->keeper.served_certificate(), SecretText("tls.crt"));
    ExpectTrusted(*replica);
  }
  EXPECT_EQ(Bundle(1), SecretText("ca.crt"));
  EXPECT_EQ(Bundle(0), "theirs");
}

TEST_F(WebhookKeeperTest, AtRestNothingIsWritten) {
  Start(), Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  server.ForgetWrites();
  loop.Advance(1h);
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(WebhookKeeperTest, AChangedBundleIsRepairedAndNothingElseIsTouched) {
  Replica& replica = Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  const std::string before = json::Serialize(*server.Find(kHooks, {"", "hook"})->as_object().if_contains("webhooks"));
  server.Edit(kHooks, {"", "hook"}, "", [](json::Value& hook) {
    hook.at("webhooks").as_array()[1].at("clientConfig").as_object()["caBundle"] = "d3Jvbmc=";
  });
  server.Edit(kJudges, {"", "judge"}, "", [](json::Value& judge) {
    judge.at("webhooks").as_array()[0].at("clientConfig").as_object().erase("caBundle");
  });
  loop.Advance(1min);
  EXPECT_EQ(json::Serialize(*server.Find(kHooks, {"", "hook"})->as_object().if_contains("webhooks")), before);
  ExpectTrusted(replica);
  for (const ApiWrite& write : server.writes()) {
    if (write.resource != kHooks) continue;
    EXPECT_THAT(write.body, HasSubstr(R"("path":"/webhooks/1/clientConfig/caBundle")"));
    EXPECT_THAT(write.body, ::testing::Not(HasSubstr("/webhooks/0")));
  }
}

TEST_F(WebhookKeeperTest, TargetsThatComeLaterAreFound) {
  server.Remove(kHooks, {"", "hook"});
  Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  server.Put(kHooks, R"({"metadata":{"name":"hook"},"webhooks":[{"name":"x","clientConfig":{}},
      {"name":"ours","clientConfig":{"url":"https://b"}}]})");
  loop.Advance(1min);
  EXPECT_EQ(Bundle(1), SecretText("ca.crt"));
}

// The promise of certificates.h, with everything going wrong that may: over three years, at any time, what any
// replica serves is trusted by every caBundle.
TEST_F(WebhookKeeperTest, RotationNeverServesWhatIsNotTrusted) {
  for (int i = 0; i < 2; ++i) Start(8h);
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  server.faults.unavailable = 5;
  server.faults.lost_answer = 5;
  server.faults.refused = 5;
  const auto check = [&] {
    for (const auto& replica : replicas) ExpectTrusted(*replica);
  };
  server.on_write = [&](const ApiWrite&) { check(); };
  server.deny = [&](std::string_view, const Resource&, const Key&) -> std::optional<testing::Refusal> {
    check();
    return std::nullopt;
  };
  std::set<std::string> bundles, served;
  for (int day = 0; day < 3 * 365; ++day) {
    loop.Advance(24h);
    bundles.insert(Bundle(1));
    for (const auto& replica : replicas) {
      served.insert(replica->keeper.served_certificate());
      ExpectTrusted(*replica);
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(bundles.size(), 6u);  // each CA comes and goes
  EXPECT_GE(served.size(), 12u);
}

TEST_F(WebhookKeeperTest, ACaThatOneBundleMayLackIsNotUsed) {
  Replica& replica = Start(8h);
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  const std::string first = SecretText("ca.crt");
  server.deny = [](std::string_view, const Resource& resource, const Key&) {
    return resource == kHooks ? std::optional(testing::Refusal{403, "Forbidden", "no"}) : std::nullopt;
  };
  for (int day = 0; day < 260; day += 5) {
    loop.Advance(5 * 24h);
    ExpectTrusted(replica);
  }
  EXPECT_NE(SecretText("next-ca.crt"), "");
  EXPECT_EQ(Bundle(1), first);
  server.deny = nullptr;
  loop.Advance(2 * 24h);
  EXPECT_FALSE(Signed(replica.keeper.served_certificate(), first));
  ExpectTrusted(replica);
}

TEST_F(WebhookKeeperTest, WithoutAnAnswerNoSecondCaIsMade) {
  Start(), Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  const std::string ca = SecretText("ca.crt");
  server.ForgetWrites();
  server.deny = [](std::string_view method, const Resource& resource, const Key&) {
    const bool no = resource == kSecrets && method == "GET";
    return no ? std::optional(testing::Refusal{403, "Forbidden", "no"}) : std::nullopt;
  };
  loop.Advance(1h);
  EXPECT_TRUE(server.writes().empty());
  server.deny = nullptr;
  loop.Advance(1h);
  EXPECT_EQ(SecretText("ca.crt"), ca);
}

TEST_F(WebhookKeeperTest, SomebodyElsesSecretIsNeitherUsedForTrustNorChanged) {
  server.Put(kSecrets,
             R"({"metadata":{"namespace":"ns","name":"hook-tls"},"data":{"tls.crt":"eA==","ca.crt":"eA=="}})");
  Start();
  loop.Advance(10min);
  EXPECT_FALSE(Ready());
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(WebhookKeeperTest, AfterTheSecretIsDeletedNothingOfTheOldIsTrusted) {
  Start(), Start();
  ASSERT_TRUE(loop.RunUntil([&] { return Ready(); }, 1min));
  const std::string old = SecretText("ca.crt");
  server.Remove(kSecrets, kSecretKey);
  loop.Advance(2min);
  EXPECT_NE(SecretText("ca.crt"), old);
  EXPECT_THAT(Bundle(1), ::testing::Not(HasSubstr(old)));
  for (const auto& replica : replicas) ExpectTrusted(*replica);
}

// --- Certificates from outside --------------------------------------------------------------------------------------

class ServingFilesTest : public ::testing::Test {
 protected:
  ServingFilesTest() : folder(::testing::TempDir() + "serving-XXXXXX") {
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    authority = *net::NewAuthority("outside", {now - 1h, now + 24h});
  }
  ~ServingFilesTest() override { std::filesystem::remove_all(folder); }

  net::CertifiedKey Pair() { return *net::IssueServing(authority, {"x"}, {now - 1h, now + 24h}); }
  // As a mounted Secret changes: a new file in the old one's place.
  void Put(const std::string& name, std::string_view text) {
    const std::string path = folder + "/" + name;
    std::ofstream(path + ".new", std::ios::binary) << text;
    std::filesystem::rename(path + ".new", path);
  }
  ServingFiles Files() { return ServingFiles(loop, identity, {folder + "/tls.crt", folder + "/tls.key"}); }

  async::VirtualLoop loop;
  Time now = loop.WallNow();
  std::string folder;
  net::CertifiedKey authority;
  std::shared_ptr<net::ServingIdentity> identity = std::make_shared<net::ServingIdentity>();
};

TEST_F(ServingFilesTest, AreFollowedWhenTheyChange) {
  const net::CertifiedKey first = Pair(), second = Pair();
  Put("tls.crt", first.certificate_pem);
  Put("tls.key", first.key_pem.Reveal());
  ServingFiles files = Files();
  ASSERT_TRUE(files.Load());
  const auto before = identity->context();
  ASSERT_TRUE(files.Load());
  EXPECT_EQ(identity->context(), before);  // nothing has changed
  Put("tls.crt", second.certificate_pem);
  const Result<void> torn = files.Load();
  EXPECT_THAT(torn.error().message(), HasSubstr("does not belong to the server certificate"));
  EXPECT_EQ(identity->context(), before);
  Put("tls.key", second.key_pem.Reveal());
  ASSERT_TRUE(files.Load());
  EXPECT_NE(identity->context(), before);
}

TEST_F(ServingFilesTest, SayWhichOneIsMissing) {
  EXPECT_THAT(Files().Load().error().message(), HasSubstr("serving certificate: reading " + folder + "/tls.crt: "));
  Put("tls.crt", Pair().certificate_pem);
  EXPECT_THAT(Files().Load().error().message(), HasSubstr("serving key: reading " + folder + "/tls.key: "));
}

}  // namespace
}  // namespace capstan::kube
