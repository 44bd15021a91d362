// The two pods that try a volume, with a modelled API server and a test that plays the kubelet.
#include "doctor/shared_volume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "async/task_group.h"
#include "async/timer.h"
#include "doctor/report.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"

namespace capstan::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFit = R"({"errors":[],"warnings":[],"filesPerSecond":4100,"seenAfterMs":3})";
constexpr const char* kSeen = R"({"errors":[],"warnings":[],"filesPerSecond":0,"seenAfterMs":0})";
const kube::Key kFirst{"slurm", "try-1"}, kSecond{"slurm", "try-2"}, kNewClaim{"slurm", "try"};

class TryVolumeTest : public ::testing::Test {
 protected:
  TryVolumeTest() {
    for (const kube::Resource& resource :
         {kube::kPods, kube::kPersistentVolumeClaims, kube::kDeployments, kube::kEvents})
      server.objects().Serve(resource);
  }

  void PutClaim(const std::string& mode) {
    server.Put(kube::kPersistentVolumeClaims,
               R"({"metadata":{"namespace":"slurm","name":"data"},"spec":{"accessModes":[")" + mode + R"("]}})");
  }
  void SetStatus(const kube::Key& pod, const std::string& status) {
    server.Edit(kube::kPods, pod, "status",
                [&](json::Value& object) { object.as_object()["status"] = *json::Parse(status); });
  }
  // A pod was placed and has ended.
  void End(const kube::Key& pod, const std::string& node, const std::string& phase, const std::string& said) {
    server.Edit(kube::kPods, pod, "", [&](json::Value& object) { object.at("spec").as_object()["nodeName"] = node; });
    SetStatus(pod, R"({"phase":")" + phase +
                       R"(","containerStatuses":[{"name":"probe","state":{"terminated":{"message":)" +
                       json::Serialize(json::Value(said)) + "}}}]}");
  }
  // `later` happens when the pods have been there for three seconds.
  Result<VolumeReport> Run(VolumeQuestion question, std::function<void()> later) {
    question.ns = "slurm";
    question.id = "try";
    async::TaskGroup group(loop);
    const auto kubelet = [this, &later]() -> async::Task<void> {
      co_await async::Sleep(loop, 3s);
      later();
    };
    group.Spawn("kubelet", kubelet());
    return kube::testing::RunVirtual(loop, TryVolume(loop, server, std::move(question)));
  }
  Result<VolumeReport> Run(VolumeQuestion question) {
    return Run(std::move(question), [] {});
  }
  VolumeReport RunOf(VolumeQuestion question, std::function<void()> later) {
    auto report = Run(std::move(question), std::move(later));
    EXPECT_TRUE(report) << report.error().message();
    return report ? *std::move(report) : VolumeReport();
  }
  bool NothingLeft() const {
    return server.Find(kube::kPods, kFirst) == nullptr && server.Find(kube::kPods, kSecond) == nullptr &&
           server.Find(kube::kPersistentVolumeClaims, kNewClaim) == nullptr;
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
};

TEST_F(TryVolumeTest, ANewClaimIsTriedOnTwoNodesAndGoesWithItsPods) {
  json::Value first, claim;
  const VolumeReport report = RunOf({.storage_class = "nfs", .image = "slurmd:1"}, [&] {
    first = *server.Find(kube::kPods, kFirst);
    claim = *server.Find(kube::kPersistentVolumeClaims, kNewClaim);
    End(kFirst, "kube-1", "Succeeded", kFit);
    End(kSecond, "kube-2", "Succeeded", kSeen);
  });
  EXPECT_EQ(claim.at("spec").at("storageClassName"), "nfs");
  EXPECT_EQ(claim.at("spec").at("accessModes").at(0), "ReadWriteMany");
  EXPECT_EQ(claim.at("metadata").at("ownerReferences").at(0).at("uid"), first.at("metadata").at("uid"));
  EXPECT_EQ(json::FindText(first.at("spec").at("containers").at(0), {"image"}), "slurmd:1");
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_TRUE(NothingLeft());
  EXPECT_EQ(TextReport(report, false),
            "claim try can hold a shared root, tried on kube-1 and kube-2; 4100 files made a second, a change on one "
            "node is seen on the other and answered in 3 ms\n");
}

TEST_F(TryVolumeTest, AClaimThatIsThereStays) {
  PutClaim("ReadWriteMany");
  const VolumeReport report = RunOf({.claim = "data", .image = "slurmd:1"}, [&] {
    End(kFirst, "kube-1", "Succeeded", R"({"errors":[],"warnings":["it is slow"]})");
    End(kSecond, "kube-2", "Succeeded", R"({"errors":["no locks"],"warnings":[]})");
  });
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].what, "on node kube-2: no locks") << "errors come first";
  EXPECT_EQ(report.findings[0].cause, "VolumeUnfit");
  EXPECT_EQ(report.findings[1].cause, "VolumeLacks");
  EXPECT_TRUE(NothingLeft());
  EXPECT_NE(server.Find(kube::kPersistentVolumeClaims, {"slurm", "data"}), nullptr);
  const auto json = json::Parse(JsonReport(report));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->at("healthy"), false);
  EXPECT_EQ(json->at("nodes").as_array().size(), 2u);
}

TEST_F(TryVolumeTest, AClaimOfOneNodeIsToldWithoutAPod) {
  PutClaim("ReadWriteOnce");
  const auto report = Run({.claim = "data", .image = "slurmd:1"});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->findings.size(), 1u);
  EXPECT_EQ(report->findings[0].what, "its access modes are ReadWriteOnce, and a shared root needs ReadWriteMany");
  EXPECT_THAT(server.writes(), IsEmpty());
  const auto missing = Run({.claim = "nobody", .image = "slurmd:1"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
}

TEST_F(TryVolumeTest, TheFirstWordOfAnUnfitVolumeIsEnough) {
  const VolumeReport report = RunOf({.image = "slurmd:1"}, [&] {
    End(kFirst, "kube-1", "Succeeded", R"({"errors":["it is mounted nosuid"],"warnings":[]})");
    SetStatus(kSecond, R"({"phase":"Running"})");
  });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].what, "on node kube-1: it is mounted nosuid");
  EXPECT_TRUE(NothingLeft());
}

TEST_F(TryVolumeTest, APodThatFailsIsToldInItsWords) {
  const VolumeReport report =
      RunOf({.image = "slurmd:1"}, [&] { End(kSecond, "kube-2", "Failed", "the first said nothing\n"); });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].cause, "ProbeFailed");
  EXPECT_EQ(report.findings[0].what, "on node kube-2: the first said nothing");
  EXPECT_TRUE(NothingLeft());
}

TEST_F(TryVolumeTest, APodThatDoesNotGetToASecondNodeIsToldWithItsWarning) {
  server.Put(kube::kEvents,
             R"({"metadata":{"namespace":"slurm","name":"e"},"type":"Warning","note":"Multi-Attach error",
      "regarding":{"kind":"Pod","namespace":"slurm","name":"try-2"}})");
  const Tick began = loop.Now();
  const VolumeReport report = RunOf({.image = "slurmd:1"}, [&] {
    SetStatus(kFirst, R"({"phase":"Running"})");
    SetStatus(kSecond, R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
        "reason":"Unschedulable","message":"0/1 nodes are available"}]})");
  });
  EXPECT_LT(loop.Now() - began, 2min);
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].what, "pod try-1 has not ended in time");
  EXPECT_EQ(report.findings[1].what, "pod try-2 cannot be placed: 0/1 nodes are available; Multi-Attach error");
  EXPECT_TRUE(NothingLeft());
}

TEST_F(TryVolumeTest, WhatCannotBeMadeLeavesNothingBehind) {
  server.deny = [](std::string_view method, const kube::Resource&,
                   const kube::Key& key) -> std::optional<kube::testing::Refusal> {
    if (method == "POST" && key.name != "try-1") return kube::testing::Refuse(403, "Forbidden", "a quota").error();
    return std::nullopt;
  };
  const auto report = Run({.image = "slurmd:1"});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("a quota"));
  EXPECT_TRUE(NothingLeft());
}

TEST_F(TryVolumeTest, AnInterruptionLeavesNothingBehind) {
  bool interrupted = false;
  const auto report = Run({.image = "slurmd:1", .interrupted = &interrupted}, [&] { interrupted = true; });
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(), "interrupted");
  EXPECT_TRUE(NothingLeft());
}

TEST_F(TryVolumeTest, WhatCannotBeDeletedIsToldAndStrangersStay) {
  server.deny = [](std::string_view method, const kube::Resource&,
                   const kube::Key& key) -> std::optional<kube::testing::Refusal> {
    if (method == "DELETE" && key.name == "try-1") return kube::testing::Refuse(403, "Forbidden", "no").error();
    return std::nullopt;
  };
  server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"try-2"},"spec":{}})");
  const auto report = Run({.image = "slurmd:1"});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message(), HasSubstr("Pod slurm/try-1 may still be there, delete it: "));
  EXPECT_NE(server.Find(kube::kPods, kSecond), nullptr) << "somebody else's";
}

TEST_F(TryVolumeTest, TheImageIsTheOperatorsUnlessItIsGiven) {
  const auto unknown = Run({});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("give it with --image"));
  EXPECT_THAT(server.writes(), IsEmpty());
  server.Put(kube::kDeployments, R"({"metadata":{"namespace":"slinky","name":"slurm-operator",
      "labels":{"app.kubernetes.io/name":"slurm-operator"}},
      "spec":{"template":{"spec":{"containers":[{"args":["--image-prefix=mirror/capstan"]}]}}}})");
  std::string image;
  RunOf({}, [&] {
    image = json::FindText(server.Find(kube::kPods, kFirst)->at("spec").at("containers").at(0), {"image"});
    End(kFirst, "kube-1", "Succeeded", kFit);
    End(kSecond, "kube-2", "Succeeded", kSeen);
  });
  EXPECT_EQ(image, "mirror/capstan/slurmd:26.05");
}

TEST(VolumeCausesTest, EachHasAWordOfItsOwn) {
  std::set<std::string_view> names;
  for (const auto& [name, meaning] : VolumeCauses()) EXPECT_TRUE(names.insert(name).second && !meaning.empty()) << name;
}

}  // namespace
}  // namespace capstan::doctor
