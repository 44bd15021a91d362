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

// Of a proxy, or of something else that listens there: a job was taken for cancelled, and a node's record for deleted.
TEST_F(RestClientTest, A404WithoutSlurmsWordsIsNoProofThatSomethingIsGone) {
  Await(client.Ping(loop.After(1min)));
  server.status = 404;
  server.headers = {{"Content-Type", "text/html"}};
  server.body = "<html>not here</html>";
  const async::Deadline soon = loop.After(1min);
  EXPECT_EQ(Await(client.Delete("w-0", soon)).error().code(), Code::kUnavailable);
  EXPECT_EQ(Await(client.NodeNamed("w-0", soon)).error().code(), Code::kUnavailable);
  EXPECT_EQ(Await(client.JobNumbered(7, soon)).error().code(), Code::kUnavailable);
  EXPECT_EQ(Await(client.UpdateJob({.id = 7, .admin_comment = "x", .name = {}}, soon)).error().code(),
            Code::kUnavailable);
  EXPECT_EQ(Await(client.CancelJob({.id = 7, .name = "mine", .only_if = {}}, soon)).error().code(), Code::kUnavailable);
  EXPECT_EQ(Await(client.DeleteReservation("r", soon)).error().code(), Code::kUnavailable);
  EXPECT_THAT(NodesError(), HasSubstr("slurmrestd answered 404: <html>not here</html>"));
  EXPECT_EQ(client.version(), "v0.0.44") << "nor of another version";
  server.headers = {{"Content-Type", "application/json"}};
  server.body = R"({"errors":[{"status":"404","title":"no such route"}]})";
  EXPECT_EQ(Await(client.Delete("w-0", soon)).error().code(), Code::kUnavailable);
  EXPECT_EQ(Await(client.JobNumbered(7, soon)).error().code(), Code::kUnavailable);
}

TEST_F(RestClientTest, JobsAreNotCancelledByTheirStateAlone) {
  Await(client.Ping(loop.After(1min)));
  server.asked = 0;
  EXPECT_EQ(Await(client.CancelJobs({.user = {}, .only_if = JobFlag::kRunning}, loop.After(1min))).error().code(),
            Code::kInvalid);
  EXPECT_EQ(server.asked, 0);
}

// Has the data parsers of its release.
class Upgraded final : public net::Transport {
 public:
  std::string release = "24.11.5";
  std::vector<std::string> versions = {"v0.0.41", "v0.0.42"};
  std::vector<std::string> asked;
  bool proxy = false;  // stands before it, and does not find it

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline) override {
    asked.push_back(request.target);
    const auto has = [&](const std::string& version) { return request.target.starts_with("/slurm/" + version + "/"); };
    const bool too_new = release.starts_with("24.11.") && request.target.contains("/reservation/");
    const bool known = std::ranges::any_of(versions, has) && !too_new;
    if (!known || proxy)
      co_return net::Response{404, {{"Content-Type", "text/plain"}}, proxy ? "not here" : "Unable find requested URL."};
    co_return net::Response{200,
                            {{"Content-Type", "application/json"}},
                            R"({"meta":{"slurm":{"release":")" + release + R"("}},"slurm_conf_meta":{"BOOT_TIME":5}})"};
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request, async::Deadline) override {
    co_return Fail(Code::kUnavailable, "not asked here");
  }
};

TEST_F(RestClientTest, AnUpgradedSlurmrestdIsAskedForTheVersionThatIsPreferred) {
  Upgraded slurmrestd;
  RestClient asking(loop, slurmrestd, [](Duration) { return Secret("token"); });
  const auto diag = [&] { return Await(asking.ReadLife(loop.After(1min))); };
  ASSERT_TRUE(diag());
  EXPECT_EQ(asking.version(), "v0.0.42");
  EXPECT_EQ(slurmrestd.asked.back(), "/slurm/v0.0.42/diag/") << "it has no conf";
  slurmrestd.release = "26.05.5";
  slurmrestd.versions = {"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"};
  ASSERT_TRUE(diag()) << "whose answer says which release it is";
  ASSERT_TRUE(diag());
  EXPECT_EQ(slurmrestd.asked.back(), "/slurm/v0.0.45/conf") << "asked for again";
  ASSERT_TRUE(Await(asking.Ping(loop.After(1min))));
  EXPECT_EQ(asking.version(), "v0.0.44");
  slurmrestd.release = "24.11.5";
  slurmrestd.versions = {"v0.0.41", "v0.0.42"};
  ASSERT_TRUE(diag()) << "and back";
  EXPECT_EQ(asking.version(), "v0.0.42");
  EXPECT_EQ(Await(asking.DeleteReservation("r", loop.After(1min))).error().message(),
            "deleting reservations: not supported by this Slurm (24.11.5); Slurm 25.05 and newer can");
}

TEST_F(RestClientTest, ASlurmrestdThatAProxyDoesNotFindIsAwayAndOfNoOtherVersion) {
  Upgraded slurmrestd;
  slurmrestd.proxy = true;
  RestClient asking(loop, slurmrestd, [](Duration) { return Secret("token"); });
  const auto ping = [&] { return Await(asking.Ping(loop.After(1min))); };
  EXPECT_EQ(ping().error().code(), Code::kUnavailable);
  EXPECT_EQ(slurmrestd.asked.size(), 1u);
  slurmrestd.proxy = false;
  EXPECT_TRUE(ping());
  slurmrestd.versions.clear();
  EXPECT_THAT(ping().error().message(), HasSubstr("offers none of the API versions"));
}

// Which a proxy may have passed on before it lost the answer.
TEST_F(RestClientTest, AJobWhoseSubmissionAProxyAnsweredMayHaveBeenMade) {
  Await(client.Ping(loop.After(1min)));
  server.status = 502;
  server.headers = {{"Content-Type", "text/html"}};
  const BatchJob job{.script = "#!/bin/sh\n", .working_directory = "/tmp"};
  EXPECT_EQ(Await(client.Submit(job, loop.After(1min))).error().code(), Code::kUnknownOutcome);
}

}  // namespace
}  // namespace capstan::slurm
