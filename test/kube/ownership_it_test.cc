// Taking objects over from another program, on a real API server: whose field is whose is the server's to say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver.h"
#include "json/value.h"
#include "net/client.h"
#include "net/testing/run.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

using kube::kDeployments;
using kube::kServices;
using kube::testing::Apiserver;
using net::testing::RunTask;
using ::testing::HasSubstr;

constexpr const char* kMe = "11111111-1111-1111-1111-111111111111";
constexpr const char* kSet = "22222222-2222-2222-2222-222222222222";

std::string OwnerText(const std::string& uid, bool controller) {
  return R"({"apiVersion":"example.com/v1","kind":"Owner","name":"o-)" + uid.substr(0, 1) + R"(","uid":")" + uid +
         R"(","controller":)" + (controller ? "true" : "false") + "}";
}

// A Deployment as some program writes it: `env` and `labels` are what differs.
std::string DeploymentText(const std::string& owner, const std::string& labels, const std::string& env,
                           const std::string& replicas) {
  return R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":)" + labels +
         R"(,"ownerReferences":[)" + owner + R"(]},"spec":{)" + replicas +
         R"("selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},)"
         R"("spec":{"containers":[{"name":"main","image":"x","env":)" +
         env + "}]}}}}";
}

class OwnershipOnServer : public ::testing::Test {
 protected:
  OwnershipOnServer() {
    static int count = 0;
    ns_ = "own-" + std::to_string(++count);
    const std::string text = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns_ + R"("}})";
    const auto created = Run(client_.Create(kube::kNamespaces, {}, text, {}, Soon()));
    EXPECT_TRUE(created) << created.error().message();
  }
  template <class T>
  T Run(async::Task<T> task) {
    return RunTask(loop_, std::move(task));
  }
  async::Deadline Soon() { return loop_.After(20s); }

  void Create(const kube::Resource& resource, const std::string& text, const std::string& manager) {
    const auto created = Run(client_.Create(resource, {ns_, ""}, text, {.field_manager = manager}, Soon()));
    ASSERT_TRUE(created) << created.error().message();
  }
  void Patch(const kube::Resource& resource, const std::string& patch, const std::string& manager,
             const std::string& subresource = {}) {
    const auto patched = Run(client_.Patch(resource, {ns_, "a"}, kube::PatchType::kStrategic, patch,
                                           {.subresource = subresource, .field_manager = manager}, Soon()));
    ASSERT_TRUE(patched) << patched.error().message();
  }
  Result<void> Apply(const kube::Resource& resource, const std::string& text, Adoption adoption = {}) {
    const auto effect = plan::Apply({&resource, {ns_, "a"}}, text, {kMe, std::move(adoption)});
    return Run(effect->Run(services_, Soon()));
  }
  json::Value Get(const kube::Resource& resource) {
    const auto text = Run(client_.Get(resource, {ns_, "a"}, {}, Soon()));
    EXPECT_TRUE(text) << text.error().message();
    return text ? *json::Parse(*text) : json::Value();
  }
  static std::string Part(const json::Value& object, std::initializer_list<std::string_view> path) {
    const json::Value* part = json::Find(object, path);
    return part != nullptr ? json::SerializeCanonical(*part) : "";
  }

  async::RealLoop loop_;
  kube::Config config_ = Apiserver().Admin();
  net::HttpClient http_{loop_, {.server = config_.server, .credentials = config_.credentials}};
  kube::Client client_{loop_, http_, {.field_manager = "capstan"}};
  Stores stores_;
  AppliedMemo memo_;
  SlurmClusters clusters_{loop_, client_, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services_{loop_, client_, stores_, memo_, clusters_, "capstan", nullptr, {"manager"}};
  std::string ns_;
};

TEST_F(OwnershipOnServer, AFormerManagersObjectLosesExactlyWhatNobodyWants) {
  Create(kDeployments,
         DeploymentText(OwnerText(kMe, true), R"({"app":"a","go":"1"})",
                        R"([{"name":"KEPT","value":"old"},{"name":"OLD","value":"1"}])", R"("replicas":3,)"),
         "manager");
  Patch(kDeployments,
        R"({"metadata":{"annotations":{"person":"was here"}},"spec":{"template":{"spec":{"containers":)"
        R"([{"name":"main","env":[{"name":"PERSON","value":"1"}]}]}}}})",
        "kubectl-edit");
  Patch(kDeployments, R"({"spec":{"replicas":5}})", "autoscaler", "scale");
  Patch(kDeployments, R"({"status":{"observedGeneration":1}})", "manager", "status");

  const auto applied = Apply(
      kDeployments, DeploymentText(OwnerText(kMe, true), R"({"app":"a"})", R"([{"name":"KEPT","value":"new"}])", ""));
  ASSERT_TRUE(applied) << applied.error().message();

  const json::Value after = Get(kDeployments);
  EXPECT_EQ(Part(after, {"metadata", "labels"}), R"({"app":"a"})");
  EXPECT_THAT(Part(after, {"metadata", "annotations"}), HasSubstr(R"("person":"was here")"));
  EXPECT_EQ(Part(after, {"spec", "replicas"}), "5") << "an autoscaler's";
  const std::string pod = Part(after, {"spec", "template", "spec"});
  EXPECT_THAT(pod, HasSubstr(R"({"name":"KEPT","value":"new"})"));
  EXPECT_THAT(pod, HasSubstr(R"({"name":"PERSON","value":"1"})"));
  EXPECT_EQ(pod.find("OLD"), std::string::npos) << pod;
  const std::string managers = Part(after, {"metadata", "managedFields"});
  EXPECT_THAT(managers, HasSubstr(R"("manager":"manager","operation":"Update","subresource":"status")"));
  EXPECT_EQ(managers.find(R"("manager":"manager","operation":"Update","time")"), std::string::npos) << managers;
}

TEST_F(OwnershipOnServer, WithoutTheFoldingTheFieldsWouldStay) {
  services_.former_managers.clear();
  const std::string owner = OwnerText(kMe, true);
  Create(kDeployments, DeploymentText(owner, R"({"app":"a","go":"1"})", R"([{"name":"OLD","value":"1"}])", ""),
         "manager");
  ASSERT_TRUE(Apply(kDeployments, DeploymentText(owner, R"({"app":"a"})", "[]", "")));
  EXPECT_EQ(Part(Get(kDeployments), {"metadata", "labels"}), R"({"app":"a","go":"1"})");
}

TEST_F(OwnershipOnServer, WhatTwoRestartsApplyIsAppliedOnce) {
  const std::string owner = OwnerText(kMe, true);
  Create(kDeployments, DeploymentText(owner, R"({"app":"a","go":"1"})", "[]", ""), "manager");
  const std::string wanted = DeploymentText(owner, R"({"app":"a"})", "[]", "");
  ASSERT_TRUE(Apply(kDeployments, wanted));
  const std::string before = Part(Get(kDeployments), {"metadata", "resourceVersion"});
  memo_.Forget(kMe);
  const std::string owner_uid = kMe, target = "Deployment " + ns_ + "/a";
  ASSERT_FALSE(memo_.Knows({owner_uid, target})) << "a new process knows nothing";
  ASSERT_TRUE(Apply(kDeployments, wanted));
  EXPECT_EQ(Part(Get(kDeployments), {"metadata", "resourceVersion"}), before);
}

TEST_F(OwnershipOnServer, AServiceOfSeveralOwnersBecomesOurs) {
  const std::string spec = R"("spec":{"clusterIP":"None","selector":{"app":"w"},"ports":[{"name":"p","port":6818}]}})";
  Create(kServices,
         R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","ownerReferences":[)" + OwnerText(kSet, false) +
             "]}," + spec,
         "manager");
  const std::string uid = Part(Get(kServices), {"metadata", "uid"});
  const std::string wanted = R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"a","ownerReferences":[)" +
                             OwnerText(kMe, true) + "]}," + spec;
  const auto stranger = Apply(kServices, wanted);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(ReasonOf(stranger.error()), "NameConflict");

  const auto adopted = Apply(kServices, wanted, {.owners = {kSet}});
  ASSERT_TRUE(adopted) << adopted.error().message();
  const json::Value after = Get(kServices);
  EXPECT_EQ(Part(after, {"metadata", "uid"}), uid) << "not made anew";
  EXPECT_EQ(json::Find(after, {"metadata", "ownerReferences"})->get_array().size(), 1u);
  EXPECT_THAT(Part(after, {"metadata", "ownerReferences"}), HasSubstr(kMe));
}

// --- Lists of several writers ----------------------------------------------------------------------------------------

class SharedLists : public OwnershipOnServer {
 protected:
  SharedLists() {
    Create(kube::kPods,
           R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","finalizers":["example.com/theirs"]},)"
           R"("spec":{"containers":[{"name":"c","image":"x"}]}})",
           "somebody");
    Patch(kube::kPods, R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"theirs"}]}})", "kubelet",
          "status");
    uid_ = json::FindText(Get(kube::kPods), {"metadata", "uid"});
  }
  Result<void> Do(const std::shared_ptr<const Effect>& effect) { return Run(effect->Run(services_, Soon())); }
  kube::Key Pod() const { return {ns_, "a"}; }

  std::string uid_;
};

TEST_F(SharedLists, ConditionsOfAPodAreSetAndRemovedByType) {
  const auto change = [&](std::vector<ConditionText> set, std::vector<std::string> gone) {
    return Do(ChangeConditions({&kube::kPods, Pod()}, uid_, std::move(set), std::move(gone)));
  };
  const ConditionText ours{.type = "example.com/Ours", .status = "True", .reason = "Set", .message = "one"};
  const auto set = change({ours, {.type = "example.com/Other", .status = "True"}}, {});
  ASSERT_TRUE(set) << set.error().message();
  const auto began = [&] {
    for (const json::Value& one : json::Find(Get(kube::kPods), {"status", "conditions"})->as_array()) {
      if (json::FindText(one, {"type"}) == "example.com/Ours")
        return std::string(json::FindText(one, {"lastTransitionTime"})) + " " +
               std::string(json::FindText(one, {"message"}));
    }
    return std::string();
  };
  const std::string before = began();
  EXPECT_THAT(before, ::testing::MatchesRegex("20.*Z one"));
  ASSERT_TRUE(
      change({{.type = "example.com/Ours", .status = "True", .reason = "Set", .message = "two", .begins = false}},
             {"example.com/Other"}));
  EXPECT_EQ(began(), before.substr(0, before.size() - 3) + "two") << "its status is as it was";
  EXPECT_EQ(json::Find(Get(kube::kPods), {"status", "conditions"})->get_array().size(), 2u);
  ASSERT_TRUE(change({}, {"example.com/Ours"}));
  ASSERT_TRUE(change({}, {"example.com/Ours"})) << "repeating does no harm";
  EXPECT_THAT(Part(Get(kube::kPods), {"status", "conditions"}), HasSubstr(R"("reason":"theirs","status":"False")"));

  const auto namesake = Do(ChangeConditions({&kube::kPods, Pod()}, kMe, {ours}, {}));
  ASSERT_FALSE(namesake);
  EXPECT_EQ(namesake.error().code(), Code::kConflict) << namesake.error().message();
}

TEST_F(SharedLists, AFinalizerComesAndGoesAmongOthers) {
  const ObjectRef ref{&kube::kPods, Pod()};
  const auto seen = [&] {
    return *json::Decode<json::ObjectMeta>(json::Serialize(*json::Find(Get(kube::kPods), {"metadata"})));
  };
  const json::ObjectMeta before = seen();
  const auto added = Do(AddFinalizer(ref, before, "example.com/ours"));
  ASSERT_TRUE(added) << added.error().message();
  EXPECT_EQ(Part(Get(kube::kPods), {"metadata", "finalizers"}), R"(["example.com/theirs","example.com/ours"])");
  const auto late = Do(AddFinalizer(ref, before, "example.com/late"));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::kConflict) << late.error().message();
  ASSERT_TRUE(Do(RemoveFinalizer(ref, seen(), "example.com/ours")));
  EXPECT_EQ(Part(Get(kube::kPods), {"metadata", "finalizers"}), R"(["example.com/theirs"])");
  ASSERT_TRUE(Do(RemoveFinalizer(ref, seen(), "example.com/theirs")));
  EXPECT_EQ(Part(Get(kube::kPods), {"metadata", "finalizers"}), "");
}

}  // namespace
}  // namespace capstan::plan
