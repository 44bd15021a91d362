// What a broken or hostile slurmrestd may answer.
#include "slurm/rest_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "async/task_group.h"

namespace capstan::slurm {
namespace {

using ::testing::HasSubstr;

// Answers every request alike.
class Hostile final : public net::Transport {
 public:
  int status = 200;
  net::Headers headers = {{"Content-Type", "application/json"}};
  std::string body;
  size_t repeats = 0;  // of `piece`, behind a body that is streamed
  std::string piece;
  int asked = 0;
  size_t streamed = 0;
  size_t allowed = 0;            // bytes of an answer, by the last request
  std::optional<Error> refusal;  // by the transport

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline) override {
    ++asked;
    allowed = request.max_answer_bytes;
    if (refusal) co_return Fail(*refusal);
    if (request.target.ends_with("/ping/")) co_return net::Response{200, headers, "{}"};
    co_return net::Response{status, headers, body};
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request, async::Deadline) override {
    ++asked;
    co_return std::make_unique<Stream>(*this);
  }

 private:
  class Stream final : public net::BodyStream {
   public:
    explicit Stream(Hostile& server) : server_(server), text_(server.body), left_(server.repeats) {}
    int status() const override { return server_.status; }
    const net::Headers& headers() const override { return server_.headers; }
    async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline) override {
      while (text_.size() < buffer.size() && left_ > 0) {
        text_ += server_.piece;
        --left_;
      }
      const size_t count = std::min(buffer.size(), text_.size());
      std::ranges::copy(text_.substr(0, count), buffer.begin());
      text_.erase(0, count);
      server_.streamed += count;
      co_return count;
    }

   private:
    Hostile& server_;
    std::string text_;
    size_t left_;
  };
};

class RestClientTest : public ::testing::Test {
 protected:
  template <class T>
  T Await(async::Task<T> task) {
    std::optional<T> result;
    auto wrapped = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
      out = co_await std::move(inner);
    };
    async::TaskGroup group(loop);
    group.Spawn("call", wrapped(std::move(task), result));
    EXPECT_TRUE(loop.RunUntil([&] { return group.size() == 0; }, 10min));
    return *std::move(result);
  }
  std::string NodesError() {
    const auto nodes = Await(client.Nodes(0, loop.After(1min)));
    return nodes ? "none" : nodes.error().message();
  }
  std::string PingError() {
    const auto pings = Await(client.ReadLife(loop.After(1min)));
    return pings ? "none" : pings.error().message();
  }

  async::VirtualLoop loop;
  Hostile server;
  int signatures = 0;
  RestClient client{loop,
                    server,
                    [this](Duration) {
                      ++signatures;
                      return Secret("token");
                    },
                    {.versions = {44}, .max_nodes = 100, .max_jobs = 100, .max_list_bytes = 10'000'000}};
};

TEST_F(RestClientTest, AListHasNoMoreRecordsThanAnyClusterAndNoMoreBytes) {
  server.body = R"({"nodes":[{"name":"a"})";
  server.piece = R"(,{"name":"b"})";
  server.repeats = 1'000'000;
  EXPECT_THAT(NodesError(), HasSubstr("slurmrestd's list is too long: more than 100 records"));
  EXPECT_LT(server.streamed, 100'000u) << "not read to its end";
  server.body = R"({"nodes":[)";
  server.piece = std::string(1000, ' ');
  EXPECT_EQ(NodesError(), "slurmrestd's list is too large: more than 10000000 bytes");
  server.piece = std::string(1000, 'x');
  EXPECT_THAT(NodesError(), HasSubstr("one element of the answer's list is too large"));
}

TEST_F(RestClientTest, AllRecordsOfAListTogetherTakeNoMoreThanAnyClusters) {
  RestClient::Options options{.versions = {44}};
  options.max_held_bytes = 1'000'000;
  RestClient bounded(loop, server, [](Duration) { return Secret("token"); }, options);
  // Ten bytes of JSON are a text of 32 and more, of which a thousand are well below every other limit.
  std::string features;
  for (int i = 0; i < 1000; ++i) features += R"("",)";
  server.body = R"({"nodes":[{"name":"a"})";
  server.piece = R"(,{"name":"b","features":[)" + features + R"("x"]})";
  server.repeats = 100;
  const auto nodes = Await(bounded.Nodes(0, loop.After(1min)));
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code(), Code::kInvalid);
  EXPECT_THAT(nodes.error().message(), HasSubstr("its records take more than 1000000 bytes"));
  EXPECT_LT(server.streamed, 200'000u) << "not read to its end";
  server.body = R"({"reservations":[{"name":"a"})";
  server.piece = R"(,{"name":"b","node_list":"n[1-99999]"})";
  server.repeats = 9000;
  EXPECT_THAT(Await(bounded.Reservations(loop.After(1min))).error().message(), HasSubstr("its records take more"));
}

// Of a list of nodes 100,000 names were made, for each of 10,000 reservations.
TEST_F(RestClientTest, ReservationsKeepTheirNodesAsTheyAreWritten) {
  server.body = R"({"reservations":[{"name":"a","node_list":"n[1-99999],m[1-)";
  server.piece = R"(9]"}],"last_update":{"set":true,"number":1}})";
  server.repeats = 1;
  const auto all = Await(client.Reservations(loop.After(1min)));
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->records[0].nodes, "n[1-99999],m[1-9]");
}

TEST_F(RestClientTest, AnAnswerHoldsNoMoreBytesAndNoMoreElementsThanAreAskedFor) {
  PingError();
  EXPECT_EQ(server.allowed, RestClient::Options().max_answer_bytes) << "the transport is told before it reads";
  std::string nodes, errors;
  for (int i = 0; i < 30'000; ++i) {
    nodes += i == 0 ? "{}" : ",{}";
    errors += i == 0 ? "{}" : ",{}";
  }
  server.body = R"({"nodes":[)" + nodes + "]}";
  const auto node = Await(client.NodeNamed("a", loop.After(1min)));
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message(), HasSubstr("nodes[20000] is one element more than the 20000 that are read"));
  server.body = R"({"errors":[)" + errors + "]}";
  EXPECT_THAT(PingError(), HasSubstr("errors[20000] is one element more"));
}

// Nobody knows what the write did.
TEST_F(RestClientTest, AnAnswerThatIsTooLargeLeavesAWriteUnknownAndAReadInvalid) {
  ASSERT_TRUE(Await(client.Ping(loop.After(1min)))) << "the version is known";
  server.refusal = Error(Code::kInvalid, "the body is larger than is allowed here: 5 bytes at most");
  NodeUpdate update;
  update.names = {"w-0"};
  update.action = NodeAction::kResume;
  const auto written = Await(client.Update(update, loop.After(1min)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(written.error().message(), "slurmrestd's answer: the body is larger than is allowed here: 5 bytes at most");
  EXPECT_EQ(Await(client.NodeNamed("w-0", loop.After(1min))).error().code(), Code::kInvalid);
}

// Its words stand in conditions and log lines.
TEST_F(RestClientTest, NoMoreThanALineOfItsWordsIsPassedOn) {
  const std::string evil = "bad\\nReady: True\\u001b[2J\\r" + std::string(100'000, 'x');
  const std::string raw = "bad\nReady: True\x1b[2J\r" + std::string(100'000, 'x');
  const auto expect_line = [](const std::string& message) {
    EXPECT_LT(message.size(), 700u);
    EXPECT_TRUE(std::ranges::none_of(message, [](unsigned char c) { return c < ' ' || c == 0x7f; })) << message;
  };
  server.status = 500;
  server.body = R"({"errors":[{"error":")" + evil + R"(","description":")" + evil + R"("}]})";
  expect_line(NodesError());
  expect_line(PingError());
  server.headers = {{"Content-Type", "text/plain"}};
  server.body = raw;
  expect_line(NodesError());
  expect_line(PingError());
  server.status = 200;
  server.headers = {{"Content-Type", "application/json"}};
  server.body = R"({"nodes":[{"name":")" + evil + R"(","state":7}]})";
  expect_line(NodesError());
  server.body = R"({"meta":")" + evil + "\"}";
  expect_line(PingError());
  server.body = R"({"nodes":[{"name":"a","reason":")" + evil + R"("}]})";
  const auto nodes = Await(client.Nodes(0, loop.After(1min)));
  ASSERT_TRUE(nodes) << nodes.error().message();
  EXPECT_LE(nodes->records[0].reason.size(), 1024u);
}

// The operator heard nothing any more once the key that signs tokens had been replaced, for as long as its token counted.
TEST_F(RestClientTest, WhileNoSlurmctldRespondsEachPingHasATokenOfItsOwn) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(Await(client.Ping(loop.After(1min))));
    EXPECT_EQ(signatures, i + 1);
  }
}

// Followed, it would have carried the token to a host of the server's choice.
TEST_F(RestClientTest, ARedirectIsAnErrorAndNotFollowed) {
  Await(client.Ping(loop.After(1min)));
  server.asked = 0;
  for (const int status : {301, 302, 307, 308}) {
    server.status = status;
    server.headers = {{"Location", "http://elsewhere.example/"}};
    server.body = "";
    EXPECT_THAT(NodesError(), HasSubstr("slurmrestd answered " + std::to_string(status)));
    EXPECT_THAT(PingError(), HasSubstr("slurmrestd answered " + std::to_string(status)));
  }
  EXPECT_EQ(server.asked, 8);
}

}  // namespace
}  // namespace capstan::slurm
