// Uploads that the server does not want, or not to their end; plain and over TLS.
#include <functional>

#include "async/timer.h"
#include "net/client_test.h"
#include "net/testing/certificates.h"

namespace capstan::net {
namespace {

using testing::Answer;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Nothing;
using testing::ScriptedServer;
using testing::Text;

constexpr Duration kLong = 30s;  // nothing here may last so long
constexpr size_t kMany = 200;    // pieces, of 12 MB together: more than fits into the buffers between two sockets

// Gives `count` pieces, calls back and ends, well or with an error.
class Counted final : public BodySource {
 public:
  explicit Counted(
      size_t count, std::function<void()> at_end = [] {}, std::optional<Error> error = {})
      : count_(count), at_end_(std::move(at_end)), error_(std::move(error)) {}
  async::Task<Result<std::string>> Next(async::Deadline) override {
    if (given < count_) {
      ++given;
      co_return std::string(60'000, 'x');
    }
    at_end_();
    if (error_) co_return Fail(*error_);
    co_return std::string();
  }
  size_t given = 0;

 private:
  size_t count_;
  std::function<void()> at_end_;
  std::optional<Error> error_;
};

// Has nothing to give.
class Blocked final : public BodySource {
 public:
  explicit Blocked(async::Loop& loop) : loop_(loop) {}
  async::Task<Result<std::string>> Next(async::Deadline deadline) override {
    async::Timer timer(loop_);
    co_await timer.WaitUntil(deadline.at());
    co_return Fail(Code::kDeadline, "the disk is slow");
  }

 private:
  async::Loop& loop_;
};

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

class UploadTestBase : public ClientTest {
 protected:
  explicit UploadTestBase(bool tls, bool wants_certificate = false)
      : server_(tls ? Serving(wants_certificate) : ScriptedServer::Options()) {}
  ScriptedServer::Options Serving(bool wants_certificate) const {
    const testing::KeyPair pair = authority_.Issue({});
    return {pair.certificate_pem, pair.key_pem, wants_certificate ? authority_.certificate_pem() : "", ""};
  }
  // A while after the server has been asked so often: when the client has filled what there is to fill.
  void RefuseOnceAsked(size_t requests) {
    loop_.Schedule(loop_.Now() + 50ms, [this, requests] {
      if (server_.requests().size() < requests) return RefuseOnceAsked(requests);
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

class UploadTest : public UploadTestBase, public ::testing::WithParamInterface<bool> {
 protected:
  UploadTest() : UploadTestBase(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Wires, UploadTest, ::testing::Bool(),
                         [](const auto& wire) { return wire.param ? "Tls" : "Plain"; });

TEST_P(UploadTest, ARefusalIsSeenWhateverTheServerDoesWithTheRest) {
  for (const Answer& answer : {Text("too large", 413).Hold(), Text("too large", 413).Stall(),
                               Answer("HTTP/1.1 103 Early Hints\r\n\r\n").Then(Bytes(Text("too large", 413))).Hold()}) {
    server_.Expect("POST /up", answer);
    const auto response = Send(client_, Upload(std::make_shared<Pieces>(kEndless)), kLong);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413);
    EXPECT_EQ(response->body, "too large");
    EXPECT_EQ(client_.idle(), 0u);
  }
}

TEST_P(UploadTest, ARefusalIsSeenWhileNothingCanBeWritten) {
  Request large{.method = "POST", .target = "/up", .body = std::string(32 << 20, 'x')};
  for (const Request& request : {Upload(std::make_shared<Pieces>(kEndless)), large}) {
    server_.Expect("POST /up", Nothing().Early().Stall());
    RefuseOnceAsked(server_.requests().size() + 1);
    const auto response = Send(client_, request, kLong);
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413);
  }
}

TEST_P(UploadTest, HalfAHeaderIsNoAnswer) {
  server_.Expect("POST /up", Answer("HTTP/1.1 413 Req").CloseHalf());
  const auto response = Send(client_, Upload(std::make_shared<Pieces>(kEndless)), kLong);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  EXPECT_THAT(response.error().message(), Not(HasSubstr("deadline")));
}

TEST_P(UploadTest, AnInterimAnswerEndsNothing) {
  server_.Expect("POST /up", Answer("HTTP/1.1 103 Early Hints\r\n\r\n").Hold());
  const auto source = std::make_shared<Counted>(kMany, [this] { server_.Push(Bytes(Text("done", 201))); });
  const auto response = Send(client_, Upload(source), kLong);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(source->given, kMany);
}

TEST_P(UploadTest, AnEarlySuccessEndsNothing) {
  server_.Expect("POST /up", Text("so far, so good").Hold());
  const auto source = std::make_shared<Counted>(kMany);
  const auto response = Send(client_, Upload(source), kLong);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "so far, so good");
  EXPECT_EQ(source->given, kMany);
  EXPECT_EQ(client_.idle(), 1u) << "the server has all of it";
}

TEST_P(UploadTest, AnEarlySuccessIsNoneForWhatWasCutOff) {
  const Request large{.method = "POST", .target = "/up", .body = std::string(32 << 20, 'x')};
  const Error broken(Code::kInvalid, "the disk is broken");
  const std::pair<Answer, Request> cases[] = {
      {Text("ok").Close(), Upload(std::make_shared<Pieces>(kEndless))},
      {Text("ok").CloseHalf(), Upload(std::make_shared<Pieces>(kEndless))},
      {Text("ok").Hold(), Upload(std::make_shared<Counted>(
                              kMany, [] {}, broken))},
      {Text("ok").Early().Close(), large},
  };
  for (const auto& [answer, request] : cases) {
    server_.Expect("POST /up", answer);
    const auto response = Send(client_, request, kLong);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kUnknownOutcome) << response.error().message();
    EXPECT_EQ(client_.idle(), 0u);
  }
}

TEST_P(UploadTest, WhatComesBeforeTheEndIsBounded) {
  server_.Expect("POST /up", testing::Chunked({std::string(2000, 'x')}, false).Hold());
  HttpClient client(loop_, {.server = server_.endpoint(), .credentials = credentials_, .max_body_bytes = 1000});
  const auto stream =
      testing::RunTask(loop_, client.Open(Upload(std::make_shared<Pieces>(kEndless)), loop_.After(kLong)));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::kInvalid) << stream.error().message();
}

TEST_P(UploadTest, ASourcesErrorIsNotTheServers) {
  for (const Code code : {Code::kUnauthenticated, Code::kUnavailable, Code::kDeadline}) {
    server_.Expect("POST /up", Nothing().Hold());
    const auto source = std::make_shared<Counted>(3, [] {}, Error(code, "the disk is broken"));
    const auto response = Send(client_, Upload(source), kLong);
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
    EXPECT_EQ(response.error().message(), "the request was cut off: the disk is broken");
  }
  EXPECT_EQ(credentials_->rejected, 0);
}

TEST_P(UploadTest, ASourceThatWaitsTooLongCutsTheRequestOff) {
  server_.Expect("POST /up", Nothing().Hold());
  const auto response = Send(client_, Upload(std::make_shared<Blocked>(loop_)), 300ms);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(response.error().message(), "the request was cut off: the disk is slow");
  server_.Expect("POST /up", Text("no", 403).Hold());
  const auto refused = Send(client_, Upload(std::make_shared<Blocked>(loop_)), 500ms);
  ASSERT_TRUE(refused) << refused.error().message();
  EXPECT_EQ(refused->status, 403) << "it had answered by then";
}

TEST_P(UploadTest, AnUploadThatNeverEndsEndsAtItsDeadline) {
  server_.Expect("POST /up", Nothing().Hold());
  const auto response = Send(client_, Upload(std::make_shared<Pieces>(kEndless)), 300ms);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
}

class UploadWithoutCertificateTest : public UploadTestBase {
 protected:
  UploadWithoutCertificateTest() : UploadTestBase(true, true) {}
};

// TLS 1.3 tells when the first bytes have left already.
TEST_F(UploadWithoutCertificateTest, IsRefusedAsSuch) {
  const auto response = Send(client_, Upload(std::make_shared<Pieces>(kEndless)), kLong);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnauthenticated) << response.error().message();
  EXPECT_EQ(credentials_->rejected, 1);
  EXPECT_EQ(client_.dialled(), 1u) << "a source is used up";
}

}  // namespace
}  // namespace capstan::net
