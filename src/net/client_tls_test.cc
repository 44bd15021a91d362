#include "net/client_test.h"
#include "net/testing/certificates.h"

namespace capstan::net {
namespace {

using testing::Answer;
using testing::Authority;
using ::testing::HasSubstr;
using testing::RunTask;
using testing::ScriptedServer;
using testing::Text;

class TestCredentials final : public Credentials {
 public:
  async::Task<Result<Secret>> BearerToken(async::Loop&, async::Deadline) override { co_return Secret(token); }
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls; }
  bool Rejected(const Secret&, const TlsMaterial*) override {
    token = next_token;
    if (!next_tls) return std::exchange(next_token, "") != "";
    tls = std::exchange(next_tls, nullptr);
    return true;
  }

  std::string token, next_token;
  std::shared_ptr<const TlsMaterial> tls = std::make_shared<TlsMaterial>(), next_tls;
};

class TlsTest : public ClientTest {
 protected:
  ScriptedServer::Options Serving(const Authority::Options& options, const Authority* client_ca = nullptr) {
    const testing::KeyPair pair = authority_.Issue(options);
    return {pair.certificate_pem, pair.key_pem, client_ca ? client_ca->certificate_pem() : "", ""};
  }
  std::shared_ptr<TestCredentials> Trusting(const Authority& authority, const testing::KeyPair& own = {}) {
    auto credentials = std::make_shared<TestCredentials>();
    TlsMaterial material;
    material.ca_pem = authority.certificate_pem();
    material.certificate_pem = own.certificate_pem;
    material.key_pem = Secret(own.key_pem);
    credentials->tls = std::make_shared<TlsMaterial>(material);
    return credentials;
  }
  Authority authority_;
};

TEST_F(TlsTest, TalksToAServerWhoseCaWeTrust) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> response = Get(client, "/");
  ASSERT_TRUE(response) << response.error().message();
  ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(TlsTest, ChecksNameCaAndDates) {
  Authority other("other CA");
  struct Case {
    Authority::Options certificate;
    const Authority& trusted;
    std::string_view why;
  };
  const Authority::Options good,
      other_name{.common_name = "x", .organization = "", .names = {"elsewhere"}, .addresses = {"127.0.0.2"}};
  Authority::Options expired, early;
  expired.begins_in = -2h;
  expired.ends_in = -1h;
  early.begins_in = 1h;
  const Case cases[] = {
      {good, other, "signed by none of the CAs we trust"},
      {other_name, authority_, "is for another name"},
      {expired, authority_, "has expired"},
      {early, authority_, "not valid yet"},
  };
  for (const Case& c : cases) {
    ScriptedServer server(Serving(c.certificate));
    server.Always("*", Text("ok"));
    HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(c.trusted)});
    const Result<Response> response = Get(client, "/");
    ASSERT_FALSE(response) << c.why;
    EXPECT_EQ(response.error().code(), Code::kUnavailable);
    EXPECT_THAT(response.error().message(), HasSubstr(c.why));
    EXPECT_TRUE(server.requests().empty()) << "nothing may be sent to a server that was not proven";
  }
}

TEST_F(TlsTest, ChecksTheNameThatTheMaterialAsksFor) {
  ScriptedServer server(
      Serving({.common_name = "x", .organization = "", .names = {"kubernetes.default"}, .addresses = {}}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  TlsMaterial named = *credentials->tls;
  named.server_name = "kubernetes.default";
  credentials->tls = std::make_shared<TlsMaterial>(named);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  EXPECT_TRUE(Get(client, "/"));
}

// A certificate without names was good for whatever its subject said, which signers of client certificates do not check.
TEST_F(TlsTest, ASubjectIsNoName) {
  ScriptedServer server(
      Serving({.common_name = "localhost", .organization = "", .names = {}, .addresses = {"127.0.0.9"}}));
  server.Always("*", Text("ok"));
  Endpoint endpoint = server.endpoint();
  endpoint.host = "localhost";
  HttpClient client(loop_, {.server = endpoint, .credentials = Trusting(authority_)});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message(), HasSubstr("is for another name"));
}

TEST_F(TlsTest, PlainTextServerIsNamedAsSuch) {
  ScriptedServer server;
  Endpoint endpoint = server.endpoint();
  endpoint.scheme = Endpoint::Scheme::kHttps;
  server.Always("*", Answer("HTTP/1.1 400 Bad Request\r\n\r\n").Close());
  HttpClient client(loop_, {.server = endpoint, .credentials = Trusting(authority_), .dial_limit = 200ms});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
}

TEST_F(TlsTest, AServerThatDoesNotShakeHandsIsGivenUp) {
  ScriptedServer server(Serving({}));
  server.Freeze(true);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_), .dial_limit = 50ms});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable) << "the caller had time left";
  const Result<Response> hurried = Get(client, "/", 20ms);
  ASSERT_FALSE(hurried);
  EXPECT_EQ(hurried.error().code(), Code::kDeadline) << "nothing was sent";
}

TEST_F(TlsTest, PresentsItsCertificate) {
  ScriptedServer server(Serving({}, &authority_));
  server.Always("*", Text("ok"));
  const testing::KeyPair own = authority_.Issue({.common_name = "me", .organization = "us"});
  HttpClient with(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_, own)});
  const Result<Response> response = Get(with, "/");
  EXPECT_TRUE(response) << response.error().message();
  HttpClient without(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> refused = Post(without, "/");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnauthenticated) << refused.error().message();
}

TEST_F(TlsTest, NewMaterialMeansNewConnections) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  ASSERT_TRUE(Get(client, "/"));
  credentials->tls = std::make_shared<TlsMaterial>(*credentials->tls);
  ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 2u);
}

// It was once taken for one made with the new material, and went on under the old CA.
TEST_F(TlsTest, WhatWasDialledWhileTheMaterialChangedIsNotReused) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  server.Freeze(true);
  std::vector<Result<Response>> out;
  async::TaskGroup group(loop_);
  group.Spawn("before", SendInto(client, {"GET", "/"}, loop_.After(5s), out));
  loop_.context().poll();  // now it waits for the server's handshake
  credentials->tls = std::make_shared<TlsMaterial>(*credentials->tls);
  group.Spawn("after", SendInto(client, {"GET", "/"}, loop_.After(5s), out));
  loop_.context().poll();
  server.Freeze(false);
  auto join = [](async::TaskGroup& g) -> async::Task<bool> {
    co_await g.Join();
    co_return true;
  };
  RunTask(loop_, join(group));
  ASSERT_EQ(out.size(), 2u);
  for (const auto& response : out) EXPECT_TRUE(response) << response.error().message();
  EXPECT_EQ(client.dialled(), 2u);
  EXPECT_EQ(client.idle(), 1u);
}

TEST_F(TlsTest, ARefusedCertificateIsTriedOnceMoreWithTheNextOne) {
  ScriptedServer server(Serving({}, &authority_));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  credentials->next_tls = Trusting(authority_, authority_.Issue({.common_name = "me"}))->tls;
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  const Result<Response> response = Post(client, "/");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(TlsTest, MaterialThatDoesNotFitLeavesTheOldInForce) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  ASSERT_TRUE(Get(client, "/"));
  TlsMaterial torn = *credentials->tls;
  torn.certificate_pem = authority_.Issue({}).certificate_pem;
  credentials->tls = std::make_shared<TlsMaterial>(torn);
  EXPECT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(TlsTest, UnusableMaterialIsExplained) {
  const testing::KeyPair own = authority_.Issue({}), other = authority_.Issue({});
  struct Case {
    TlsMaterial material;
    std::string_view why;
  };
  const Case cases[] = {
      {{"not a certificate", "", Secret(), ""}, "the CA bundle holds no certificate"},
      {{authority_.certificate_pem(), "junk", Secret(own.key_pem), ""}, "the client certificate is not a certificate"},
      {{authority_.certificate_pem(), own.certificate_pem, Secret("junk"), ""},
       "the client key is not an unencrypted private key"},
      {{authority_.certificate_pem(), own.certificate_pem, Secret(other.key_pem), ""}, "does not belong to"},
  };
  for (const Case& c : cases) {
    auto credentials = std::make_shared<TestCredentials>();
    credentials->tls = std::make_shared<TlsMaterial>(c.material);
    HttpClient client(loop_, {.server = *Endpoint::Parse("https://127.0.0.1:1"), .credentials = credentials});
    const Result<Response> response = Get(client, "/");
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kInvalid);
    EXPECT_THAT(response.error().message(), HasSubstr(c.why));
  }
}

TEST_F(TlsTest, ManyMegabytesOverTls) {
  const std::string body(8 << 20, 'x');
  ScriptedServer server(Serving({}));
  server.Expect("*", Text(body));
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> response = Send(client, {.method = "PUT", .target = "/", .headers = {}, .body = body});
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body.size(), body.size());
  EXPECT_EQ(server.requests()[0].body.size(), body.size());
}

TEST_F(ClientTest, A401IsTriedOnceMoreWithWhatTheCredentialsHaveNext) {
  ScriptedServer server;
  server.Expect("*", Text("no", 401));
  server.Expect("*", Text("yes"));
  server.Expect("*", Text("no", 401));
  auto credentials = std::make_shared<TestCredentials>();
  credentials->token = "old";
  credentials->next_token = "new";
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  EXPECT_EQ(Post(client, "/")->status, 200);
  EXPECT_EQ(Find(server.requests()[0].headers, "Authorization"), "Bearer old");
  EXPECT_EQ(Find(server.requests()[1].headers, "Authorization"), "Bearer new");
  EXPECT_EQ(Post(client, "/")->status, 401) << "nothing new: the answer stands";
  EXPECT_EQ(server.requests().size(), 3u);
}

}  // namespace
}  // namespace capstan::net
