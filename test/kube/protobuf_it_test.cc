// The tables that know protobuf numbers, against the real API server: what it says in protobuf is what it says in JSON,
// with every field of the table set.
#include <gmock/gmock.h>

#include <set>

#include "api_test.h"
#include "async/task_group.h"
#include "kube/feed.h"
#include "kube/store.h"
#include "kube/watch.h"
#include "operator/objects.h"
#include "runtime/objects.h"

namespace capstan::kube::testing {
namespace {

using ::testing::IsEmpty;

// Rows of tables that no value has set: "metadata.generation". An element of a list or map stands for all of it.
class Unset {
 public:
  static std::set<std::string> Of(const json::Type& type, const void* value) {
    Unset unset;
    unset.Look(type, value, "");
    std::set<std::string> never;
    for (const std::string& row : unset.rows_) {
      if (!unset.set_.contains(row)) never.insert(row);
    }
    return never;
  }

 private:
  struct Element {
    Unset& self;
    const json::Type& type;
    const std::string& path;
  };
  void Look(const json::Type& type, const void* value, const std::string& path) {
    if (type.element != nullptr) {
      Element context{*this, *type.element, path};
      type.each(
          value,
          [](void* context, std::string_view, const void* element) {
            const auto& in = *static_cast<Element*>(context);
            in.self.Look(in.type, element, in.path);
          },
          &context);
    }
    if (type.kind != json::Kind::kObject) return;
    for (const json::Member& member : type.schema().members()) {
      const std::string row = path.empty() ? member.name() : path + "." + member.name();
      rows_.insert(row);
      const bool digest = member.type().kind == json::Kind::kDigest;
      const bool set = digest ? static_cast<const json::Digest*>(member.at(value))->value != 0
                              : !json::IsUnset(member.type(), member.at(value));
      if (set) set_.insert(row);
      Look(member.type(), member.at(value), row);
    }
  }
  std::set<std::string> rows_, set_;
};

class ProtobufItTest : public ApiTest {
 protected:
  // The one object of that name, read as a list in JSON and in protobuf.
  template <class T>
  std::pair<T, T> Both(const Resource& resource, const std::string& name) {
    return {Listed<T>(resource, name, false), Listed<T>(resource, name, true)};
  }
  template <class T>
  T Listed(const Resource& resource, const std::string& name, bool protobuf) {
    const ListOptions options{
        .ns = resource.namespaced ? ns_ : "", .field_selector = "metadata.name=" + name, .protobuf = protobuf};
    const Result<std::string> text = Run(client().List(resource, options, Soon()));
    EXPECT_TRUE(text) << text.error().message();
    if (!text) return {};
    EXPECT_EQ(IsProtobufBody(*text), protobuf);
    Store<T> store("objects");
    EXPECT_TRUE(store.ReadsProtobuf());
    Feed& feed = store.AddFeed("");
    feed.BeginList();
    const Result<PageInfo> page = feed.TakePage(*text);
    EXPECT_TRUE(page) << page.error().message();
    if (!page) return {};
    feed.EndList(page->version, Tick());
    EXPECT_EQ(store.size(), 1u);
    EXPECT_EQ(store.counts().undecodable, 0u);
    return store.empty() ? T() : store.All()[0];
  }
  static bool IsProtobufBody(std::string_view text) { return text.starts_with("k8s"); }

  template <class T>
  static std::set<std::string> NotSet(const T& value) {
    return Unset::Of(json::kType<T>, &value);
  }

  // A pod with everything set that any of our tables names, on its way out; its name.
  std::string MakePod() {
    const std::string created = Create(kPods, {ns_, ""}, R"({"apiVersion":"v1","kind":"Pod","metadata":{
        "generateName":"p-","labels":{"l":"1"},"annotations":{"a":"<&>"},"finalizers":["test.capstan/stay"],
        "ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"u-1","controller":true,
        "blockOwnerDeletion":true}]},"spec":{"nodeName":"n1","hostname":"h","hostNetwork":true,"priority":0,
        "schedulerName":"s",
        "initContainers":[{"name":"i","image":"x"}],
        "containers":[{"name":"c","image":"x","env":[{"name":"A<B>&","value":"1"}]}]}})");
    const Result<op::Pod> pod = json::Decode<op::Pod>(created);
    EXPECT_TRUE(pod);
    const std::string name = pod ? pod->metadata.name : "";
    constexpr std::string_view kStatus =
        R"("containerID":"containerd://1","restartCount":2,"image":"x","imageID":"y","ready":false,
        "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off"},"terminated":{"exitCode":1,"message":"m"}},
        "lastState":{"waiting":{"reason":"R","message":"M"},"terminated":{"exitCode":2,"message":"n"}}})";
    const Result<std::string> patched = Run(client().Patch(
        kPods, KeyOf(name), PatchType::kMerge,
        R"({"status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"hostIP":"10.0.0.2",
        "hostIPs":[{"ip":"10.0.0.2"}],
        "conditions":[{"type":"Ready","status":"False","reason":"R","message":"M",
        "lastTransitionTime":"2026-01-31T12:00:00Z"},{"type":"PodScheduled","status":"True"}],
        "initContainerStatuses":[{"name":"i",)" +
            std::string(kStatus) + R"(],"containerStatuses":[{"name":"c",)" + std::string(kStatus) + "]}}",
        {.subresource = "status"}, Soon()));
    EXPECT_TRUE(patched) << patched.error().message();
    Delete(kPods, KeyOf(name));
    return name;
  }
  void Forget(const std::string& pod) {
    const auto gone =
        Run(client().Patch(kPods, KeyOf(pod), PatchType::kMerge, R"({"metadata":{"finalizers":null}})", {}, Soon()));
    EXPECT_TRUE(gone) << gone.error().message();
  }
};

TEST_F(ProtobufItTest, TheOperatorsPod) {
  const std::string name = MakePod();
  const auto [json, protobuf] = Both<op::Pod>(kPods, name);
  // Pods have a generation since 1.33.
  EXPECT_THAT(NotSet(json), ::testing::AnyOf(IsEmpty(), ::testing::ElementsAre("metadata.generation")));
  EXPECT_EQ(json, protobuf);
  EXPECT_EQ(json.metadata.resource_version, protobuf.metadata.resource_version);
  Forget(name);
}

TEST_F(ProtobufItTest, TheOperatorsNode) {
  Create(kNodes, {}, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + ns_ + R"("},
      "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}})");
  const auto [json, protobuf] = Both<op::Node>(kNodes, ns_);
  EXPECT_EQ(json, protobuf);
  EXPECT_EQ(protobuf.metadata.name, ns_);
  EXPECT_TRUE(protobuf.spec.unschedulable);
  EXPECT_EQ(protobuf.spec.taints.at(0), (op::Taint{"k", "v", "NoExecute"}));
  Delete(kNodes, {"", ns_});
}

TEST_F(ProtobufItTest, TheKindsOfTheBenchmarks) {
  const std::string pod_name = MakePod();
  const auto [pod, same_pod] = Both<bench::Pod>(kPods, pod_name);
  EXPECT_THAT(NotSet(pod), ::testing::ElementsAre("spec.priority"));  // only 0 is allowed without a class
  EXPECT_EQ(pod, same_pod);
  Forget(pod_name);
  Create(kSecrets, {ns_, ""}, R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"type":"test.capstan/x",
      "stringData":{"k":"v"}})");
  auto [secret, same_secret] = Both<bench::Secret>(kSecrets, "s");
  EXPECT_THAT(NotSet(same_secret), ::testing::ElementsAre("metadata.deletionTimestamp"));
  secret.data = same_secret.data = {};  // a digest of what stands there
  EXPECT_EQ(secret, same_secret);
  Create(kNodes, {}, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + ns_ + R"("},"spec":{
      "unschedulable":true,"providerID":"p","taints":[{"key":"k","effect":"NoSchedule"}]}})");
  auto [node, same_node] = Both<bench::Node>(kNodes, ns_);
  EXPECT_THAT(NotSet(same_node), ::testing::ElementsAre("metadata.deletionTimestamp", "metadata.namespace"));
  node.spec.taints = same_node.spec.taints = {};
  EXPECT_EQ(node, same_node);
  Delete(kNodes, {"", ns_});
}

// Ours in the store of a watch that speaks protobuf is the one that our apply was answered with, in JSON.
TEST_F(ProtobufItTest, AnApplysAnswerIsFoundInTheWatch) {
  Store<op::Pod> store("pods");
  Watcher watcher(loop_, client(), kPods, store.AddFeed(ns_), {}, 1);
  async::TaskGroup group(loop_);
  group.Spawn("watch", watcher.Run());
  const std::string body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},
      "spec":{"containers":[{"name":"c","image":"x","env":[{"name":"A<B>&","value":"1"}]}]}})";
  const Result<op::Pod> answer = Run(client().Apply<op::Pod>(kPods, KeyOf("a"), body, {}, Soon()));
  ASSERT_TRUE(answer) << answer.error().message();
  ASSERT_TRUE(Until([&] { return store.Find(KeyOf("a")) != nullptr; }));
  EXPECT_EQ(*store.Find(KeyOf("a")), *answer);
  EXPECT_EQ(watcher.status().failures, 0u);
  group.Cancel();
  Until([&] { return group.size() == 0; });
}

TEST_F(ProtobufItTest, RefusalsAndHeadsAreUnderstood) {
  const Resource absent{"", "v1", "absents", "Absent", true};
  const Result<std::string> refused = Run(client().List(absent, {.ns = ns_, .protobuf = true}, Soon()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNotFound);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("the server could not find the requested resource"));
  const Result<std::string> heads =
      Run(client().List(kConfigMaps, {.ns = ns_, .metadata_only = true, .protobuf = true}, Soon()));
  ASSERT_TRUE(heads) << heads.error().message();
  EXPECT_TRUE(IsProtobufBody(*heads));
}

}  // namespace
}  // namespace capstan::kube::testing
