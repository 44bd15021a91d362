#include "net/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "net/testing/certificates.h"
#include "net/testing/connect_proxy.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"

namespace capstan::net {
namespace {

using testing::ConnectProxy;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::Text;

TEST(Proxy, ReadsUrls) {
  const struct {
    std::string_view url, shown, authorization;
  } cases[] = {
      {"http://proxy", "http://proxy:80", ""},
      {"http://proxy:3128/", "http://proxy:3128", ""},
      {"https://[fd00::1]:8443", "https://[fd00::1]:8443", ""},
      {"http://me:s%40cret@proxy:3128", "http://proxy:3128", "me:s@cret"},
      {"http://me@proxy", "http://proxy:80", "me:"},
      {"http://me:a@b@proxy", "http://proxy:80", "me:a@b"},
  };
  for (const auto& c : cases) {
    const auto proxy = Proxy::Parse(c.url);
    ASSERT_TRUE(proxy) << proxy.error().message();
    EXPECT_EQ((*proxy)->ToString(), c.shown);
    const std::string authorization =
        c.authorization.empty() ? std::string() : "Basic " + Base64(std::string(c.authorization));
    EXPECT_EQ((*proxy)->authorization.Reveal(), authorization);
  }
}

TEST(Proxy, RefusesOthersWithoutQuotingAPassword) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"socks5://me:hunter2@proxy", "SOCKS proxies are not supported"},
      {"proxy:3128", "must begin with"},
      {"ftp://me:hunter2@proxy", "must begin with"},
      {"http://me:hunter2%zz@proxy", "percent-encoded"},
      {"http://me:hunter2@", "the host is missing"},
      {"http://me:hunter2@proxy:x", "the port must be"},
      {"http://me:hunter2@proxy/path", "ends after host and port"},
  };
  for (const auto& [url, why] : cases) {
    const auto proxy = Proxy::Parse(url);
    ASSERT_FALSE(proxy) << url;
    EXPECT_EQ(proxy.error().code(), Code::kInvalid);
    EXPECT_THAT(proxy.error().message(), HasSubstr(std::string(why)));
    EXPECT_THAT(proxy.error().message(), Not(HasSubstr("hunter2")));
  }
}

TEST(Proxy, TheEnvironmentsExceptionsAreThoseOfGoPrograms) {
  const struct {
    std::string_view server, no_proxy;
    bool direct;
  } cases[] = {
      {"https://api.example", "", false},
      {"http://api.example", "", true},
      {"unix:///run/x.sock", "", true},
      {"https://localhost:6443", "", true},
      {"https://127.0.0.9:6443", "", true},
      {"https://[::1]:6443", "", true},
      {"https://api.example", "*", true},
      {"https://api.example", "other, EXAMPLE ,", true},
      {"https://example", "example", true},
      {"https://myexample", "example", false},
      {"https://api.example", ".example", true},
      {"https://api.example", "*.example", true},
      {"https://example", ".example", false},
      {"https://api.example:6443", "example:6443", true},
      {"https://api.example:6443", "example:443", false},
      {"https://10.96.0.1", "10.96.0.0/16", true},
      {"https://10.97.0.1", "10.96.0.0/16", false},
      {"https://10.96.0.1", "10.96.0.1", true},
      {"https://10.96.0.1:443", "10.96.0.1:6443", false},
      {"https://10.96.0.1", "::ffff:10.96.0.1", true},
      {"https://10.96.0.10", "10.96.0.1", false},
      {"https://[fd00::1]", "fd00::/8", true},
      {"https://[fd00::1]", "10.0.0.0/0", false},
      {"https://[fd00::1]:6443", "[fd00::1]:6443", true},
      {"https://[fd00::1]", "fd00::1", true},
      {"https://api.example", "10.0.0.0/99,:443,[", false},
  };
  for (const auto& c : cases) {
    const auto proxy = ProxyFromEnvironment(*Endpoint::Parse(c.server), "proxy:3128", c.no_proxy);
    ASSERT_TRUE(proxy) << proxy.error().message();
    EXPECT_EQ(*proxy == nullptr, c.direct) << c.server << " with NO_PROXY=" << c.no_proxy;
    if (*proxy) EXPECT_EQ((*proxy)->ToString(), "http://proxy:3128");
  }
  EXPECT_EQ(*ProxyFromEnvironment(*Endpoint::Parse("https://api.example"), "", ""), nullptr);
  EXPECT_FALSE(ProxyFromEnvironment(*Endpoint::Parse("https://api.example"), "socks5://proxy", ""));
}

// --- Through real ones ----------------------------------------------------------------------------------

class ClientOf final : public Credentials {
 public:
  explicit ClientOf(const std::string& ca_pem, const testing::KeyPair& own = {}) {
    TlsMaterial material;
    material.ca_pem = ca_pem;
    material.certificate_pem = own.certificate_pem;
    material.key_pem = Secret(own.key_pem);
    tls_ = std::make_shared<TlsMaterial>(std::move(material));
  }
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls_; }

 private:
  std::shared_ptr<const TlsMaterial> tls_;
};

class TunnelTest : public ::testing::Test {
 protected:
  TunnelTest() : pair_(authority_.Issue({})), server_({pair_.certificate_pem, pair_.key_pem, "", ""}) {
    server_.Always("*", Text("ok"));
  }
  HttpClient::Options Through(const std::string& proxy_url) {
    Endpoint endpoint = server_.endpoint();
    endpoint.proxy = *Proxy::Parse(proxy_url);
    return {.server = endpoint, .credentials = std::make_shared<ClientOf>(authority_.certificate_pem())};
  }
  Result<Response> Get(HttpClient& client, std::string target = "/", Duration patience = 5s) {
    Request request{.method = "GET", .target = std::move(target), .repeatable = true};
    return testing::RunTask(loop_, client.Send(std::move(request), loop_.After(patience)));
  }
  std::string Asked() const { return "CONNECT 127.0.0.1:" + std::to_string(server_.port()) + " HTTP/1.1\r\n"; }

  testing::Authority authority_;
  testing::KeyPair pair_;
  testing::ScriptedServer server_;
  async::RealLoop loop_;
};

TEST_F(TunnelTest, AnHttpProxyConnectsUs) {
  ConnectProxy proxy;
  HttpClient client(loop_, Through(proxy.url("me:hunter%32")));
  for (int i = 0; i < 2; ++i) {
    const Result<Response> response = Get(client);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "ok");
  }
  ASSERT_EQ(proxy.requests().size(), 1u) << "the tunnel is reused";
  EXPECT_THAT(proxy.requests()[0], StartsWith(Asked()));
  EXPECT_THAT(proxy.requests()[0], HasSubstr("\r\nProxy-Authorization: Basic " + Base64("me:hunter2") + "\r\n"));
  EXPECT_EQ(Find(server_.requests()[0].headers, "Proxy-Authorization"), "") << "that is between us and the proxy";
}

TEST_F(TunnelTest, TheServersNameIsTheProxysToResolve) {
  ConnectProxy proxy;
  const testing::KeyPair pair = authority_.Issue({.names = {"api.invalid"}, .addresses = {}});
  testing::ScriptedServer server({pair.certificate_pem, pair.key_pem, "", ""});
  server.Always("*", Text("ok"));
  HttpClient::Options options = Through(proxy.url());
  options.server.host = "api.invalid";
  options.server.port = server.port();
  HttpClient client(loop_, options);
  const Result<Response> response = Get(client);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_THAT(proxy.requests()[0], StartsWith("CONNECT api.invalid:"));
}

TEST_F(TunnelTest, AnHttpsProxyHasTlsOfItsOwnAroundTheServers) {
  const testing::KeyPair own = authority_.Issue({.common_name = "proxy"});
  ConnectProxy proxy({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
  HttpClient client(loop_, Through(proxy.url()));
  const std::string body(3 << 20, 'x');  // many records of both layers, in both directions
  server_.Expect("PUT /big", Text(body));
  const Request put{.method = "PUT", .target = "/big", .body = body};
  const Result<Response> response = testing::RunTask(loop_, client.Send(put, loop_.After(20s)));
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, body);
  EXPECT_EQ(server_.requests()[0].body, body);
  ASSERT_TRUE(Get(client));
  ASSERT_EQ(proxy.requests().size(), 1u);
  EXPECT_THAT(proxy.requests()[0], StartsWith(Asked()));
}

TEST_F(TunnelTest, AnHttpsProxyThatIsNotProvenLearnsNothing) {
  const testing::Authority other("other CA");
  const testing::KeyPair own = other.Issue({});
  ConnectProxy proxy({.certificate_pem = own.certificate_pem, .key_pem = own.key_pem});
  HttpClient client(loop_, Through(proxy.url("me:hunter2")));
  const Result<Response> response = Get(client);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
  EXPECT_THAT(response.error().message(), HasSubstr("TLS with the proxy: "));
  EXPECT_TRUE(proxy.requests().empty());
}

TEST_F(TunnelTest, TheServerIsCheckedAsWithoutAProxy) {
  ConnectProxy proxy;
  HttpClient::Options options = Through(proxy.url());
  const testing::Authority other("other CA");
  options.credentials = std::make_shared<ClientOf>(other.certificate_pem());
  HttpClient client(loop_, options);
  const Result<Response> response = Get(client);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message(), HasSubstr("signed by none of the CAs we trust"));
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(TunnelTest, OurCertificateReachesTheServerAndNobodyElse) {
  ConnectProxy proxy;
  testing::ScriptedServer server({pair_.certificate_pem, pair_.key_pem, authority_.certificate_pem(), ""});
  server.Always("*", Text("ok"));
  HttpClient::Options options = Through(proxy.url());
  options.server.port = server.port();
  options.credentials =
      std::make_shared<ClientOf>(authority_.certificate_pem(), authority_.Issue({.common_name = "me"}));
  HttpClient client(loop_, options);
  const Result<Response> response = Get(client);
  EXPECT_TRUE(response) << response.error().message();
}

TEST_F(TunnelTest, WhatAProxyRefusesIsSaid) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nnever",
       "the proxy answered 407: it wants user and password"},
      {"HTTP/1.1 403 Forbidden\r\n\r\n", "the proxy answered 403: it does not let us through"},
      {"HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy answered 502"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "the proxy's answer: not HTTP"},
      {"HTTP/1.1 403 X\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "the proxy's answer: the header is larger"},
      {"", "the proxy closed the connection without an answer"},
  };
  for (const auto& [answer, why] : cases) {
    ConnectProxy proxy({.answer = answer});
    HttpClient client(loop_, Through(proxy.url()));
    const Result<Response> response = Get(client);
    ASSERT_FALSE(response) << why;
    EXPECT_EQ(response.error().code(), Code::kUnavailable);
    EXPECT_THAT(response.error().message(), HasSubstr(" through " + proxy.url() + ": "));
    EXPECT_THAT(response.error().message(), HasSubstr(std::string(why)));
    EXPECT_TRUE(server_.requests().empty());
  }
}

TEST_F(TunnelTest, AProxyThatSpeaksForTheServerIsNotBelieved) {
  ConnectProxy proxy({.answer = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"});
  HttpClient client(loop_, Through(proxy.url()));
  const Result<Response> response = Get(client);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message(), HasSubstr("the proxy sent more than its answer"));
}

TEST_F(TunnelTest, AProxyThatSaysNothingIsGivenUp) {
  ConnectProxy proxy({.silent = true});
  HttpClient::Options options = Through(proxy.url());
  options.dial_limit = 50ms;
  HttpClient client(loop_, options);
  const Result<Response> response = Get(client);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable) << "the caller had time left";
}

}  // namespace
}  // namespace capstan::net
