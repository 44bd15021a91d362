// Scale, binding and logs, strict writes and what errors carry, against the real API server. The kubelet that it asks for
// logs is a scripted one.
#include <gmock/gmock.h>

#include "api_test.h"
#include "base/testing/captured_log.h"
#include "kube/subresources.h"
#include "net/testing/scripted_server.h"

namespace capstan::kube {
namespace {

using net::testing::Chunk;
using net::testing::Chunked;
using net::testing::kLastChunk;
using net::testing::ScriptedServer;
using testing::ApiTest;
using testing::ConfigMapJson;
using ::testing::HasSubstr;
using testing::kPodSpec;

class SubresourcesItTest : public ApiTest {
 protected:
  std::string PodJson(const std::string& name, const std::string& node = "") {
    const std::string spec =
        node.empty() ? std::string(kPodSpec) : R"({"nodeName":")" + node + "\"," + std::string(kPodSpec.substr(1));
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"("},"spec":)" + spec + "}";
  }
  std::string CreatePod(const std::string& name) {
    return json::Decode<Scale>(Create(kPods, {ns_, ""}, PodJson(name)))->metadata.uid;
  }
};

TEST_F(SubresourcesItTest, ScaleWorksOnWhateverHasReplicas) {
  const std::string object =
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1,"selector":)"
      R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":)" +
      std::string(kPodSpec) + "}}}";
  Create(kDeployments, {ns_, ""}, object);
  const Result<Scale> before = Run(GetScale(client(), kDeployments, KeyOf("d"), Soon()));
  ASSERT_TRUE(before) << before.error().message();
  EXPECT_EQ(before->spec.replicas, 1);
  EXPECT_EQ(before->status.replicas, 0);
  EXPECT_EQ(before->status.selector, "a=b");
  const Result<Scale> after = Run(SetScale(client(), kDeployments, KeyOf("d"), 0, {}, Soon()));
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(after->spec.replicas, 0);
  EXPECT_EQ(Run(GetScale(client(), kDeployments, KeyOf("d"), Soon()))->spec.replicas, 0);
  ExpectCode(Run(SetScale(client(), kDeployments, KeyOf("d"), -1, {}, Soon())), Code::kInvalid);
  ExpectCode(Run(GetScale(client(), kConfigMaps, KeyOf("kube-root-ca.crt"), Soon())), Code::kNotFound);
}

TEST_F(SubresourcesItTest, APodIsBoundOnceAndOnlyTheOneThatWasMeant) {
  const std::string uid = CreatePod("p");
  ExpectCode(Run(Bind(client(), KeyOf("p"), "another", "n-1", Soon())), Code::kConflict);
  const Result<void> bound = Run(Bind(client(), KeyOf("p"), uid, "n-1", Soon()));
  ASSERT_TRUE(bound) << bound.error().message();
  EXPECT_THAT(*Run(client().Get(kPods, KeyOf("p"), {}, Soon())), HasSubstr(R"("nodeName":"n-1")"));
  ExpectCode(Run(Bind(client(), KeyOf("p"), uid, "n-2", Soon())), Code::kConflict);
  ExpectCode(Run(Bind(client(), KeyOf("missing"), uid, "n-2", Soon())), Code::kNotFound);
}

TEST_F(SubresourcesItTest, AStrictWriteNamesTheFieldThatNobodyKnows) {
  const std::string odd = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"odd"},"dada":{"k":"v"}})";
  const Result<std::string> refused = Run(client().Create(kConfigMaps, {ns_, ""}, odd, {.strict = true}, Soon()));
  ExpectCode(refused, Code::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("unknown field \"dada\""));
  // An apply to a built-in kind is always strict, and told as a failure of the server.
  ExpectCode(Run(client().Apply(kConfigMaps, KeyOf("odd"), odd, {}, Soon())), Code::kInvalid);

  capstan::testing::CapturedLog log;
  Create(kConfigMaps, {ns_, ""}, odd);
  EXPECT_THAT(log.Text(), HasSubstr(R"("warning":"unknown field \"dada\"")"));
}

TEST_F(SubresourcesItTest, AnErrorCarriesReasonCausesAndTheRequestsId) {
  const Result<std::string> refused =
      Run(client().Create(kConfigMaps, {ns_, ""}, ConfigMapJson("a", R"({"no/slash":"x"})"), {}, Soon()));
  ExpectCode(refused, Code::kInvalid);
  const FailedCall* call = FailedCallOf(refused.error());
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->status, 422);
  EXPECT_EQ(call->reason, "Invalid");
  ASSERT_EQ(call->causes.size(), 1u);
  EXPECT_EQ(call->causes[0].reason, "FieldValueInvalid");
  EXPECT_EQ(call->causes[0].field, "data[no/slash]");
  EXPECT_THAT(call->request_id, ::testing::StartsWith("capstan-"));
}

// --- Logs ------------------------------------------------------------------------------------------------------------

class LogsItTest : public SubresourcesItTest {
 protected:
  LogsItTest() : node_("node-" + ns_) {
    const net::testing::KeyPair pair = authority_.Issue({.common_name = "kubelet"});
    kubelet_.emplace(ScriptedServer::Options{.certificate_pem = pair.certificate_pem, .key_pem = pair.key_pem});
    Create(kNodes, {}, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + node_ + "\"}}");
    const std::string status = R"({"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],)"
                               R"("daemonEndpoints":{"kubeletEndpoint":{"Port":)" +
                               std::to_string(kubelet_->port()) + "}}}}";
    const Result<std::string> ready =
        Run(client().Patch(kNodes, {"", node_}, PatchType::kMerge, status, {.subresource = "status"}, Soon()));
    EXPECT_TRUE(ready) << ready.error().message();
    Create(kPods, {ns_, ""}, PodJson("p", node_));
    path_ = "/containerLogs/" + ns_ + "/p/c";
  }
  Result<std::unique_ptr<net::BodyStream>> Open(LogOptions options) {
    return Run(OpenLog(client(), KeyOf("p"), std::move(options), Soon()));
  }
  Result<std::string> Read(net::BodyStream& log, Duration patience = 20s) {
    std::string buffer(100, '\0');
    const Result<size_t> got = Run(log.Read(buffer, loop_.After(patience)));
    if (!got) return Fail(got.error());
    return buffer.substr(0, *got);
  }

  net::testing::Authority authority_{"kubelet CA"};
  std::optional<ScriptedServer> kubelet_;
  std::string node_, path_;
};

TEST_F(LogsItTest, AFollowedLogComesAsItIsWritten) {
  kubelet_->Expect("GET " + path_, Chunked({"one\n"}, false).Hold());
  const auto log = Open({.container = "c", .follow = true, .tail_lines = 5, .timestamps = true});
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_EQ(*Read(**log), "one\n");
  ExpectCode(Read(**log, 50ms), Code::kDeadline);
  ASSERT_EQ(kubelet_->lines().size(), 1u);
  for (const char* part : {"follow=true", "tailLines=5", "timestamps=true"})
    EXPECT_THAT(kubelet_->lines()[0], HasSubstr(part));
}

TEST_F(LogsItTest, WhatIsWrittenLaterFollows) {
  kubelet_->Expect("GET " + path_, Chunked({"one\n"}, false).Hold());
  const auto log = Open({.follow = true});
  ASSERT_TRUE(log) << log.error().message();
  EXPECT_EQ(*Read(**log), "one\n");
  kubelet_->Push(Chunk("two\n"));
  EXPECT_EQ(*Read(**log), "two\n");
  kubelet_->Push(std::string(kLastChunk));
  EXPECT_EQ(*Read(**log), "") << "the container has ended";
}

TEST_F(LogsItTest, WhatCannotBeReadSaysWhy) {
  const auto other = Open({.container = "nothing"});
  ExpectCode(other, Code::kInvalid);
  EXPECT_THAT(other.error().message(), HasSubstr("container nothing is not valid for pod p"));
  ExpectCode(Run(OpenLog(client(), KeyOf("missing"), {}, Soon())), Code::kNotFound);
  kubelet_.reset();
  const auto away = Open({});
  ASSERT_FALSE(away);
  EXPECT_THAT(away.error().message(), HasSubstr("connection refused"));
}

}  // namespace
}  // namespace capstan::kube
