// Large bodies that the server does not want, or not to their end; plain and over TLS.
#include "async/timer.h"
#include "net/client_test.h"
#include "net/testing/certificates.h"

namespace capstan::net {
namespace {

using testing::Answer;
using testing::Nothing;
using testing::ScriptedServer;
using testing::Text;

constexpr Duration kLong = 30s;  // nothing here may last so long

// More than fits into the buffers between two sockets.
Request Large() {
  return {.method = "POST", .target = "/up", .headers = {}, .body = std::string(size_t(32) << 20, 'x')};
}

class CountingCredentials final : public Credentials {
 public:
  explicit CountingCredentials(const std::string& ca_pem) {
    TlsMaterial material;
    material.ca_pem = ca_pem;
    tls_ = std::make_shared<TlsMaterial>(std::move(material));
  }
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls_; }
  bool Rejected(const Secret&, const TlsMaterial*) override {
    ++rejected;
    return true;
  }
  int rejected = 0;

 private:
  std::shared_ptr<const TlsMaterial> tls_;
};

class LargeBodyTestBase : public ClientTest {
 protected:
  explicit LargeBodyTestBase(bool tls, bool wants_certificate = false)
      : server_(tls ? Serving(wants_certificate) : ScriptedServer::Options()) {}
  ScriptedServer::Options Serving(bool wants_certificate) const {
    const testing::KeyPair pair = authority_.Issue({});
    return {pair.certificate_pem, pair.key_pem, wants_certificate ? authority_.certificate_pem() : "", ""};
  }
  // A while after the server has been asked: when the client has filled what there is to fill.
  void RefuseOnceAsked() {
    loop_.Schedule(loop_.Now() + 50ms, [this] {
      if (server_.requests().empty()) return RefuseOnceAsked();
      server_.Push(Bytes(Text("too large", 413)));
    });
  }
  static std::string Bytes(const Answer& answer) { return answer.pieces()[0].bytes; }

  testing::Authority authority_;
  ScriptedServer server_;
  std::shared_ptr<CountingCredentials> credentials_ =
      std::make_shared<CountingCredentials>(authority_.certificate_pem());
  HttpClient client_{loop_, {.server = server_.endpoint(), .credentials = credentials_}};
};

class LargeBodyTest : public LargeBodyTestBase, public ::testing::WithParamInterface<bool> {
 protected:
  LargeBodyTest() : LargeBodyTestBase(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Wires, LargeBodyTest, ::testing::Bool(),
                         [](const auto& wire) { return wire.param ? "Tls" : "Plain"; });

TEST_P(LargeBodyTest, ARefusalIsReadWhateverTheServerDoesWithTheRest) {
  for (const Answer& answer :
       {Text("too large", 413).Early().Close(), Text("too large", 413).Early().Hold(),
        Text("too large", 413).Early().Stall(),
        Answer("HTTP/1.1 103 Early Hints\r\n\r\n").Then(Bytes(Text("too large", 413))).Early().Hold()}) {
    server_.Expect("POST /up", answer);
    const auto response = Send(client_, Large(), kLong);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413);
    EXPECT_EQ(response->body, "too large");
    EXPECT_EQ(client_.idle(), 0u);
  }
}

TEST_P(LargeBodyTest, ARefusalIsReadWhileNothingCanBeWritten) {
  server_.Expect("POST /up", Nothing().Early().Stall());
  RefuseOnceAsked();
  const auto response = Send(client_, Large(), kLong);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 413);
}

// Part of the request had left and part of an answer had come, and the request counted as not sent.
TEST_P(LargeBodyTest, HalfAHeaderIsNoAnswer) {
  server_.Expect("POST /up", Answer("HTTP/1.1 413 Req").Early().CloseHalf());
  const auto response = Send(client_, Large(), kLong);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome) << response.error().message();
}

TEST_P(LargeBodyTest, AnEarlySuccessEndsNothing) {
  for (const Answer& answer :
       {Text("so far, so good").Early().Hold(),
        Answer("HTTP/1.1 103 Early Hints\r\n\r\n").Then(Bytes(Text("so far, so good"))).Early().Hold()}) {
    server_.Expect("POST /up", answer);
    const auto response = Send(client_, Large(), kLong);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "so far, so good");
    EXPECT_EQ(client_.idle(), 1u) << "the server has all of it";
    client_.CloseIdle();
  }
}

TEST_P(LargeBodyTest, AnEarlySuccessIsNoneForWhatWasCutOff) {
  for (const Answer& answer : {Text("ok").Early().Close(), Text("ok").Early().CloseHalf()}) {
    server_.Expect("POST /up", answer);
    const auto response = Send(client_, Large(), kLong);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kUnknownOutcome) << response.error().message();
    EXPECT_EQ(client_.idle(), 0u);
  }
}

TEST_P(LargeBodyTest, WhatComesBeforeTheEndIsBounded) {
  server_.Expect("POST /up", testing::Chunked({std::string(2000, 'x')}, false).Early().Hold());
  HttpClient client(loop_, {.server = server_.endpoint(), .credentials = credentials_, .max_body_bytes = 1000});
  const auto stream = testing::RunTask(loop_, client.Open(Large(), loop_.After(kLong)));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::kInvalid) << stream.error().message();
}

TEST_P(LargeBodyTest, WhatIsNotTakenEndsAtItsDeadline) {
  server_.Expect("POST /up", Nothing().Early().Stall());
  const auto response = Send(client_, Large(), 300ms);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kDeadline) << "the server never had the whole of it";
}

class WithoutCertificateTest : public LargeBodyTestBase {
 protected:
  WithoutCertificateTest() : LargeBodyTestBase(true, true) {}
};

// TLS 1.3 tells when the first bytes have left already.
TEST_F(WithoutCertificateTest, ALargeBodyIsRefusedAsSuch) {
  const auto response = Send(client_, Large(), kLong);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnauthenticated) << response.error().message();
  EXPECT_EQ(credentials_->rejected, 1);
}

}  // namespace
}  // namespace capstan::net
