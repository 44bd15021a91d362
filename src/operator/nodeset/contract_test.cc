#include "operator/nodeset/contract.h"

#include <gtest/gtest.h>

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;

const std::string kUnprotected = R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kOwned = R"({"metadata":{"labels":{"nodeset.slinky.slurm.net/pod-protect":"true"},
    "ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kUnprotect = R"({"metadata":{"uid":"p","labels":{"nodeset.slinky.slurm.net/pod-protect":null}}})";
const std::string kOwnerless = R"({"metadata":{},"immutable":true})";
const std::string kAdoption =
    R"({"metadata":{"uid":"p","resourceVersion":"7","ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kByUid = R"({"preconditions":{"uid":"p"}})";
const std::string kPersons = "bad disk";
const std::string kOurs = "slurm-operator: Pod is terminating";

// The NodeSet slurm/w of the Controller slurm/main, with these members of its metadata.
json::Value Set(const std::string& more = "") {
  return *json::Parse(R"({"kind":"NodeSet","metadata":{"namespace":"slurm","name":"w","uid":"u")" + more +
                      R"(},"spec":{"controllerRef":{"name":"main"}}})");
}

// A worker of it.
json::Value WorkerPod(const std::string& name, const std::string& host) {
  return *json::Parse(R"({"metadata":{"name":")" + name +
                      R"(","ownerReferences":[{"uid":"u","controller":true}]},"spec":{"hostname":")" + host + R"("}})");
}

// Its worker w-3 is the Slurm node "node-3", and has a job.
Around Busy(bool busy) {
  static const json::Value pod = WorkerPod("w-3", "node-3");
  return {.find = [](std::string_view kind,
                     const kube::Key& key) { return kind == "Pod" && key.name == "w-3" ? &pod : nullptr; },
          .pods = {&pod},
          .is_busy = [busy](const std::string& host) { return busy && host == "node-3"; }};
}

struct KubeCase {
  const char* name;
  Call call;
  bool busy;
  bool allowed;
};

class NodeSetContract : public ::testing::TestWithParam<KubeCase> {};

TEST_P(NodeSetContract, HoldsForEveryCall) {
  const Broken breach = kContract.breach(Set(), GetParam().call, Busy(GetParam().busy));
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeSetContract,
    ::testing::Values(
        KubeCase{"OwnStatus", {"apply", "NodeSet", {"slurm", "w"}, "status", "{}"}, false, true},
        KubeCase{"SshConfig", {"apply", "ConfigMap", {"slurm", "w-ssh-config"}, "", kOwned}, false, true},
        KubeCase{"SshConfigGoes", {"delete", "ConfigMap", {"slurm", "w-ssh-config"}, "", kByUid}, true, true},
        KubeCase{"SshConfigWithoutOwner", {"apply", "ConfigMap", {"slurm", "w-ssh-config"}, "", "{}"}, false, false},
        KubeCase{"HostKeys", {"create", "Secret", {"slurm", "w-ssh-host-keys"}, "", kOwnerless}, true, true},
        KubeCase{"HostKeysThatGoWithIt", {"create", "Secret", {"slurm", "w-ssh-host-keys"}, "", kOwned}, false, false},
        KubeCase{"HostKeysAnew", {"patch", "Secret", {"slurm", "w-ssh-host-keys"}, "", kOwnerless}, false, false},
        KubeCase{"SomeSecret", {"create", "Secret", {"slurm", "other"}, "", kOwnerless}, false, false},
        KubeCase{"SomeConfigMap", {"apply", "ConfigMap", {"slurm", "other"}, "", kOwned}, false, false},
        KubeCase{"OwnSpec", {"apply", "NodeSet", {"slurm", "w"}, "", "{}"}, false, false},
        KubeCase{"OwnRevision", {"create", "ControllerRevision", {"slurm", "w-abc"}, "", kOwned}, false, true},
        KubeCase{"RevisionWithoutOwner", {"create", "ControllerRevision", {"slurm", "w-abc"}, "", "{}"}, false, false},
        KubeCase{
            "RevisionOfAnotherSet", {"create", "ControllerRevision", {"slurm", "x-abc"}, "", kOwned}, false, false},
        KubeCase{"RevisionGoesUnseen", {"delete", "ControllerRevision", {"slurm", "w-abc"}, "", kByUid}, false, false},
        KubeCase{"RevisionIsRewritten",
                 {"patch", "ControllerRevision", {"slurm", "w-abc"}, "", R"({"data":{},"metadata":{"uid":"p"}})"},
                 false,
                 false},
        KubeCase{"OwnWorker", {"create", "Pod", {"slurm", "w-3"}, "", kOwned}, false, true},
        KubeCase{"WorkerWithoutOwner", {"create", "Pod", {"slurm", "w-3"}, "", "{}"}, false, false},
        KubeCase{"WorkerWithoutProtection", {"create", "Pod", {"slurm", "w-3"}, "", kUnprotected}, false, false},
        KubeCase{"IdleWorkerMayBeEvicted", {"patch", "Pod", {"slurm", "w-3"}, "", kUnprotect}, false, true},
        KubeCase{"BusyWorkerMayBeEvicted", {"patch", "Pod", {"slurm", "w-3"}, "", kUnprotect}, true, false},
        KubeCase{"WorkerOfAnotherSet", {"delete", "Pod", {"slurm", "w-1-0"}, "", kByUid}, false, false},
        KubeCase{"SomePod", {"create", "Pod", {"slurm", "x-3"}, "", kOwned}, false, false},
        KubeCase{"OtherNamespace", {"create", "Pod", {"default", "w-3"}, "", kOwned}, false, false},
        KubeCase{"IdleWorkerGoes", {"delete", "Pod", {"slurm", "w-3"}, "", kByUid}, false, true},
        KubeCase{"BusyWorkerGoes", {"delete", "Pod", {"slurm", "w-3"}, "", kByUid}, true, false},
        KubeCase{"WhateverHasTheNameGoes", {"delete", "Pod", {"slurm", "w-3"}, "", "{}"}, false, false},
        KubeCase{"Forced",
                 {"delete", "Pod", {"slurm", "w-3"}, "", R"({"preconditions":{"uid":"p"},"gracePeriodSeconds":0})"},
                 false,
                 false},
        KubeCase{"Orphan", {"patch", "Pod", {"slurm", "w-3"}, "", kAdoption}, false, true},
        KubeCase{"OrphanWhoeverHasItNow", {"patch", "Pod", {"slurm", "w-3"}, "", kOwned}, false, false},
        KubeCase{"OrphanedRevision", {"patch", "ControllerRevision", {"slurm", "w-abc"}, "", kAdoption}, false, true},
        KubeCase{"RevisionOfLate",
                 {"patch", "ControllerRevision", {"slurm", "w-abc"}, "", R"({"metadata":{"uid":"p"},"revision":2})"},
                 false,
                 true},
        KubeCase{"Cordon",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","annotations":{"capstan.dev/scale-in":"true"}}})"},
                 false,
                 true},
        KubeCase{"LabelIsPutBack",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","labels":{"nodeset.slinky.slurm.net/pod-name":"w-3"}}})"},
                 false,
                 true},
        KubeCase{"LabelIsTakenAway",
                 {"patch",
                  "Pod",
                  {"slurm", "w-3"},
                  "",
                  R"({"metadata":{"uid":"p","labels":{"nodeset.slinky.slurm.net/pod-name":null}}})"},
                 false,
                 false},
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
        KubeCase{
            "ClaimOfOneThatStays", {"patch", "PersistentVolumeClaim", {"slurm", "data-w-3"}, "", kOwned}, false, false},
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

TEST(NodeSetClaims, GoWithANodeSetThatGoesIfItsUserWantsThat) {
  const Call call{"patch", "PersistentVolumeClaim", {"slurm", "data-w-3"}, "", kAdoption};
  json::Value set = Set(R"(,"deletionTimestamp":"x")");
  EXPECT_TRUE(kContract.breach(set, call, {})) << "Retain";
  set.get_object()["spec"] = *json::Parse(R"({"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"}})");
  EXPECT_EQ(kContract.breach(set, call, {}), std::nullopt);
  Call more = call;
  more.body = kOwned;
  EXPECT_TRUE(kContract.breach(set, more, {}));
}

TEST_P(FinalizerContract, HoldsForEveryChange) {
  std::string before;
  for (const std::string& name : GetParam().before) before += (before.empty() ? "\"" : ",\"") + name + "\"";
  const json::Value set =
      Set(",\"finalizers\":[" + before + "]" + (GetParam().deleting ? R"(,"deletionTimestamp":"x")" : ""));
  const std::string patch = R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":)" + GetParam().after + "}}";
  const Broken breach = kContract.breach(set, {"patch", "NodeSet", {"slurm", "w"}, "", patch}, Busy(GetParam().busy));
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

TEST(NodeSetContractOfJobs, EndWhereSomebodyHasAskedForIt) {
  const std::string patch = R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]}})";
  const json::Value set = Set(R"(,"finalizers":["capstan.dev/drain"],"deletionTimestamp":"x")");
  const Call let_go{"patch", "NodeSet", {"slurm", "w"}, "", patch};
  Around around = Busy(true);
  EXPECT_TRUE(kContract.breach(set, let_go, around));
  around.jobs_may_end = true;
  EXPECT_EQ(kContract.breach(set, let_go, around), std::nullopt);
}

TEST(NodeSetContractOfJobs, AreNotHarmedByWhatWasRefused) {
  EXPECT_EQ(kContract.breach(Set(), {"delete", "Pod", {"slurm", "w-3"}, "", kByUid, true}, Busy(true)), std::nullopt);
}

TEST(NodeSetContractOfPatches, MoreThanTheFinalizerIsRefused) {
  for (const char* patch : {R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":[],"labels":{}}})",
                            R"({"metadata":{"uid":"u","resourceVersion":"7","finalizers":[]},"spec":{}})",
                            R"({"metadata":{"uid":"u","finalizers":[]}})", R"({"spec":{"replicas":1}})"}) {
    EXPECT_TRUE(kContract.breach(Set(), {"patch", "NodeSet", {"slurm", "w"}, "", patch}, {})) << patch;
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
  const Broken breach = kContract.slurm_breach(Set(), GetParam().call, node, {});
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, SlurmContract,
    ::testing::Values(
        SlurmCase{"NodeOfAnotherSet",
                  {"slurm/main", "update", "w-1-0", "DRAIN", "slurm-operator: x"},
                  {NodeFlag::kIdle},
                  "",
                  false},
        SlurmCase{"NodeOfAnotherCluster",
                  {"slurm/second", "update", "w-0", "DRAIN", "slurm-operator: x"},
                  {NodeFlag::kIdle},
                  "",
                  false},
        SlurmCase{
            "OurDrain", {"slurm/main", "update", "w-0", "DRAIN", "slurm-operator: x"}, {NodeFlag::kIdle}, "", true},
        SlurmCase{"AnonymousDrain", {"slurm/main", "update", "w-0", "DRAIN", "because"}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"LiftsOurs",
                  {"slurm/main", "update", "w-0", "UNDRAIN", ""},
                  {NodeFlag::kIdle, NodeFlag::kDrain},
                  kOurs,
                  true},
        SlurmCase{"LiftsAPersons",
                  {"slurm/main", "update", "w-0", "UNDRAIN", ""},
                  {NodeFlag::kIdle, NodeFlag::kDrain},
                  kPersons,
                  false},
        SlurmCase{"ResumesWhatWasBooted",
                  {"slurm/main", "update", "w-0", "RESUME", ""},
                  {NodeFlag::kDown},
                  "Node unexpectedly rebooted",
                  true},
        SlurmCase{
            "ResumesAPersonsDown", {"slurm/main", "update", "w-0", "RESUME", ""}, {NodeFlag::kDown}, kPersons, false},
        SlurmCase{"ReplacesAPersonsReason",
                  {"slurm/main", "update", "w-0", "DRAIN", "slurm-operator: x"},
                  {NodeFlag::kDown},
                  kPersons,
                  false},
        SlurmCase{"KeepsAPersonsReason",
                  {"slurm/main", "update", "w-0", "DRAIN", kPersons},
                  {NodeFlag::kDown},
                  kPersons,
                  true},
        SlurmCase{"DrainsOverFail",
                  {"slurm/main", "update", "w-0", "DRAIN", kPersons},
                  {NodeFlag::kIdle, NodeFlag::kFail},
                  kPersons,
                  false},
        SlurmCase{"LiftsFail",
                  {"slurm/main", "update", "w-0", "RESUME", ""},
                  {NodeFlag::kIdle, NodeFlag::kFail},
                  kOurs,
                  false},
        SlurmCase{"Idle", {"slurm/main", "update", "w-0", "IDLE", ""}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"Down", {"slurm/main", "update", "w-0", "DOWN", "slurm-operator: x"}, {NodeFlag::kIdle}, "", false},
        SlurmCase{"Comment", {"slurm/main", "update", "w-0", "", ""}, {NodeFlag::kAllocated}, "", true},
        SlurmCase{"RemovesOurs", {"slurm/main", "delete", "w-0", "", ""}, {NodeFlag::kDown}, kOurs, true},
        SlurmCase{"RemovesTheLost", {"slurm/main", "delete", "w-0", "", ""}, {NodeFlag::kDown}, "Not responding", true},
        SlurmCase{"RemovesAPersons", {"slurm/main", "delete", "w-0", "", ""}, {NodeFlag::kDown}, kPersons, false},
        SlurmCase{"RemovesTheBusy", {"slurm/main", "delete", "w-0", "", ""}, {NodeFlag::kAllocated}, "", false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(NodeSetContractOfMachines, NobodyLetsJobsInOnOneThatTakesNone) {
  json::Value pod = WorkerPod("w-0", "w-0");
  json::MakeObject(pod, {"spec"})["nodeName"] = "k0";
  slurm::Node node{.name = "w-0", .reason = kOurs};
  node.state.Add(NodeFlag::kIdle), node.state.Add(NodeFlag::kDrain);
  Around around{.pods = {&pod}, .takes_no_work = [](const std::string& machine) { return machine == "k0"; }};
  for (const char* state : {"UNDRAIN", "RESUME"}) {
    const SlurmCall call{"slurm/main", "update", "w-0", state, ""};
    EXPECT_TRUE(kContract.slurm_breach(Set(), call, node, around)) << state;
    around.takes_no_work = [](const std::string&) { return false; };
    EXPECT_EQ(kContract.slurm_breach(Set(), call, node, around), std::nullopt) << state;
    around.takes_no_work = [](const std::string& machine) { return machine == "k0"; };
  }
}

// Four workers; w-0 to `out` are drained for an update.
Broken DrainOfAnother(const std::string& spec, int out) {
  std::vector<json::Value> pods;
  Around around;
  for (int i = 0; i < 4; ++i) {
    const std::string host = "w-" + std::to_string(i);
    pods.push_back(*json::Parse(R"({"metadata":{"name":")" + host + R"(","annotations":{"capstan.dev/scale-in":")" +
                                (i < out ? "true" : "") + R"("},"ownerReferences":[{"uid":"u","controller":true}]},)" +
                                R"("spec":{"hostname":")" + host +
                                R"("},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
    slurm::Node node{.name = host};
    node.state.Add(NodeFlag::kIdle);
    if (i < out) node.state.Add(NodeFlag::kDrain);
    if (i < out) node.reason = "slurm-operator: Pod (slurm/" + host + ") is pending termination for scale-in";
    around.records.push_back(std::move(node));
  }
  for (const json::Value& pod : pods) around.pods.push_back(&pod);
  json::Value set = Set();
  set.get_object()["spec"] = *json::Parse(R"({"controllerRef":{"name":"main"},)" + spec + "}");
  const SlurmCall call{"slurm/main", "update", "w-3", "DRAIN",
                       "slurm-operator: Pod (slurm/w-3) is pending termination for scale-in"};
  return kContract.slurm_breach(set, call, around.records[3], around);
}

TEST(NodeSetBudget, HoldsForEachDrainOfAWorkerThatServes) {
  EXPECT_EQ(DrainOfAnother(R"("replicas":4)", 0), std::nullopt);
  EXPECT_TRUE(DrainOfAnother(R"("replicas":4)", 1)) << "a quarter of four";
  EXPECT_TRUE(DrainOfAnother(R"("replicas":5)", 1)) << "one is missing, of two";
  EXPECT_EQ(DrainOfAnother(R"("replicas":3)", 2), std::nullopt) << "one is too many, whichever";
  const auto most = [](const std::string& value) {
    return R"("replicas":4,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":)" + value + "}}";
  };
  EXPECT_EQ(DrainOfAnother(most("3"), 2), std::nullopt);
  EXPECT_TRUE(DrainOfAnother(most("3"), 3));
  EXPECT_EQ(DrainOfAnother(most(R"("51%")"), 2), std::nullopt) << "rounded up";
  EXPECT_TRUE(DrainOfAnother(R"("replicas":4,"updateStrategy":{"type":"OnDelete"})", 0));
}

TEST(NodeSetRecord, IsKnownByItsCommentWhateverItIsCalled) {
  slurm::Node node{.name = "gpu-7", .comment = R"({"namespace":"slurm","nodeSetName":"w"})"};
  const SlurmCall call{"slurm/main", "delete", "gpu-7", "", ""};
  EXPECT_EQ(kContract.slurm_breach(Set(), call, node, {}), std::nullopt);
  node.comment = R"({"namespace":"slurm","nodeSetName":"another"})";
  EXPECT_TRUE(kContract.slurm_breach(Set(), call, node, {}));
}

TEST(NodeSetClash, IsTwoWorkersThatAreOne) {
  const auto clash = [](const json::Value& one, const json::Value& other) {
    return Clash(Set(), {.pods = {&one, &other}});
  };
  EXPECT_EQ(clash(WorkerPod("w-0", "w-0"), WorkerPod("w-1", "w-1")), std::nullopt);
  EXPECT_EQ(clash(WorkerPod("w-1", "w-1"), WorkerPod("w-01", "w-01")), "w-1 and w-01 have one ordinal");
  EXPECT_EQ(clash(WorkerPod("w-0", "gpu"), WorkerPod("w-1", "gpu")), "w-0 and w-1 are both gpu in Slurm");
  EXPECT_EQ(clash(WorkerPod("w-0", "w-0"), *json::Parse(R"({"metadata":{"name":"w-00"},"spec":{"hostname":"w-0"}})")),
            std::nullopt)
      << "one that was orphaned is nobody's";
  json::Value ended = WorkerPod("w-0", "gpu");
  json::MakeObject(ended, {"status"})["phase"] = "Failed";
  EXPECT_EQ(clash(ended, WorkerPod("w-1", "gpu")), std::nullopt) << "nobody speaks for one that has ended";
}

TEST(NodeSetRemains, AreItsPodsAndRecordsButNotWhatAPersonHolds) {
  const auto remains = [](const Around& around) { return kContract.remains(Set(), around); };
  EXPECT_EQ(remains({}), std::nullopt);
  const json::Value own = WorkerPod("w-0", "w-0"), anothers = WorkerPod("w-1-0", "w-1-0");
  EXPECT_EQ(remains({.pods = {&own}}), "w-0 is still there");
  EXPECT_EQ(remains({.pods = {&anothers}}), std::nullopt);
  slurm::Node node{.name = "w-0", .reason = kOurs};
  node.state.Add(NodeFlag::kDown);
  EXPECT_TRUE(remains({.records = {node}}));
  node.reason = kPersons;
  EXPECT_EQ(remains({.records = {node}}), std::nullopt);
  EXPECT_EQ(remains({.records = {slurm::Node{.name = "bare-metal"}}}), std::nullopt);
}

}  // namespace
}  // namespace capstan::op::nodeset
