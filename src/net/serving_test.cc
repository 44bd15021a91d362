// The server with TLS: who it is, to whom, and what happens when that changes.
#include "net/serving.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/client.h"
#include "net/server.h"
#include "net/testing/certificates.h"
#include "net/testing/run.h"

namespace capstan::net {
namespace {

using testing::Authority;
using ::testing::HasSubstr;
using testing::RunTask;

struct TrustingOne final : Credentials {
  explicit TrustingOne(const std::string& ca_pem, const testing::KeyPair& own = {}) {
    TlsMaterial material;
    material.ca_pem = ca_pem;
    material.certificate_pem = own.certificate_pem;
    material.key_pem = Secret(own.key_pem);
    tls = std::make_shared<TlsMaterial>(std::move(material));
  }
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls; }
  std::shared_ptr<const TlsMaterial> tls;
};

ServingMaterial MaterialOf(const testing::KeyPair& pair, const std::string& client_ca_pem = {}) {
  return {pair.certificate_pem, Secret(pair.key_pem), client_ca_pem};
}

class ServingTest : public ::testing::Test {
 protected:
  ServingTest() {
    HttpServer::Options options{.address = "127.0.0.1", .identity = identity_, .metrics = &metrics_};
    auto started = HttpServer::Start(
        options, {{"/", [](const Request& request) { return TextResponse(request.body.empty() ? "ok" : "got it"); }}});
    EXPECT_TRUE(started) << started.error().message();
    server_ = *std::move(started);
  }

  HttpClient ClientOf(const std::string& ca_pem, const testing::KeyPair& own = {}) {
    return HttpClient(loop_, {.server = {Endpoint::Scheme::kHttps, "127.0.0.1", server_->port(), ""},
                              .credentials = std::make_shared<TrustingOne>(ca_pem, own)});
  }
  Result<Response> Get(HttpClient& client) { return RunTask(loop_, client.Send({"GET", "/"}, loop_.After(10s))); }
  void ExpectOk(HttpClient& client) {
    const Result<Response> response = Get(client);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "ok");
  }
  void ExpectRefused(HttpClient& client, const std::string& why) {
    const Result<Response> response = Get(client);
    ASSERT_FALSE(response);
    EXPECT_THAT(response.error().message(), HasSubstr(why));
  }

  async::RealLoop loop_;
  Metrics metrics_;
  Authority first_{"first"}, second_{"second"};
  std::shared_ptr<ServingIdentity> identity_ = std::make_shared<ServingIdentity>();
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServingTest, AnIdentityReplacedDropsNoConnection) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  HttpClient kept = ClientOf(first_.certificate_pem());
  ExpectOk(kept);
  ASSERT_TRUE(identity_->Replace(MaterialOf(second_.Issue({}))));
  ExpectOk(kept);
  EXPECT_EQ(kept.dialled(), 1u);
  HttpClient newcomer = ClientOf(second_.certificate_pem());
  ExpectOk(newcomer);
  HttpClient outdated = ClientOf(first_.certificate_pem());
  ExpectRefused(outdated, "signed by none of the CAs we trust");
}

TEST_F(ServingTest, NobodyIsServedBeforeThereIsAnIdentity) {
  EXPECT_FALSE(identity_->ready());
  HttpClient client = ClientOf(first_.certificate_pem());
  EXPECT_FALSE(Get(client));
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  EXPECT_TRUE(identity_->ready());
  ExpectOk(client);
}

TEST_F(ServingTest, MaterialThatCannotBeUsedChangesNothing) {
  const testing::KeyPair one = first_.Issue({}), other = first_.Issue({});
  ASSERT_TRUE(identity_->Replace(MaterialOf(one)));
  const auto before = identity_->context();
  const auto expect_refused = [&](ServingMaterial material, const std::string& why) {
    const Result<void> replaced = identity_->Replace(material);
    ASSERT_FALSE(replaced);
    EXPECT_EQ(replaced.error().code(), Code::kInvalid);
    EXPECT_THAT(replaced.error().message(), HasSubstr(why));
  };
  expect_refused({one.certificate_pem, Secret(other.key_pem), {}}, "does not belong to the server certificate");
  expect_refused({one.certificate_pem, Secret("a secret"), {}}, "not an unencrypted private key");
  expect_refused({"", Secret(one.key_pem), {}}, "the server certificate is not a certificate");
  expect_refused({one.certificate_pem, Secret(one.key_pem), "no CA"}, "clients: the CA bundle holds no certificate");
  EXPECT_EQ(identity_->context(), before);
}

TEST_F(ServingTest, WithAClientCaOnlyItsClientsAreServed) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}), second_.certificate_pem())));
  HttpClient known = ClientOf(first_.certificate_pem(), second_.Issue({.common_name = "kube-apiserver"}));
  ExpectOk(known);
  HttpClient anonymous = ClientOf(first_.certificate_pem());
  EXPECT_FALSE(Get(anonymous));
  HttpClient stranger = ClientOf(first_.certificate_pem(), first_.Issue({}));
  EXPECT_FALSE(Get(stranger));
}

TEST_F(ServingTest, RetiredItServesOnWithoutKeepingConnections) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  HttpClient client = ClientOf(first_.certificate_pem());
  ExpectOk(client);
  server_->Retire();
  const Result<Response> last = Get(client);
  ASSERT_TRUE(last);
  EXPECT_EQ(Find(last->headers, "Connection"), "close");
  ExpectOk(client);
  EXPECT_EQ(client.dialled(), 2u);
}

TEST_F(ServingTest, ALargeBodyIsRefusedInWordsThatArrive) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  HttpClient client = ClientOf(first_.certificate_pem());
  const Result<Response> refused = RunTask(
      loop_, client.Send({.method = "POST", .target = "/", .body = std::string(4 << 20, 'x')}, loop_.After(10s)));
  ASSERT_TRUE(refused) << refused.error().message();
  EXPECT_EQ(refused->status, 413);
  EXPECT_THAT(refused->body, HasSubstr("larger than is allowed here"));
}

TEST_F(ServingTest, CountsByPathAndStatusAndSeesFailedHandshakes) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  {
    HttpClient client = ClientOf(first_.certificate_pem());
    ExpectOk(client);
    EXPECT_EQ(RunTask(loop_, client.Send({"GET", "/who?x=1"}, loop_.After(10s)))->status, 404);
    HttpClient stranger = ClientOf(second_.certificate_pem());
    EXPECT_FALSE(Get(stranger));
  }
  server_.reset();  // joined: all has been counted
  const std::string text = metrics_.Exposition();
  EXPECT_THAT(text, HasSubstr("capstan_http_requests_total{path=\"/\",code=\"200\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("capstan_http_requests_total{path=\"other\",code=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("capstan_http_request_duration_seconds_count{path=\"/\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("capstan_http_failed_handshakes_total 1\n"));
  EXPECT_THAT(text, HasSubstr("capstan_http_connections 0\n"));
}

int Connected(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// What a client of OpenSSL's own agrees on with the server: protocol by ALPN, or "" when the handshake fails.
std::string Negotiated(uint16_t port, std::string_view offered, int newest_version) {
  const int fd = Connected(port);
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context, 0);  // lets it offer what is long out of use
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, newest_version);
  SSL* const ssl = SSL_new(context);
  SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(offered.data()), unsigned(offered.size()));
  SSL_set_fd(ssl, fd);
  std::string agreed;
  if (SSL_connect(ssl) == 1) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    agreed.assign(reinterpret_cast<const char*>(name), size);
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  close(fd);
  return agreed;
}

TEST_F(ServingTest, AHandshakeThatDoesNotComeIsGivenUp) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  auto hasty = *HttpServer::Start({.address = "127.0.0.1", .request_limit = 100ms, .identity = identity_}, {});
  const int fd = Connected(hasty->port());
  char byte;
  EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
  close(fd);
}

TEST_F(ServingTest, SpeaksHttp1OverTls12OrNewerOnly) {
  ASSERT_TRUE(identity_->Replace(MaterialOf(first_.Issue({}))));
  constexpr std::string_view kBoth = "\x02h2\x08http/1.1", kOnlyTwo = "\x02h2";
  EXPECT_EQ(Negotiated(server_->port(), kBoth, TLS1_3_VERSION), "http/1.1");
  EXPECT_EQ(Negotiated(server_->port(), kBoth, TLS1_2_VERSION), "http/1.1");
  EXPECT_EQ(Negotiated(server_->port(), kBoth, TLS1_1_VERSION), "");
  EXPECT_EQ(Negotiated(server_->port(), kOnlyTwo, TLS1_3_VERSION), "");
}

}  // namespace
}  // namespace capstan::net
