#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/testing/captured_log.h"
#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kThings;
using testing::StatusText;

constexpr std::string_view kCore =
    R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{},"versions":[
      {"version":"v1","freshness":"Current","resources":[
        {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","verbs":["get","list"],
         "subresources":[{"subresource":"status","verbs":["get"]},{"subresource":"log","responseKind":null,"verbs":["get"]}]},
        {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["get"]}]}]}]})";

// The group of kThings, and one whose server is down.
std::string Groups(std::string_view freshness, std::string_view things = R"({"resource":"things",
    "responseKind":{"kind":"Thing"},"scope":"Namespaced","verbs":["get"]})") {
  return R"({"kind":"APIGroupDiscoveryList","items":[
    {"metadata":{"name":"test.capstan"},"versions":[
      {"version":"v2","freshness":"Current","resources":[{"resource":"others","responseKind":{"kind":"Other"}}]},
      {"version":"v1","freshness":"Current","resources":[)" +
         std::string(things) + R"(]}]},
    {"metadata":{"name":"far.example"},"versions":[{"version":"v1","resources":[],"freshness":")" +
         std::string(freshness) + R"("}]}]})";
}

constexpr Resource kFar{"far.example", "v1", "fars", "Far", true};
constexpr Resource kOther{"test.capstan", "v2", "others", "Other", true};

class DiscoveryTest : public ::testing::Test {
 protected:
  void ThenServe(std::string groups, std::string_view etag = "") {
    wire_.ThenAnswer(200, std::string(kCore), Duration(0), {{"ETag", etag.empty() ? "" : "\"core\""}});
    wire_.ThenAnswer(200, std::move(groups), Duration(0), {{"ETag", std::string(etag)}});
  }
  Result<void> Look() { return testing::RunVirtual(loop_, discovery_.Look(loop_.After(60s))); }
  Served Has(const Resource& resource, std::string_view sub = {}) { return discovery_.served().Has(resource, sub); }

  async::VirtualLoop loop_;
  testing::ScriptedTransport wire_{loop_};
  Client client_{loop_, wire_, {.tries = 1}};
  Discovery discovery_{loop_, client_, {}};
};

TEST_F(DiscoveryTest, BeforeTheFirstLookNothingIsKnown) {
  EXPECT_EQ(Has(kPods), Served::kUnknown);
  EXPECT_FALSE(discovery_.served().known());
  EXPECT_THAT(discovery_.served().VersionsOf("", "Pod"), ElementsAre());
}

TEST_F(DiscoveryTest, TwoRequestsSayEverything) {
  ThenServe(Groups("Current"));
  ASSERT_TRUE(Look());
  EXPECT_EQ(wire_.requests.size(), 2u);
  EXPECT_EQ(wire_.requests[0].target, "/api");
  EXPECT_EQ(wire_.requests[1].target, "/apis");
  EXPECT_THAT(std::string(net::Find(wire_.requests[1].headers, "Accept")), HasSubstr("as=APIGroupDiscoveryList"));
  EXPECT_EQ(Has(kPods), Served::kYes);
  EXPECT_EQ(Has(kPods, "log"), Served::kYes);
  EXPECT_EQ(Has(kPods, "scale"), Served::kNo);
  EXPECT_EQ(Has(kThings), Served::kYes);
  EXPECT_EQ(Has(kLeases), Served::kNo) << "the group is not there";
  EXPECT_EQ(Has(kSecrets), Served::kNo) << "its version is, the resource is not";
  const ServedResource* pods = discovery_.served().Find(kPods);
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_TRUE(pods->namespaced);
  EXPECT_THAT(pods->verbs, ElementsAre("get", "list"));
  EXPECT_FALSE(discovery_.served().Find(kNodes)->namespaced);
}

TEST_F(DiscoveryTest, TheServersOrderOfVersionsIsKept) {
  ThenServe(Groups("Current", R"({"resource":"things","responseKind":{"kind":"Other"}})"));
  ASSERT_TRUE(Look());
  EXPECT_THAT(discovery_.served().VersionsOf("test.capstan", "Other"), ElementsAre("v2", "v1"));
  EXPECT_THAT(discovery_.served().VersionsOf("test.capstan", "Thing"), ElementsAre());
}

TEST_F(DiscoveryTest, AnApiWhoseServerIsDownIsUnknownAndHarmsNobodyElse) {
  ThenServe(Groups("Stale"));
  capstan::testing::CapturedLog log;
  ASSERT_TRUE(Look());
  EXPECT_THAT(log.Text(), HasSubstr("\"group_version\":\"far.example/v1\""));
  EXPECT_EQ(Has(kFar), Served::kUnknown);
  EXPECT_EQ(Has(kThings), Served::kYes);
  ASSERT_TRUE(discovery_.served().groups()[2].versions[0].error);
  ThenServe(Groups("Current"));
  ASSERT_TRUE(Look());
  EXPECT_EQ(Has(kFar), Served::kNo) << "it answers again, and has no such thing";
}

TEST_F(DiscoveryTest, WhatHasNotChangedIsNotSentAgain) {
  ThenServe(Groups("Current"), "\"a\"");
  ASSERT_TRUE(Look());
  int changes = 0;
  discovery_.OnChange([&] { ++changes; });
  wire_.ThenAnswer(304, "");
  wire_.ThenAnswer(304, "");
  ASSERT_TRUE(Look());
  EXPECT_EQ(net::Find(wire_.requests[3].headers, "If-None-Match"), "\"a\"");
  EXPECT_EQ(Has(kThings), Served::kYes);
  EXPECT_EQ(changes, 0);
  wire_.ThenAnswer(304, "");
  wire_.ThenAnswer(200, Groups("Current", ""));
  ASSERT_TRUE(Look());
  EXPECT_EQ(Has(kThings), Served::kNo);
  EXPECT_EQ(Has(kPods), Served::kYes);
  EXPECT_EQ(changes, 1);
}

TEST_F(DiscoveryTest, AFailedLookLeavesWhatWasKnown) {
  ThenServe(Groups("Current"));
  ASSERT_TRUE(Look());
  wire_.ThenFail(Error(Code::kUnavailable, "refused"));
  EXPECT_FALSE(Look());
  wire_.ThenAnswer(200, std::string(kCore));
  wire_.ThenAnswer(200, R"({"kind":"Pod"})");
  const Result<void> senseless = Look();
  ASSERT_FALSE(senseless);
  EXPECT_THAT(senseless.error().message(), HasSubstr("/apis: kind is \"Pod\", must be APIGroupDiscoveryList"));
  EXPECT_EQ(Has(kThings), Served::kYes);
}

TEST_F(DiscoveryTest, AnOlderServerIsAskedVersionByVersion) {
  wire_.ThenAnswer(200, R"({"kind":"APIVersions","versions":["v1"]})", Duration(0), {{"ETag", "\"e\""}});
  wire_.ThenAnswer(200, R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
      {"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["get"]},
      {"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]})");
  wire_.ThenAnswer(200, R"({"kind":"APIGroupList","groups":[
      {"name":"test.capstan","versions":[{"groupVersion":"test.capstan/v1","version":"v1"},{"version":"v2"}],
       "preferredVersion":{"version":"v2"}},
      {"name":"far.example","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]})");
  wire_.ThenAnswer(200, R"({"kind":"APIResourceList","resources":[{"name":"others","kind":"Other"}]})");
  wire_.ThenAnswer(200, R"({"kind":"APIResourceList","resources":[{"name":"things","kind":"Thing"}]})");
  wire_.ThenAnswer(503, "error trying to reach service: connection refused");
  ASSERT_TRUE(Look());
  std::vector<std::string> asked;
  for (const net::Request& request : wire_.requests) asked.push_back(request.target);
  EXPECT_THAT(asked, ElementsAre("/api", "/api/v1", "/apis", "/apis/test.capstan/v2", "/apis/test.capstan/v1",
                                 "/apis/far.example/v1"));
  EXPECT_EQ(Has(kPods, "log"), Served::kYes);
  EXPECT_EQ(Has(kThings), Served::kYes);
  EXPECT_EQ(Has(kOther), Served::kYes);
  EXPECT_EQ(Has(kFar), Served::kUnknown);
  EXPECT_THAT(discovery_.served().groups()[2].versions[0].error->message(), HasSubstr("connection refused"));

  wire_.ThenAnswer(304, "");
  EXPECT_FALSE(Look()) << "a list of names may stay the same while their content changes: it is not asked like that";
}

TEST_F(DiscoveryTest, LooksAgainAndAgainAndSoonerWhileSomethingIsUnknown) {
  async::TaskGroup group(loop_);
  capstan::testing::CapturedLog captured;
  ThenServe(Groups("Stale"));
  group.Spawn("discovery", discovery_.Run());
  loop_.Advance(Duration(0));
  EXPECT_EQ(Has(kFar), Served::kUnknown);
  ThenServe(Groups("Current"));
  loop_.Advance(20s);
  EXPECT_EQ(Has(kFar), Served::kNo);
  const size_t asked = wire_.requests.size();
  loop_.Advance(45s);
  EXPECT_EQ(wire_.requests.size(), asked) << "all is known: there is no hurry";
  loop_.Advance(5min);  // refused each time
  discovery_.AskSoon();
  ThenServe(Groups("Current", ""));
  loop_.Advance(Duration(0));
  EXPECT_EQ(Has(kThings), Served::kNo);
  group.Cancel();
  loop_.Advance(Duration(0));
  EXPECT_EQ(group.size(), 0u);
  const std::string& log = captured.Text();
  EXPECT_THAT(log, HasSubstr("discovery failed"));
  EXPECT_EQ(log.find("discovery failed"), log.rfind("discovery failed")) << "logged once: " << log;
}

}  // namespace
}  // namespace capstan::kube
