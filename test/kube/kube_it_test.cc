// The Kubernetes client against a real API server: every verb, every patch type, and what the server does
// that no fake would have thought of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "api_test.h"
#include "kube/watch_event.h"

namespace capstan::kube {
namespace {

using testing::Apiserver;
using testing::ApiTest;
using testing::ConfigMap;
using testing::ConfigMapJson;
using ::testing::HasSubstr;
using testing::kPodSpec;
using testing::RealApiserver;
using ::testing::StartsWith;

TEST_F(ApiTest, AnObjectLivesAndDies) {
  const ConfigMap created = Created("a", R"({"k":"1"})");
  EXPECT_NE(created.metadata.uid, "");
  ExpectCode(Run(client().Create(kConfigMaps, {ns_, ""}, ConfigMapJson("a"), {}, Soon())), Code::kAlreadyExists);
  EXPECT_EQ(Get("a")->data.at("k"), "1");

  const std::string stale = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"}})";
  ExpectCode(Run(client().Replace(kConfigMaps, KeyOf("a"), stale, {}, Soon())), Code::kConflict);
  const std::string fresh = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":")" +
                            created.metadata.resource_version + R"("},"data":{"k":"2"}})";
  const Result<ConfigMap> replaced = Run(client().Replace<ConfigMap>(kConfigMaps, KeyOf("a"), fresh, {}, Soon()));
  ASSERT_TRUE(replaced) << replaced.error().message();
  EXPECT_EQ(replaced->data.at("k"), "2");

  ExpectCode(Run(client().Delete(kConfigMaps, KeyOf("a"), {.uid = "another"}, Soon())), Code::kConflict);
  ExpectCode(
      Run(client().Delete(kConfigMaps, KeyOf("a"), {.resource_version = created.metadata.resource_version}, Soon())),
      Code::kConflict);
  ASSERT_TRUE(Run(client().Delete(kConfigMaps, KeyOf("a"), {.uid = created.metadata.uid}, Soon())));
  const Result<ConfigMap> gone = Get("a");
  ExpectCode(gone, Code::kNotFound);
  EXPECT_EQ(gone.error().message(), "get configmaps " + ns_ + "/a: configmaps \"a\" not found");
  ExpectCode(Run(client().Delete(kConfigMaps, KeyOf("a"), {}, Soon())), Code::kNotFound);
}

TEST_F(ApiTest, WhatIsWrongIsSaidInTheServersWords) {
  const Result<std::string> bad = Run(client().Create(kConfigMaps, {ns_, ""}, ConfigMapJson("Not_A_Name"), {}, Soon()));
  ExpectCode(bad, Code::kInvalid);
  EXPECT_THAT(bad.error().message(), HasSubstr("metadata.name: Invalid value: \"Not_A_Name\""));
  ExpectCode(Run(client().Create(kConfigMaps, {ns_, ""}, "{", {}, Soon())), Code::kInvalid);
  ExpectCode(Run(client().Create(kConfigMaps, {"no-such-namespace", ""}, ConfigMapJson("a"), {}, Soon())),
             Code::kNotFound);
  constexpr Resource kNothing{"nothing.example", "v1", "nothings", "Nothing", true};
  ExpectCode(Run(client().List(kNothing, {.ns = ns_}, Soon())), Code::kNotFound);
}

TEST_F(ApiTest, ADryRunChangesNothing) {
  ASSERT_TRUE(Run(client().Create(kConfigMaps, {ns_, ""}, ConfigMapJson("dry"), {.dry_run = true}, Soon())));
  ExpectCode(Get("dry"), Code::kNotFound);
}

TEST_F(ApiTest, ListsComePageByPage) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Created(name);
  std::vector<std::string> names;
  ListOptions options{.ns = ns_, .label_selector = "part=it", .limit = 2};
  int pages = 0;
  do {
    const Result<Page<ConfigMap>> page = Run(client().List<ConfigMap>(kConfigMaps, options, Soon()));
    ASSERT_TRUE(page) << page.error().message();
    for (const ConfigMap& item : page->items) names.push_back(item.metadata.name);
    options.continue_token = page->metadata.continue_token;
    ++pages;
  } while (!options.continue_token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(pages, 3);
  const Result<Page<ConfigMap>> one =
      Run(client().List<ConfigMap>(kConfigMaps, {.ns = ns_, .field_selector = "metadata.name=c"}, Soon()));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->items.size(), 1u);
  ExpectCode(Run(client().List(kConfigMaps, {.ns = ns_, .label_selector = "((("}, Soon())), Code::kInvalid);
}

TEST_F(ApiTest, MetadataOnlyLeavesTheRestOut) {
  Created("a", R"({"k":"secret"})");
  const Result<std::string> one = Run(client().Get(kConfigMaps, KeyOf("a"), {.metadata_only = true}, Soon()));
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_THAT(*one, HasSubstr("\"kind\":\"PartialObjectMetadata\""));
  EXPECT_EQ(one->find("secret"), std::string::npos);
  const Result<std::string> list = Run(client().List(kConfigMaps, {.ns = ns_, .metadata_only = true}, Soon()));
  ASSERT_TRUE(list);
  EXPECT_THAT(*list, HasSubstr("PartialObjectMetadataList"));
  EXPECT_EQ(list->find("secret"), std::string::npos);
}

TEST_F(ApiTest, EveryPatchTypeDoesWhatItSays) {
  Created("a", R"({"k":"1","gone":"x"})");
  const auto patch = [&](PatchType type, std::string text) {
    return Run(client().Patch<ConfigMap>(kConfigMaps, KeyOf("a"), type, std::move(text), {}, Soon()));
  };
  const Result<ConfigMap> merged = patch(PatchType::kMerge, R"({"data":{"k":"2","gone":null}})");
  ASSERT_TRUE(merged) << merged.error().message();
  EXPECT_EQ(merged->data, (std::map<std::string, std::string>{{"k", "2"}}));
  const Result<ConfigMap> json =
      patch(PatchType::kJson,
            R"([{"op":"test","path":"/data/k","value":"2"},{"op":"replace","path":"/data/k","value":"3"}])");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(json->data.at("k"), "3");
  ExpectCode(
      patch(PatchType::kJson, R"([{"op":"test","path":"/data/k","value":"2"},{"op":"remove","path":"/data/k"}])"),
      Code::kInvalid);
  const Result<ConfigMap> strategic =
      patch(PatchType::kStrategic, R"({"metadata":{"labels":{"more":"yes"}},"data":{"k":"4"}})");
  ASSERT_TRUE(strategic) << strategic.error().message();
  EXPECT_EQ(strategic->data.at("k"), "4");
  ExpectCode(patch(PatchType::kMerge, R"({"metadata":{"uid":"another"}})"), Code::kConflict);
}

// As the operator holds a NodeSet, and lets go of it.
TEST_F(ApiTest, AFinalizerHoldsAnObjectUntilItsVersionIsLetGo) {
  const auto finalizers = [this](const ConfigMap& seen, const std::string& list) {
    const std::string patch = R"({"metadata":{"uid":")" + seen.metadata.uid + R"(","resourceVersion":")" +
                              seen.metadata.resource_version + R"(","finalizers":)" + list + "}}";
    return Run(client().Patch<ConfigMap>(kConfigMaps, KeyOf("a"), PatchType::kMerge, patch, {}, Soon()));
  };
  const ConfigMap created = Created("a");
  ASSERT_TRUE(finalizers(created, R"(["example.com/drain"])"));
  ExpectCode(finalizers(created, "[]"), Code::kConflict);
  ASSERT_TRUE(Run(client().Delete(kConfigMaps, KeyOf("a"), {.propagation = Propagation::kOrphan}, Soon())));
  const auto deleting = Run(client().Get(kConfigMaps, KeyOf("a"), {}, Soon()));
  ASSERT_TRUE(deleting);
  EXPECT_THAT(*deleting, HasSubstr(R"("finalizers":["example.com/drain","orphan"])"));
  const auto seen = Get("a");
  ASSERT_TRUE(seen);
  EXPECT_NE(seen->metadata.deletion_timestamp, "");
  ASSERT_TRUE(finalizers(*seen, "[]"));
  ExpectCode(Get("a"), Code::kNotFound);
}

TEST_F(ApiTest, ApplyOwnsExactlyWhatItNames) {
  const Result<ConfigMap> first = Apply("a", R"({"k":"1","mine":"x"})", {.field_manager = "one"});
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_EQ(first->metadata.managed_fields.size(), 1u);
  EXPECT_EQ(first->metadata.managed_fields[0].manager, "one");
  EXPECT_EQ(first->metadata.managed_fields[0].operation, "Apply");

  EXPECT_EQ(Apply("a", R"({"k":"1","mine":"x"})", {.field_manager = "one"})->metadata.resource_version,
            first->metadata.resource_version)
      << "the same again is no change";
  const Result<ConfigMap> refused = Apply("a", R"({"k":"2"})", {.field_manager = "two", .force = false});
  ExpectCode(refused, Code::kConflict);
  EXPECT_THAT(refused.error().message(), HasSubstr("\"one\""));
  const Result<ConfigMap> forced = Apply("a", R"({"k":"2"})", {.field_manager = "two"});
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->data.at("k"), "2");
  const Result<ConfigMap> dropped = Apply("a", R"({})", {.field_manager = "one"});
  ASSERT_TRUE(dropped) << dropped.error().message();
  EXPECT_EQ(dropped->data, (std::map<std::string, std::string>{{"k", "2"}}))
      << "what one owned alone is gone, what two took stays";
}

TEST_F(ApiTest, StatusAndScaleAreApart) {
  const std::string spec =
      R"({"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":)" +
      std::string(kPodSpec) + "}}";
  const std::string object =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":)" + spec + "}";
  ASSERT_TRUE(Run(client().Apply(kDeployments, KeyOf("d"), object, {}, Soon())));
  const Result<std::string> status = Run(client().Apply(
      kDeployments, KeyOf("d"),
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":9},"status":{"observedGeneration":7}})",
      {.subresource = "status", .field_manager = "status-writer"}, Soon()));
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_THAT(*status, HasSubstr("\"observedGeneration\":7"));
  EXPECT_THAT(*status, HasSubstr("\"replicas\":1"));
  ASSERT_TRUE(Run(client().Patch(kDeployments, KeyOf("d"), PatchType::kMerge, R"({"spec":{"replicas":3}})",
                                 {.subresource = "scale"}, Soon())));
  EXPECT_EQ(Run(client().Get<ConfigMap>(kDeployments, KeyOf("d"), {.subresource = "scale"}, Soon()))->spec.replicas, 3);
  EXPECT_EQ(Run(client().Get<ConfigMap>(kDeployments, KeyOf("d"), {}, Soon()))->spec.replicas, 3);
}

TEST_F(ApiTest, EvictionHeedsTheBudget) {
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"p"}},"spec":)" +
                          std::string(kPodSpec) + "}";
  ASSERT_TRUE(Run(client().Create(kPods, {ns_, ""}, pod, {}, Soon())));
  const std::string binding =
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"apiVersion":"v1","kind":"Node","name":"n"}})";
  const Result<std::string> bound =
      Run(client().Create(kPods, KeyOf("p"), binding, {.subresource = "binding"}, Soon()));
  ASSERT_TRUE(bound) << bound.error().message();
  const std::string running = R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";
  ASSERT_TRUE(Run(client().Patch(kPods, KeyOf("p"), PatchType::kMerge, running, {.subresource = "status"}, Soon())));
  const std::string budget =
      R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"p"}}}})";
  ASSERT_TRUE(Run(client().Create(kPodDisruptionBudgets, {ns_, ""}, budget, {}, Soon())));
  const Result<void> refused = Run(client().Evict(KeyOf("p"), {}, Soon()));
  ExpectCode(refused, Code::kThrottled);
  EXPECT_TRUE(IsBudgetsRefusal(refused.error()));
  ASSERT_TRUE(Run(client().Delete(kPodDisruptionBudgets, KeyOf("b"), {}, Soon())));
  const Result<void> evicted = Run(client().Evict(KeyOf("p"), {}, Soon()));
  EXPECT_TRUE(evicted) << evicted.error().message();
}

TEST_F(ApiTest, DeleteCollectionTakesWhatIsSelected) {
  Created("a");
  const std::string other = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"}})";
  ASSERT_TRUE(Run(client().Create(kConfigMaps, {ns_, ""}, other, {}, Soon())));
  ASSERT_TRUE(Run(client().DeleteCollection(kConfigMaps, {.ns = ns_, .label_selector = "part=it"}, {}, Soon())));
  ExpectCode(Get("a"), Code::kNotFound);
  EXPECT_TRUE(Get("other"));
}

TEST_F(ApiTest, PathsThatAreNoObjectsAreRead) {
  EXPECT_THAT(*Run(client().GetPath("/version", Soon())), HasSubstr("gitVersion"));
  EXPECT_THAT(*Run(client().GetPath("/apis/apps/v1", Soon())), HasSubstr("statefulsets"));
}

// --- Watches --------------------------------------------------------------------------------------------

class WatchTest : public ApiTest {
 protected:
  Result<std::unique_ptr<net::BodyStream>> Open(WatchOptions options) {
    options.ns = ns_;
    return Run(client().OpenWatch(kConfigMaps, std::move(options), Soon()));
  }
  // The next line that `stream` brings; "" at its end.
  std::string Line(net::BodyStream& stream) {
    while (pending_.find('\n') == pending_.npos) {
      std::string buffer(1000, '\0');
      const Result<size_t> got = Run(stream.Read(buffer, loop_.After(10s)));
      EXPECT_TRUE(got) << got.error().message();
      if (!got || *got == 0) return std::exchange(pending_, "");
      pending_ += buffer.substr(0, *got);
    }
    const size_t end = pending_.find('\n');
    std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return line;
  }
  std::string pending_;
};

TEST_F(WatchTest, StreamsTheListThenTheChanges) {
  Created("a");
  auto stream = Open({.label_selector = "part=it", .send_initial_events = true});
  ASSERT_TRUE(stream) << stream.error().message();
  const std::string first = Line(**stream);
  EXPECT_THAT(first, StartsWith(R"({"type":"ADDED")"));
  EXPECT_THAT(first, HasSubstr(R"("name":"a")"));
  const std::string mark = Line(**stream);
  EXPECT_THAT(mark, StartsWith(R"({"type":"BOOKMARK")"));
  EXPECT_THAT(mark, HasSubstr(R"("k8s.io/initial-events-end":"true")"));
  Created("b");
  EXPECT_THAT(Line(**stream), HasSubstr(R"("name":"b")"));
  ASSERT_TRUE(Run(client().Delete(kConfigMaps, KeyOf("a"), {}, Soon())));
  EXPECT_THAT(Line(**stream), StartsWith(R"({"type":"DELETED")"));
}

TEST_F(WatchTest, MetadataOnlyEventsCarryNoData) {
  Created("a", R"({"k":"secret"})");
  auto stream = Open({.label_selector = "part=it", .send_initial_events = true, .metadata_only = true});
  ASSERT_TRUE(stream) << stream.error().message();
  const std::string first = Line(**stream);
  EXPECT_THAT(first, HasSubstr("PartialObjectMetadata"));
  EXPECT_EQ(first.find("secret"), std::string::npos);
}

// An object that comes to fit a field selector is ADDED to the watch, and one that fits no longer is DELETED.
TEST_F(WatchTest, CordonedNodesAreSelectedByTheirField) {
  const auto create = [this](const std::string& name, bool cordoned) {
    const std::string spec = cordoned ? R"(,"spec":{"unschedulable":true})" : "";
    const std::string node = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name + R"("})" + spec + "}";
    ASSERT_TRUE(Run(client().Create(kNodes, {}, node, {}, Soon())));
  };
  const auto cordon = [this](const std::string& name, const std::string& value) {
    const std::string patch = R"({"spec":{"unschedulable":)" + value + "}}";
    ASSERT_TRUE(Run(client().Patch(kNodes, {"", name}, PatchType::kMerge, patch, {}, Soon())));
  };
  create("plain", false);
  create("cordoned", true);
  auto stream = Run(
      client().OpenWatch(kNodes, {.field_selector = "spec.unschedulable=true", .send_initial_events = true}, Soon()));
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(Line(**stream), HasSubstr(R"("name":"cordoned")"));
  EXPECT_THAT(Line(**stream), StartsWith(R"({"type":"BOOKMARK")"));
  cordon("plain", "true");
  EXPECT_THAT(Line(**stream), StartsWith(R"({"type":"ADDED")"));
  cordon("cordoned", "null");
  EXPECT_THAT(Line(**stream), StartsWith(R"({"type":"DELETED")"));
}

TEST_F(WatchTest, ABookmarkTellsAQuietWatchHowFarTheServerIs) {
  auto stream = Open({.label_selector = "part=nothing", .send_initial_events = true, .timeout = 5s});
  ASSERT_TRUE(stream);
  EXPECT_THAT(Line(**stream), HasSubstr("initial-events-end"));
  const ConfigMap other = Created("a");  // not selected
  const std::string mark = Line(**stream);
  EXPECT_THAT(mark, StartsWith(R"({"type":"BOOKMARK")"));
  const auto event = json::Decode<WatchLine<ConfigMap>>(mark);
  ASSERT_TRUE(event) << event.error().message();
  EXPECT_GE(std::stoull(event->object.metadata.resource_version), std::stoull(other.metadata.resource_version));
}

TEST_F(WatchTest, TheServersTimeoutIsAnOrderlyEnd) {
  auto stream = Open({.send_initial_events = true, .timeout = 1s});
  ASSERT_TRUE(stream);
  const size_t dialled = admin_->http.dialled();
  while (!Line(**stream).empty()) {
  }
  stream->reset();
  ExpectCode(Get("nothing"), Code::kNotFound);
  EXPECT_EQ(admin_->http.dialled(), dialled) << "the connection is used again";
}

TEST_F(WatchTest, ATooOldVersionIsGone) {
  const ConfigMap created = Created("a");
  Created("b");
  ASSERT_TRUE(Apiserver().CompactEtcd());
  Apiserver().StopApiserver();  // its cache would still know
  ASSERT_TRUE(Apiserver().StartApiserver());
  ExpectCode(Run(client().List(
                 kConfigMaps,
                 {.ns = ns_, .resource_version = created.metadata.resource_version, .resource_version_match = "Exact"},
                 Soon())),
             Code::kGone);
  auto stream = Open({.resource_version = created.metadata.resource_version});
  if (stream) {  // the refusal may be the answer, or the first event
    const std::string line = Line(**stream);
    EXPECT_THAT(line, StartsWith(R"({"type":"ERROR","object":)"));
    EXPECT_EQ(Name(ErrorFromStatus(line.substr(line.find("object") + 8, line.size() - line.find("object") - 9)).code()),
              Name(Code::kGone))
        << line;
  } else {
    ExpectCode(stream, Code::kGone);
  }
}

TEST_F(WatchTest, ARestartedServerIsFoundAgain) {
  auto stream = Open({.send_initial_events = true});
  ASSERT_TRUE(stream);
  Line(**stream);
  Apiserver().StopApiserver(true);
  std::string buffer(1000, '\0');
  Result<size_t> got = Run((*stream)->Read(buffer, loop_.After(5s)));
  while (got && *got > 0) got = Run((*stream)->Read(buffer, loop_.After(5s)));
  ExpectCode(got, Code::kUnavailable);
  ExpectCode(Run(client().Create(kConfigMaps, {ns_, ""}, ConfigMapJson("x"), {}, loop_.After(1s))), Code::kUnavailable);
  const Result<void> back = Apiserver().StartApiserver();
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(Created("x").metadata.uid != "");
}

// --- Who we are -----------------------------------------------------------------------------------------

TEST_F(ApiTest, TokensAndCertificatesSayWhoWeAre) {
  const auto with_token = Connected(Apiserver().WithToken(RealApiserver::kKnownToken));
  const std::string review = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})";
  constexpr Resource kReviews{"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", false};
  const Result<std::string> me = Run(with_token->client.Create(kReviews, {}, review, {}, Soon()));
  ASSERT_TRUE(me) << me.error().message();
  EXPECT_THAT(*me, HasSubstr("\"username\":\"token-user\""));
  const auto with_certificate = Connected(Apiserver().User("somebody", "group-1"));
  const Result<std::string> other = Run(with_certificate->client.Create(kReviews, {}, review, {}, Soon()));
  ASSERT_TRUE(other) << other.error().message();
  EXPECT_THAT(*other, HasSubstr("\"username\":\"somebody\""));
  EXPECT_THAT(*other, HasSubstr("group-1"));
}

TEST_F(ApiTest, AWrongTokenIsNotAccepted) {
  const auto wrong = Connected(Apiserver().WithToken("wrong"));
  ExpectCode(Run(wrong->client.Get(kConfigMaps, KeyOf("a"), {}, Soon())), Code::kUnauthenticated);
}

TEST_F(ApiTest, RbacDenialSaysWhatIsMissing) {
  const auto nobody = Connected(Apiserver().User("nobody-special"));
  const Result<std::string> denied = Run(nobody->client.Get(kConfigMaps, KeyOf("a"), {}, Soon()));
  ExpectCode(denied, Code::kForbidden);
  EXPECT_THAT(denied.error().message(), HasSubstr("User \"nobody-special\" cannot get resource \"configmaps\""));
  const auto watch = Run(nobody->client.OpenWatch(kConfigMaps, {.ns = ns_}, Soon()));
  ExpectCode(watch, Code::kForbidden);
}

TEST_F(ApiTest, ATokenFileThatRotatesIsFollowed) {
  const std::string path = Apiserver().folder() + "/rotating-token";
  std::ofstream(path) << "expired";
  const std::string kubeconfig = Apiserver().folder() + "/rotating.kubeconfig";
  std::ofstream(kubeconfig)
      << "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, "
         "cluster: {server: '"
      << Apiserver().endpoint().ToString()
      << "', certificate-authority: ca.crt}}]\nusers: [{name: u, user: {tokenFile: rotating-token}}]\n";
  const Result<Config> config = LoadConfig({.kubeconfig = kubeconfig});
  ASSERT_TRUE(config) << config.error().message();
  const auto rotating = Connected(*config);
  ExpectCode(Run(rotating->client.Get(kConfigMaps, KeyOf("a"), {}, Soon())), Code::kUnauthenticated);
  std::ofstream(path) << RealApiserver::kKnownToken;
  ExpectCode(Run(rotating->client.Get(kConfigMaps, KeyOf("a"), {}, Soon())), Code::kForbidden);
}

TEST_F(ApiTest, AKubeconfigFileIsEnough) {
  const Result<Config> config = LoadConfig({.kubeconfig = Apiserver().WriteKubeconfig()});
  ASSERT_TRUE(config) << config.error().message();
  const auto connection = Connected(*config);
  EXPECT_TRUE(Run(connection->client.GetPath("/readyz", Soon())));
}

TEST_F(ApiTest, RequestsCarryAnIdThatTheAuditLogKnows) {
  Created("audited");
  std::ifstream file(Apiserver().audit_log());
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"" + ns_ + "\"") != line.npos && line.find("\"configmaps\"") != line.npos) found = line;
  }
  EXPECT_THAT(found, HasSubstr("\"auditID\":\"capstan-"));
  EXPECT_THAT(found, HasSubstr("\"userAgent\":\"capstan/"));
}

TEST_F(ApiTest, ManyCallsAtOnceShareFewConnections) {
  auto one = [](Client& client, Key key, async::Deadline deadline, int& done) -> async::Task<void> {
    const Result<std::string> applied = co_await client.Apply(kConfigMaps, key, ConfigMapJson(key.name), {}, deadline);
    EXPECT_TRUE(applied) << applied.error().message();
    done += applied.has_value();
  };
  auto all = [](async::TaskGroup& group) -> async::Task<bool> {
    co_await group.Join();
    co_return true;
  };
  int done = 0;
  async::TaskGroup group(loop_);
  for (int i = 0; i < 100; ++i) group.Spawn("apply", one(client(), KeyOf("m" + std::to_string(i)), Soon(), done));
  Run(all(group));
  EXPECT_EQ(done, 100);
  EXPECT_LE(admin_->http.dialled(), 8u);
}

}  // namespace
}  // namespace capstan::kube
