#include "operator/nodeset/contract.h"

#include <gtest/gtest.h>

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;

const std::string kUnprotected = R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kOwned = R"({"metadata":{"labels":{"nodeset.slinky.slurm.net/pod-protect":"true"},
    "ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kUnprotect = R"({"metadata":{"uid":"p","labels":{"nodeset.slinky.slurm.net/pod-protect":null}}})";
const std::string kByUid = R"({"preconditions":{"uid":"p"}})";
const std::string kPersons = "bad disk";
const std::string kOurs = "slurm-operator: Pod is terminating";

api::NodeSet Set() {
  api::NodeSet set;
  set.metadata = {.name = "w", .namespace_ = "slurm", .uid = "u"};
  return set;
}

struct KubeCase {
  const char* name;
  Call call;
  bool busy;
  bool allowed;
};

class NodeSetContract : public ::testing::TestWithParam<KubeCase> {};

TEST_P(NodeSetContract, HoldsForEveryCall) {
  const auto breach = Breach(Set(), GetParam().call, GetParam().busy);
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeSetContract,
    ::testing::Values(
        KubeCase{"OwnStatus", {"apply", "NodeSet", {"slurm", "w"}, "status", "{}"}, false, true},
        KubeCase{"SshConfig", {"apply", "ConfigMap", {"slurm", "w-ssh-config"}, "", kOwned}, false, true},
        KubeCase{"SshConfigGoes", {"delete", "ConfigMap", {"slurm", "w-ssh-config"}, "", kByUid}, true, true},
        KubeCase{"SshConfigWithoutOwner", {"apply", "ConfigMap", {"slurm", "w-ssh-config"}, "", "{}"}, false, false},
        KubeCase{"SomeConfigMap", {"apply", "ConfigMap", {"slurm", "other"}, "", kOwned}, false, false},
        KubeCase{"OwnSpec", {"apply", "NodeSet", {"slurm", "w"}, "", "{}"}, false, false},
        KubeCase{"OwnWorker", {"create", "Pod", {"slurm", "w-3"}, "", kOwned}, false, true},
        KubeCase{"WorkerWithoutOwner", {"create", "Pod", {"slurm", "w-3"}, "", "{}"}, false, false},
        KubeCase{"WorkerWithoutProtection", {"create", "Pod", {"slurm", "w-3"}, "", kUnprotected}, false, false},
        KubeCase{"IdleWorkerMayBeEvicted", {"patch", "Pod", {"slurm", "w-3"}, "", kUnprotect}, false, true},
        KubeCase{"BusyWorkerMayBeEvicted", {"patch", "Pod", {"slurm", "w-3"}, "", kUnprotect}, true, false},
        KubeCase{"SomePod", {"create", "Pod", {"slurm", "x-3"}, "", kOwned}, false, false},
        KubeCase{"OtherNamespace", {"create", "Pod", {"default", "w-3"}, "", kOwned}, false, false},
        KubeCase{"IdleWorkerGoes", {"delete", "Pod", {"slurm", "w-3"}, "", kByUid}, false, true},
        KubeCase{"BusyWorkerGoes", {"delete", "Pod", {"slurm", "w-3"}, "", kByUid}, true, false},
        KubeCase{"WhateverHasTheNameGoes", {"delete", "Pod", {"slurm", "w-3"}, "", "{}"}, false, false},
        KubeCase{"Forced",
                 {"delete", "Pod", {"slurm", "w-3"}, "", R"({"preconditions":{"uid":"p"},"gracePeriodSeconds":0})"},
                 false,
                 false},
        KubeCase{"Cordon",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","annotations":{"capstan.dev/scale-in":"true"}}})"},
                 false,
                 true},
        KubeCase{"PersonsCordon",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","annotations":{"nodeset.slinky.slurm.net/pod-cordon":null}}})"},
                 false,
                 false},
        KubeCase{"FormersCordonAsSeen",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","resourceVersion":"7",)"
                  R"("annotations":{"nodeset.slinky.slurm.net/pod-cordon":null}}})"},
                 false,
                 true},
        KubeCase{
            "FormersCondition",
            {"patch",
             "Pod",
             {"slurm", "w-3"},
             "status",
             R"({"metadata":{"uid":"p"},"status":{"conditions":[{"$patch":"delete","type":"SlurmNodeStateIdle"}]}})"},
            false,
            true},
        KubeCase{"KubeletsCondition",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "status",
                  R"({"metadata":{"uid":"p"},"status":{"conditions":[{"$patch":"delete","type":"Ready"}]}})"},
                 false,
                 false},
        KubeCase{"Spec", {"patch", "Pod", {"slurm", "w-3"}, "", R"({"metadata":{"uid":"p"},"spec":{}})"}, false, false},
        KubeCase{"Claim", {"delete", "PersistentVolumeClaim", {"slurm", "data-w-3"}, "", kByUid}, false, false}),
    [](const auto& info) { return std::string(info.param.name); });

// A NodeSet with the finalizer "x" of somebody else's, and these as well, whose finalizers become `after`.
struct FinalizerCase {
  const char* name;
  std::vector<std::string> before;
  std::string after;
  bool deleting;
  bool busy;
  bool allowed;
};

class FinalizerContract : public ::testing::TestWithParam<FinalizerCase> {};

TEST_P(FinalizerContract, HoldsForEveryChange) {
  api::NodeSet set = Set();
  set.metadata.finalizers = GetParam().before;
  if (GetParam().deleting) set.metadata.deletion_timestamp = Time(1s);
  const std::string patch = R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":)" + GetParam().after + "}}";
  const auto breach = Breach(set, {"patch", "NodeSet", {"slurm", "w"}, "", patch}, GetParam().busy);
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

const std::string kDrain = "capstan.dev/drain";

INSTANTIATE_TEST_SUITE_P(
    All, FinalizerContract,
    ::testing::Values(FinalizerCase{"Holds", {"x"}, R"(["x","capstan.dev/drain"])", false, true, true},
                      FinalizerCase{"HoldsWhatGoes", {"x"}, R"(["x","capstan.dev/drain"])", true, false, false},
                      FinalizerCase{"LetsGo", {"x", kDrain}, R"(["x"])", true, false, true},
                      FinalizerCase{"LetsGoWhatStays", {"x", kDrain}, R"(["x"])", false, false, false},
                      FinalizerCase{"LetsGoOfJobs", {"x", kDrain}, R"(["x"])", true, true, false},
                      FinalizerCase{"LetsGoOfTheFormerOne",
                                    {"x", "nodeset.slinky.slurm.net/drain", kDrain},
                                    R"(["x","capstan.dev/drain"])",
                                    false,
                                    true,
                                    true},
                      FinalizerCase{"TakesAnothers", {"x", kDrain}, "[]", true, false, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(NodeSetContractOfPatches, MoreThanTheFinalizerIsRefused) {
  for (const char* patch : {R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":[],"labels":{}}})",
                            R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]},"spec":{}})",
                            R"({"metadata":{"uid":"u","finalizers":[]}})", R"({"spec":{"replicas":1}})"}) {
    EXPECT_TRUE(Breach(Set(), {"patch", "NodeSet", {"slurm", "w"}, "", patch}, false)) << patch;
  }
}

struct SlurmCase {
  const char* name;
  SlurmCall call;
  std::vector<NodeFlag> flags;
  std::string reason;
  bool allowed;
};

class SlurmContract : public ::testing::TestWithParam<SlurmCase> {};

TEST_P(SlurmContract, HoldsForEveryCall) {
  slurm::Node node{.name = "w-0", .reason = GetParam().reason};
  for (const NodeFlag flag : GetParam().flags) node.state.Add(flag);
  const auto breach = Breach(GetParam().call, node);
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, SlurmContract,
    ::testing::Values(
        SlurmCase{"OurDrain", {"update", "w-0", "DRAIN", "slurm-operator: x"}, {NodeFlag::kIdle}, "", true},
        SlurmCase{"AnonymousDrain", {"update", "w-0", "DRAIN", "because"}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"LiftsOurs", {"update", "w-0", "UNDRAIN", ""}, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurs, true},
        SlurmCase{
            "LiftsAPersons", {"update", "w-0", "UNDRAIN", ""}, {NodeFlag::kIdle, NodeFlag::kDrain}, kPersons, false},
        SlurmCase{"ResumesWhatWasBooted",
                  {"update", "w-0", "RESUME", ""},
                  {NodeFlag::kDown},
                  "Node unexpectedly rebooted",
                  true},
        SlurmCase{"ResumesAPersonsDown", {"update", "w-0", "RESUME", ""}, {NodeFlag::kDown}, kPersons, false},
        SlurmCase{"ReplacesAPersonsReason",
                  {"update", "w-0", "DRAIN", "slurm-operator: x"},
                  {NodeFlag::kDown},
                  kPersons,
                  false},
        SlurmCase{"KeepsAPersonsReason", {"update", "w-0", "DRAIN", kPersons}, {NodeFlag::kDown}, kPersons, true},
        SlurmCase{"DrainsOverFail",
                  {"update", "w-0", "DRAIN", kPersons},
                  {NodeFlag::kIdle, NodeFlag::kFail},
                  kPersons,
                  false},
        SlurmCase{"LiftsFail", {"update", "w-0", "RESUME", ""}, {NodeFlag::kIdle, NodeFlag::kFail}, kOurs, false},
        SlurmCase{"Idle", {"update", "w-0", "IDLE", ""}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"Down", {"update", "w-0", "DOWN", "slurm-operator: x"}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"Comment", {"update", "w-0", "", ""}, {NodeFlag::kAllocated}, "", true},
        SlurmCase{"RemovesOurs", {"delete", "w-0", "", ""}, {NodeFlag::kDown}, kOurs, true},
        SlurmCase{"RemovesTheLost", {"delete", "w-0", "", ""}, {NodeFlag::kDown}, "Not responding", true},
        SlurmCase{"RemovesAPersons", {"delete", "w-0", "", ""}, {NodeFlag::kDown}, kPersons, false},
        SlurmCase{"RemovesTheBusy", {"delete", "w-0", "", ""}, {NodeFlag::kAllocated}, "", false}),
    [](const auto& info) { return std::string(info.param.name); });

// A worker of Set() as JSON.
std::string WorkerText(const std::string& name, const std::string& host) {
  return R"({"metadata":{"name":")" + name +
         R"(","ownerReferences":[{"uid":"u","controller":true}]},"spec":{"hostname":")" + host + R"("}})";
}
const std::string kSetText = R"({"metadata":{"name":"w","uid":"u"}})";

TEST(NodeSetClash, IsTwoWorkersThatAreOne) {
  const auto clash = [](std::vector<std::string> pods) { return Clash(kSetText, {.pods = std::move(pods)}); };
  EXPECT_EQ(clash({WorkerText("w-0", "w-0"), WorkerText("w-1", "w-1")}), std::nullopt);
  EXPECT_EQ(clash({WorkerText("w-1", "w-1"), WorkerText("w-01", "w-01")}), "w-1 and w-01 have one ordinal");
  EXPECT_EQ(clash({WorkerText("w-0", "gpu"), WorkerText("w-1", "gpu")}), "w-0 and w-1 are both gpu in Slurm");
  EXPECT_EQ(clash({WorkerText("w-0", "w-0"), R"({"metadata":{"name":"w-00"},"spec":{"hostname":"w-0"}})"}),
            std::nullopt)
      << "one that was orphaned is nobody's";
}

TEST(NodeSetRemains, AreItsPodsAndRecordsButNotWhatAPersonHolds) {
  EXPECT_EQ(Remains(kSetText, {}), std::nullopt);
  EXPECT_EQ(Remains(kSetText, {.pods = {WorkerText("w-0", "w-0")}}), "w-0 is still there");
  slurm::Node node{.name = "w-0", .reason = kOurs};
  node.state.Add(NodeFlag::kDown);
  EXPECT_TRUE(Remains(kSetText, {.records = {node}}));
  node.reason = kPersons;
  EXPECT_EQ(Remains(kSetText, {.records = {node}}), std::nullopt);
  EXPECT_EQ(Remains(kSetText, {.records = {slurm::Node{.name = "bare-metal"}}}), std::nullopt);
}

}  // namespace
}  // namespace capstan::op::nodeset
