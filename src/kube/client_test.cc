#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/testing/captured_log.h"
#include "base/text.h"
#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_server.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using testing::kThings;
using testing::ScriptedTransport;
using testing::StatusJson;
using testing::Thing;

class KubeClientTest : public ::testing::Test {
 protected:
  template <class T>
  T Run(async::Task<T> task) {
    return testing::RunVirtual(loop_, std::move(task));
  }
  Result<std::string> Get(Duration patience = 60s) {
    return Run(client_.Get(kThings, key_, {}, loop_.After(patience)));
  }
  Result<std::string> Apply() { return Run(client_.Apply(kThings, key_, "{}", {}, loop_.After(60s))); }
  Result<std::string> Patch() {
    return Run(client_.Patch(kThings, key_, PatchType::kMerge, "{}", {}, loop_.After(60s)));
  }
  Result<void> Evict() { return Run(client_.Evict(key_, {}, loop_.After(60s))); }
  Duration elapsed() const { return loop_.Now().time_since_epoch(); }
  const net::Request& sent(size_t index = 0) const { return wire_.requests.at(index); }
  std::string Header(std::string_view name, size_t index = 0) const {
    return std::string(net::Find(sent(index).headers, name));
  }

  async::VirtualLoop loop_;
  ScriptedTransport wire_{loop_};
  net::Metrics metrics_;
  Client client_{loop_, wire_, {.metrics = &metrics_, .host = "h:1"}};
  const Key key_{"ns", "a"};
};

TEST_F(KubeClientTest, GetAsksForOneObject) {
  wire_.ThenAnswer(200, R"({"metadata":{"name":"a"},"phase":"Ready"})");
  const Result<Thing> thing = Run(client_.Get<Thing>(kThings, key_, {}, loop_.After(1s)));
  ASSERT_TRUE(thing) << thing.error().message();
  EXPECT_EQ(thing->phase, "Ready");
  EXPECT_EQ(sent().method, "GET");
  EXPECT_EQ(sent().target, "/apis/test.capstan/v1/namespaces/ns/things/a");
  EXPECT_EQ(Header("Accept"), "application/json");
  EXPECT_TRUE(sent().repeatable);
}

TEST_F(KubeClientTest, ListPagesAndSelects) {
  wire_.ThenAnswer(200, testing::ListJson("ThingList", "test.capstan/v1", "7", {R"({"phase":"x"})"}, "more"));
  ListOptions options{.ns = "ns", .label_selector = "a=b", .limit = 2, .continue_token = "tok", .metadata_only = true};
  const Result<Page<Thing>> page = Run(client_.List<Thing>(kThings, options, loop_.After(1s)));
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(page->metadata.continue_token, "more");
  EXPECT_EQ(page->metadata.resource_version, "7");
  EXPECT_EQ(page->items.size(), 1u);
  EXPECT_EQ(sent().target, "/apis/test.capstan/v1/namespaces/ns/things?labelSelector=a%3Db&limit=2&continue=tok");
  EXPECT_EQ(Header("Accept"), "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
}

TEST_F(KubeClientTest, WatchSaysWhatItWants) {
  wire_.ThenStream();
  WatchOptions options{.field_selector = "spec.nodeName=n", .send_initial_events = true, .timeout = 300s};
  const auto stream = Run(client_.OpenWatch(kPods, options, loop_.After(1s)));
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ(sent().target,
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&fieldSelector=spec.nodeName%3Dn"
            "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300");
}

TEST_F(KubeClientTest, ARefusedWatchTellsWhy) {
  wire_.ThenAnswer(410, StatusJson(410, "Expired", "too old resource version: 1 (2)"));
  const auto stream = Run(client_.OpenWatch(kPods, {.resource_version = "1"}, loop_.After(1s)));
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code(), Code::kGone);
  EXPECT_EQ(stream.error().message(), "watch pods: too old resource version: 1 (2)");
}

TEST_F(KubeClientTest, WritesAreWhatTheApiExpects) {
  for (int i = 0; i < 7; ++i) wire_.ThenAnswer(200, "{}");
  const async::Deadline deadline = loop_.After(1s);
  ASSERT_TRUE(Run(client_.Create(kThings, {"ns", ""}, "{1}", {}, deadline)));
  ASSERT_TRUE(Run(client_.Create(kPods, key_, "{2}", {.subresource = "binding"}, deadline)));
  ASSERT_TRUE(Run(client_.Replace(kThings, key_, "{3}", {.subresource = "status"}, deadline)));
  ASSERT_TRUE(Run(client_.Apply(kThings, key_, "{4}", {.field_manager = "other"}, deadline)));
  ASSERT_TRUE(Run(client_.Patch(kThings, key_, PatchType::kJson, "[5]", {.dry_run = true}, deadline)));
  ASSERT_TRUE(Run(client_.Delete(kThings, key_,
                                 {.uid = "u", .propagation = Propagation::kForeground, .grace_seconds = 0}, deadline)));
  ASSERT_TRUE(Run(client_.Evict(key_, {.uid = "u"}, deadline)));
  const std::string things = "/apis/test.capstan/v1/namespaces/ns/things", pod = "/api/v1/namespaces/ns/pods/a";
  const struct {
    std::string method, target, content_type, body;
  } expected[] = {
      {"POST", things + "?fieldManager=capstan", "application/json", "{1}"},
      {"POST", pod + "/binding?fieldManager=capstan", "application/json", "{2}"},
      {"PUT", things + "/a/status?fieldManager=capstan", "application/json", "{3}"},
      {"PATCH", things + "/a?fieldManager=other&force=true", "application/apply-patch+yaml", "{4}"},
      {"PATCH", things + "/a?fieldManager=capstan&dryRun=All", "application/json-patch+json", "[5]"},
      {"DELETE", things + "/a", "application/json",
       R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"},"propagationPolicy":"Foreground","gracePeriodSeconds":0})"},
      {"POST", pod + "/eviction", "application/json",
       R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a","namespace":"ns"},"deleteOptions":{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}})"},
  };
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(sent(i).method, expected[i].method) << i;
    EXPECT_EQ(sent(i).target, expected[i].target) << i;
    EXPECT_EQ(Header("Content-Type", i), expected[i].content_type) << i;
    EXPECT_EQ(sent(i).body, expected[i].body) << i;
    EXPECT_FALSE(sent(i).repeatable) << i;
  }
}

TEST_F(KubeClientTest, EveryTryHasAnIdOfItsOwn) {
  wire_.ThenAnswer(503, "");
  wire_.ThenAnswer(200, "{}");
  ASSERT_TRUE(Get());
  EXPECT_THAT(Header("Audit-ID", 0), ::testing::StartsWith("capstan-"));
  EXPECT_NE(Header("Audit-ID", 0), Header("Audit-ID", 1));
}

TEST_F(KubeClientTest, WaitsAsLongAsTheServerAsks) {
  wire_.ThenAnswer(429, StatusJson(429, "TooManyRequests", "slow down"), Duration(0), {{"Retry-After", "7"}});
  wire_.ThenAnswer(200, "{}");
  EXPECT_TRUE(Patch()) << "the server did not begin it, so a write is repeated, too";
  EXPECT_GE(elapsed(), 7s);
  EXPECT_LE(elapsed(), 9s);
}

TEST_F(KubeClientTest, DoesNotWaitBeyondTheDeadline) {
  wire_.ThenAnswer(429, StatusJson(429, "TooManyRequests", "slow down"), Duration(0), {{"Retry-After", "7"}});
  const Result<std::string> object = Get(5s);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code(), Code::kThrottled);
  EXPECT_EQ(object.error().retry_after(), Duration(7s));
  EXPECT_EQ(object.error().message(), "get things ns/a: slow down");
  EXPECT_EQ(elapsed(), Duration(0));
}

TEST_F(KubeClientTest, AnEvictionThatABudgetForbidsIsToldAtOnce) {
  wire_.ThenAnswer(
      429,
      StatusJson(
          429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
          R"({"causes":[{"reason":"DisruptionBudget","message":"The budget b needs 1 healthy pods"}],"retryAfterSeconds":5})"));
  const Result<void> evicted = Evict();
  ASSERT_FALSE(evicted);
  EXPECT_EQ(evicted.error().code(), Code::kThrottled);
  EXPECT_EQ(evicted.error().retry_after(), Duration(5s));
  EXPECT_EQ(evicted.error().message(),
            "evict pods ns/a: Cannot evict pod as it would violate the pod's disruption budget.; "
            "The budget b needs 1 healthy pods");
  EXPECT_TRUE(IsBudgetsRefusal(evicted.error()));
  EXPECT_EQ(wire_.requests.size(), 1u);
}

// An eviction used to end at once with a busy server's 429 too, and no caller could tell that from a budget's no.
TEST_F(KubeClientTest, AnEvictionWaitsForABusyServer) {
  const std::string busy = StatusJson(429, "TooManyRequests", "too many requests", R"({"retryAfterSeconds":1})");
  wire_.ThenAnswer(429, busy);
  wire_.ThenAnswer(201, "{}");
  EXPECT_TRUE(Evict());
  EXPECT_EQ(wire_.requests.size(), 2u);
  EXPECT_FALSE(IsBudgetsRefusal(ErrorFromResponse({429, {}, busy}, Effect::kWrite)));
}

// "DELETE /api/v1/namespaces/ns/pods/" deletes every pod there is.
TEST_F(KubeClientTest, WhatNamesNoObjectIsNotSent) {
  const async::Deadline soon = loop_.After(1s);
  for (const Key& key : {Key{"ns", ""}, Key{"", "a"}}) {
    EXPECT_EQ(Run(client_.Delete(kPods, key, {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Get(kPods, key, {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Replace(kPods, key, "{}", {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Patch(kPods, key, PatchType::kMerge, "{}", {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Apply(kPods, key, "{}", {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Evict(key, {}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.Create(kPods, key, "{}", {.subresource = "binding"}, soon)).error().code(), Code::kInvalid);
    EXPECT_EQ(Run(client_.OpenSubresource(kPods, key, "log", {}, soon)).error().code(), Code::kInvalid);
  }
  EXPECT_EQ(Run(client_.Delete(kPods, {"ns", ""}, {}, soon)).error().message(),
            "delete pods in ns: the object's name is empty");
  // A reference in a custom resource may hold anything: it must not lead to another path.
  for (const char* name : {"..", ".", "../secrets/x", "a%2fb", "a b", "A", "a?b"})
    EXPECT_EQ(Run(client_.Get(kSecrets, {"ns", name}, {}, soon)).error().code(), Code::kInvalid) << name;
  EXPECT_EQ(Run(client_.Get(kSecrets, {"..", "a"}, {}, soon)).error().code(), Code::kInvalid);
  EXPECT_EQ(Run(client_.Get(kSecrets, {"ns", "My_Key"}, {}, soon)).error().message(),
            "get secrets ns/My_Key: a name has lower case letters, digits, '-' and '.' only, 253 of them at most");
  EXPECT_TRUE(wire_.requests.empty());
  wire_.ThenAnswer(200, "{}");
  EXPECT_TRUE(Run(client_.Get(kNodes, {"", "n"}, {}, soon))) << "a kind without namespaces";
}

TEST_F(KubeClientTest, ReadsAreRepeatedWhenTheServerOrTheConnectionFails) {
  wire_.ThenFail(Error(Code::kUnavailable, "refused"));
  wire_.ThenFail(Error(Code::kUnknownOutcome, "cut"));
  wire_.ThenAnswer(500, "oops");
  wire_.ThenAnswer(200, "{}");
  EXPECT_TRUE(Get());
  EXPECT_EQ(wire_.requests.size(), 4u);
  EXPECT_GT(elapsed(), 500ms);
  EXPECT_LT(elapsed(), 1s);
}

TEST_F(KubeClientTest, ReadsAreNotRepeatedForEver) {
  for (int i = 0; i < 20; ++i) wire_.ThenAnswer(503, StatusJson(503, "ServiceUnavailable", "etcd is away"));
  const Result<std::string> object = Get(10min);
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code(), Code::kUnavailable);
  EXPECT_EQ(wire_.requests.size(), 6u);
}

TEST_F(KubeClientTest, AnApplyIsRepeatedAfterA503Only) {
  wire_.ThenAnswer(503, "");
  wire_.ThenAnswer(200, "{}");
  EXPECT_TRUE(Apply());
  wire_.ThenAnswer(500, StatusJson(500, "InternalError", "etcdserver: request timed out"));
  const Result<std::string> unknown = Apply();
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(wire_.requests.size(), 3u);
}

TEST_F(KubeClientTest, AWriteWhoseFateIsUnknownIsNeverRepeated) {
  wire_.ThenFail(Error(Code::kUnknownOutcome, "cut"));
  EXPECT_EQ(Patch().error().code(), Code::kUnknownOutcome);
  wire_.ThenAnswer(504, StatusJson(504, "Timeout", "request did not complete"));
  EXPECT_EQ(Patch().error().code(), Code::kUnknownOutcome);
  // Not the API server's own word: the aggregator says this when it lost the answer of the server behind it.
  wire_.ThenAnswer(503, "error trying to reach service: EOF");
  EXPECT_EQ(Patch().error().code(), Code::kUnknownOutcome);
  wire_.ThenAnswer(503, StatusJson(503, "ServiceUnavailable", "not ready"));
  EXPECT_EQ(Patch().error().code(), Code::kUnavailable);
  EXPECT_EQ(wire_.requests.size(), 4u);
}

TEST_F(KubeClientTest, StrictWritesSayFieldsThatNobodyKnows) {
  wire_.ThenAnswer(200, "{}");
  wire_.ThenAnswer(200, "{}");
  ASSERT_TRUE(Run(client_.Create(kThings, {"ns", ""}, "{}", {.strict = true}, loop_.After(1s))));
  ASSERT_TRUE(Run(client_.Apply(kThings, key_, "{}", {.strict = true}, loop_.After(1s))));
  EXPECT_THAT(sent(0).target, ::testing::EndsWith("&fieldValidation=Strict"));
  EXPECT_THAT(sent(1).target, ::testing::EndsWith("&fieldValidation=Strict"));
}

TEST_F(KubeClientTest, WarningsAreLoggedOnceEach) {
  const net::Headers warnings{{"Warning", R"(299 - "v1beta1 is \"old\"")"}, {"warning", "299 - \"second\""}};
  wire_.ThenAnswer(200, "{}", Duration(0), warnings);
  wire_.ThenAnswer(409, StatusJson(409, "Conflict", "m"), Duration(0), warnings);
  capstan::testing::CapturedLog captured;
  EXPECT_TRUE(Apply());
  EXPECT_FALSE(Apply());
  const std::string& log = captured.Text();
  EXPECT_THAT(log, ::testing::HasSubstr(R"("call":"apply things ns/a","warning":"v1beta1 is \"old\"")"));
  EXPECT_THAT(log, ::testing::HasSubstr(R"("warning":"second")"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
}

TEST_F(KubeClientTest, AnEndlessVarietyOfWarningsDoesNotFillTheLog) {
  capstan::testing::CapturedLog captured;
  for (int i = 0; i < 200; ++i) {
    wire_.ThenAnswer(200, "{}", Duration(0), {{"Warning", "299 - \"" + std::to_string(i) + "\""}});
    EXPECT_TRUE(Apply());
  }
  const std::string& log = captured.Text();
  EXPECT_LT(std::ranges::count(log, '\n'), 100);
  EXPECT_THAT(log, ::testing::HasSubstr("further warnings"));
}

TEST_F(KubeClientTest, ErrorsTellWhatTheServerSaidAndOfWhichRequest) {
  wire_.ThenAnswer(422,
                   StatusJson(422, "Invalid", "m", R"({"causes":[{"reason":"R","field":"spec.a","message":"x"}]})"));
  const Result<std::string> refused = Patch();
  ASSERT_FALSE(refused);
  const FailedCall* call = FailedCallOf(refused.error());
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->status, 422);
  EXPECT_EQ(call->reason, "Invalid");
  EXPECT_EQ(call->causes, (std::vector<FailedCall::Cause>{{"R", "spec.a", "x"}}));
  EXPECT_EQ(call->request_id, Header("Audit-ID"));

  wire_.ThenFail(Error(Code::kUnknownOutcome, "cut"));
  const Result<std::string> lost = Patch();
  ASSERT_FALSE(lost);
  ASSERT_NE(FailedCallOf(lost.error()), nullptr);
  EXPECT_EQ(FailedCallOf(lost.error())->status, 0);
  EXPECT_EQ(FailedCallOf(lost.error())->request_id, Header("Audit-ID", 1)) << "what to look for in the audit log";
  EXPECT_EQ(FailedCallOf(Error(Code::kInternal, "another")), nullptr);
}

TEST_F(KubeClientTest, ACancelledCallStopsWhereverItIs) {
  const auto get = [](Client& client, Key key, async::Deadline deadline, bool& returned) -> async::Task<void> {
    co_await client.Get(kThings, key, {}, deadline);
    returned = true;
  };
  for (const Duration when : std::initializer_list<Duration>{0ms, 1s, 9s}) {
    const size_t asked = wire_.requests.size();
    wire_.ThenAnswer(429, StatusJson(429, "TooManyRequests", "slow down"), 500ms, {{"Retry-After", "5"}});
    wire_.ThenAnswer(200, "{}", 10s);
    bool returned = false;
    async::TaskGroup group(loop_);
    group.Spawn("get", get(client_, key_, loop_.After(1min), returned));
    loop_.Advance(when);
    group.Cancel();
    loop_.Advance(Duration(0));
    EXPECT_EQ(group.size(), 0u) << FormatDuration(when);
    EXPECT_FALSE(returned) << FormatDuration(when);
    loop_.Advance(1min);
    EXPECT_LE(wire_.requests.size() - asked, when == 9s ? 2u : 1u) << "nothing is asked afterwards";
    while (wire_.unused() > 0) Run(client_.OpenWatch(kThings, {}, loop_.After(1s)));
  }
}

TEST_F(KubeClientTest, CountsRequests) {
  wire_.ThenAnswer(200, "{}");
  wire_.ThenFail(Error(Code::kUnknownOutcome, "cut"));
  ASSERT_TRUE(Get());
  ASSERT_FALSE(Patch());
  const std::string text = metrics_.Exposition();
  EXPECT_THAT(text, ::testing::HasSubstr(R"(rest_client_requests_total{code="200",host="h:1",method="GET"} 1)"));
  EXPECT_THAT(text, ::testing::HasSubstr(R"(rest_client_requests_total{code="<error>",host="h:1",method="PATCH"} 1)"));
  EXPECT_THAT(text, ::testing::HasSubstr(R"(rest_client_request_duration_seconds_count{host="h:1",verb="GET"} 1)"));
}

TEST_F(KubeClientTest, AnAnswerThatMakesNoSenseIsNotAnObject) {
  wire_.ThenAnswer(200, "<html>");
  const Result<Thing> thing = Run(client_.Get<Thing>(kThings, key_, {}, loop_.After(1s)));
  ASSERT_FALSE(thing);
  EXPECT_EQ(thing.error().code(), Code::kInternal);
}

// --- errors.h -------------------------------------------------------------------------------------------

TEST(Errors, CodesFollowReasonAndStatus) {
  const struct {
    int status;
    std::string_view reason;
    Code read, write;
  } cases[] = {
      {400, "BadRequest", Code::kInvalid, Code::kInvalid},
      {401, "Unauthorized", Code::kUnauthenticated, Code::kUnauthenticated},
      {403, "Forbidden", Code::kForbidden, Code::kForbidden},
      {404, "NotFound", Code::kNotFound, Code::kNotFound},
      {405, "MethodNotAllowed", Code::kInvalid, Code::kInvalid},
      {409, "AlreadyExists", Code::kAlreadyExists, Code::kAlreadyExists},
      {409, "Conflict", Code::kConflict, Code::kConflict},
      {410, "Expired", Code::kGone, Code::kGone},
      {410, "Gone", Code::kGone, Code::kGone},
      {413, "RequestEntityTooLarge", Code::kInvalid, Code::kInvalid},
      {415, "UnsupportedMediaType", Code::kInvalid, Code::kInvalid},
      {422, "Invalid", Code::kInvalid, Code::kInvalid},
      {429, "TooManyRequests", Code::kThrottled, Code::kThrottled},
      {500, "InternalError", Code::kUnavailable, Code::kUnknownOutcome},
      {503, "ServiceUnavailable", Code::kUnavailable, Code::kUnavailable},
      {504, "Timeout", Code::kUnavailable, Code::kUnknownOutcome},
      {301, "", Code::kInternal, Code::kInternal},
  };
  for (const auto& c : cases) {
    const net::Response response{c.status, {}, StatusJson(c.status, c.reason, "m")};
    EXPECT_EQ(ErrorFromResponse(response, Effect::kRead).code(), c.read) << c.status << c.reason;
    EXPECT_EQ(ErrorFromResponse(response, Effect::kWrite).code(), c.write) << c.status << c.reason;
    EXPECT_EQ(ErrorFromResponse(response, Effect::kWrite).message(), "m");
  }
}

TEST(Errors, CausesAreAddedUnlessTheMessageSaysThem) {
  const std::string details =
      R"({"causes":[{"field":"spec.a","message":"must be 1"},{"field":"spec.b","message":"Required value"}]})";
  const net::Response response{
      422, {}, StatusJson(422, "Invalid", "Thing \"x\" is invalid: spec.b: Required value", details)};
  EXPECT_EQ(ErrorFromResponse(response, Effect::kWrite).message(),
            "Thing \"x\" is invalid: spec.b: Required value; spec.a: must be 1");
}

TEST(Errors, AnotherUidIsAConflict) {
  const std::string details =
      R"({"causes":[{"reason":"FieldValueInvalid","field":"metadata.uid","message":"field is immutable"}]})";
  const net::Response response{422, {}, StatusJson(422, "Invalid", "Thing is invalid", details)};
  EXPECT_EQ(ErrorFromResponse(response, Effect::kWrite).code(), Code::kConflict);
}

TEST(Errors, AFieldThatTheServerDoesNotKnowIsInvalidHoweverItSaysSo) {
  const std::string message = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .x: field not declared";
  const net::Response response{500, {}, StatusJson(500, "", message)};
  EXPECT_EQ(ErrorFromResponse(response, Effect::kWrite).code(), Code::kInvalid);
  EXPECT_EQ(ErrorFromResponse({500, {}, StatusJson(500, "", "etcd is away")}, Effect::kWrite).code(),
            Code::kUnknownOutcome);
}

TEST(Errors, AnswersOfOthersAreQuotedInPart) {
  EXPECT_EQ(ErrorFromResponse({502, {}, "Bad Gateway\n"}, Effect::kRead).message(), "HTTP status 502: Bad Gateway");
  EXPECT_EQ(ErrorFromResponse({502, {}, ""}, Effect::kRead).message(), "HTTP status 502");
  EXPECT_LT(ErrorFromResponse({502, {}, std::string(5000, 'x')}, Effect::kRead).message().size(), 300u);
}

TEST(Errors, RetryAfterComesFromHeaderOrDetails) {
  EXPECT_EQ(ErrorFromResponse({429, {{"retry-after", "3"}}, ""}, Effect::kRead).retry_after(), Duration(3s));
  EXPECT_EQ(ErrorFromResponse({429, {{"Retry-After", "-3"}}, ""}, Effect::kRead).retry_after(), std::nullopt);
  const std::string status = StatusJson(429, "TooManyRequests", "m", R"({"retryAfterSeconds":4})");
  EXPECT_EQ(ErrorFromResponse({429, {}, status}, Effect::kRead).retry_after(), Duration(4s));
  // A load balancer in maintenance once stopped a watch for a day.
  EXPECT_EQ(ErrorFromResponse({503, {{"Retry-After", "86399"}}, ""}, Effect::kRead).retry_after(), Duration(5min));
}

TEST(Errors, AnErrorEventIsReadByItsOwnCode) {
  EXPECT_EQ(ErrorFromStatus(StatusJson(410, "Expired", "too old")).code(), Code::kGone);
  EXPECT_EQ(ErrorFromStatus(StatusJson(500, "InternalError", "x")).code(), Code::kUnavailable);
  EXPECT_EQ(ErrorFromStatus("[]").code(), Code::kInternal);
}

}  // namespace
}  // namespace capstan::kube
