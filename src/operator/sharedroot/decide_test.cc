#include "operator/sharedroot/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/sharedroot.h"
#include "json/value.h"
#include "operator/questions.h"
#include "operator/sharedroot/jobs.h"
#include "operator/sharedroot/users.h"
#include "operator/testing/golden.h"
#include "operator/testing/world.h"

namespace capstan::op::sharedroot {
namespace {

using test::ActionNames;
using test::ChildNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class SharedRootTest : public ::testing::Test {
 protected:
  SharedRootTest() {
    root.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-root", .generation = 3};
    root.spec.claim.size = "500Gi";
    root.spec.source.image = "registry.example.org/hpc/shell:1";
    Claim({"ReadWriteMany"});
  }
  void Claim(std::vector<std::string> modes, const std::string& name = "main-root",
             const std::string& uid = "uid-claim") {
    world.Answer("claim slurm/" + name,
                 std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{uid, std::move(modes), "main"}));
  }
  plan::Plan Look() {
    world.Put(root);
    plan::Plan plan = world.Decide(&Decide, "main");
    const auto status = json::Decode<api::SharedRootStatus>(*plan.status);
    root.status = status.value_or(api::SharedRootStatus());
    return plan;
  }
  // What a Job has become, with a pod of it that ended so and said that.
  void Ran(const std::string& name, const std::string& condition, const std::string& said,
           const std::string& message = "", int exit_code = 0) {
    Job job;
    job.metadata = {.name = name, .namespace_ = "slurm", .uid = "uid-" + name};
    job.metadata.owner_references = {{.kind = "SharedRoot", .name = "main", .uid = "uid-root", .controller = true}};
    if (!condition.empty()) job.status.conditions = {{.type = condition, .status = "True", .message = message}};
    world.Put(job);
    Pod pod;
    pod.metadata = {.name = name + "-x", .namespace_ = "slurm", .uid = "uid-pod-" + name};
    pod.metadata.owner_references = {{.kind = "Job", .name = name, .uid = job.metadata.uid, .controller = true}};
    pod.status.phase = condition == "Complete" ? "Succeeded" : "Failed";
    pod.status.container_statuses = {
        {.name = "fill", .state = {.waiting = {}, .terminated = ContainerTerminated{said, exit_code}}}};
    world.Put(pod);
  }
  std::string FillName(const std::string& uid = "uid-claim") const {
    return sharedroot::FillJob(WithDefaults(), uid, {})->key.name;
  }
  std::string SwitchName(const std::string& to = "") const {
    const api::SharedRoot with = WithDefaults();
    return sharedroot::SwitchJob(with, to.empty() ? GenerationName(with.spec) : to, "uid-claim", {})->key.name;
  }
  std::string RemoveName(const std::vector<std::string>& generations, const std::vector<std::string>& pods) const {
    return sharedroot::RemoveJob(WithDefaults(), generations, pods, "uid-claim", {})->key.name;
  }
  // Which pods have the volume.
  void Pods(std::vector<std::string> pods) {
    world.Answer("pods with claim slurm/main-root after switch uid-root/" +
                     std::to_string(root.status.current.observed_generation),
                 std::make_shared<const PodsWithClaim::Value>(std::move(pods)));
  }
  std::vector<std::string> Generations() const {
    std::vector<std::string> names;
    for (const api::RootGeneration& generation : root.status.generations) names.push_back(generation.name);
    return names;
  }
  // At rest, with what spec asks for.
  void Settle() {
    root.status.claim_uid = "uid-claim";
    root.status.generations = {{.name = GenerationName(root.spec)}};
    root.status.current = {GenerationName(root.spec), *WithDefaults().spec.keep, {}, {}, root.metadata.generation};
  }
  api::SharedRoot WithDefaults() const {
    api::SharedRoot with = root;
    with.spec = api::WithDefaults(with.spec);
    return with;
  }

  test::TestWorld world;
  api::SharedRoot root;
};

TEST_F(SharedRootTest, AClaimIsMadeAndThenAJobFillsIt) {
  world.Absent("claim slurm/main-root");
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("create PersistentVolumeClaim slurm/main-root"));
  EXPECT_THAT(plan.children, IsEmpty());
  Claim({"ReadWriteMany"});
  plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + FillName()));
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("True FillingRoot"));
  test::ExpectGoldenJson("sharedroot", "claim.json", ClaimBody(WithDefaults()));
  test::ExpectGoldenJson("sharedroot", "fill.json", sharedroot::FillJob(WithDefaults(), "uid-claim", {})->body);
  test::ExpectGoldenJson("sharedroot", "switch.json",
                         sharedroot::SwitchJob(WithDefaults(), "g-1", "uid-claim", {})->body);
}

TEST_F(SharedRootTest, WhatIsFilledIsSwitchedToAndThenAtRest) {
  Ran(FillName(), "Complete", R"({"generation":"g","files":120,"bytes":4096,"slurm":"Image"})");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName(), "Job " + SwitchName()));
  ASSERT_EQ(root.status.generations.size(), 1u);
  EXPECT_EQ(root.status.generations[0].files, 120);
  EXPECT_EQ(root.status.generations[0].slurm, "Image");
  EXPECT_EQ(root.status.current.generation, "");
  Ran(SwitchName(), "Complete", "{}");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
  EXPECT_EQ(root.status.current.generation, root.status.generations[0].name);
  EXPECT_THAT(root.status.current.keep, ElementsAre("/home", "/root", "/srv", "/opt", "/usr/local"));
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty()) << "its Jobs have done their work";
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
}

// Kubernetes removes Jobs that have ended; the status remembers.
TEST_F(SharedRootTest, WithoutItsJobsItStaysAtRest) {
  Settle();
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
}

TEST_F(SharedRootTest, AnotherImageOrRevisionIsAnotherGeneration) {
  Settle();
  const std::string first = root.status.current.generation;
  root.spec.revision = "2";
  root.metadata.generation = 4;
  EXPECT_NE(GenerationName(root.spec), first);
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName()));
  EXPECT_EQ(root.status.current.generation, first) << "it is current until the next is whole";
  root.spec.revision = "";
  root.metadata.generation = 5;
  EXPECT_THAT(Look().children, IsEmpty()) << "back to one that is current still";
}

// Its Job may run after the wish has gone, or has run and nobody has seen it.
TEST_F(SharedRootTest, ASwitchThatIsNoLongerWantedIsUndone) {
  Settle();
  root.spec.revision = "2";
  root.metadata.generation = 4;
  Ran(SwitchName(), "", "");
  root.spec.revision = "";
  root.metadata.generation = 5;
  plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + SwitchName()));
  EXPECT_FALSE(plan.children_complete) << "the former is not removed before the status tells of it";
  plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + SwitchName()));
  EXPECT_TRUE(plan.children_complete);
  Ran(SwitchName(), "Complete", "{}");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
  EXPECT_EQ(root.status.current.observed_generation, 5);
}

// The operator ended between two of its writes: the Job is gone, and its pod perhaps not.
TEST_F(SharedRootTest, ASwitchWhoseJobIsGoneIsUndoneToo) {
  Settle();
  root.status.ordered_generation = 4;
  root.metadata.generation = 5;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName()));
}

TEST_F(SharedRootTest, OtherFoldersNeedASwitchAndNoFill) {
  Settle();
  root.spec.node_local = {"/scratch"};
  root.metadata.generation = 4;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName()));
}

TEST_F(SharedRootTest, AGenerationThatIsThereIsSwitchedToAtOnce) {
  Settle();
  root.spec.revision = "2";
  root.metadata.generation = 4;
  root.status.generations.push_back({.name = GenerationName(root.spec)});
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName()));
  Ran(SwitchName(), "Complete", "{}");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
}

TEST_F(SharedRootTest, AGenerationThatSomebodyHasRemovedIsFilledAgain) {
  Settle();
  root.spec.revision = "2";
  root.metadata.generation = 4;
  root.status.generations.push_back({.name = GenerationName(root.spec)});
  Ran(SwitchName(), "Failed", "generation g is not on the volume", "BackoffLimitExceeded");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName())) << "it may have failed for another reason";
  Ran(SwitchName(), "Failed", "generation g is not on the volume", "PodFailurePolicy", kNotOnVolume);
  const plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + FillName()));
  EXPECT_FALSE(plan.children_complete) << "the Job that tells it stays until the status does";
  EXPECT_EQ(root.status.generations.size(), 1u);
  EXPECT_TRUE(Look().children_complete);
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), StartsWith("True FillingRoot"));
}

// --- Files

class RootFilesTest : public SharedRootTest {
 protected:
  RootFilesTest() {
    root.spec.files = {{.path = "/etc/motd", .config_map = "site", .key = "motd"},
                       {.path = "/etc/profile.d/site.sh", .config_map = "site", .key = "profile", .mode = 0755}};
    world.Files("site", {"motd", "profile"});
  }
  std::string FilesName() {
    const plan::Plan plan = Look();
    for (const plan::Child& child : plan.children) {
      if (child.key.name.starts_with("main-files-")) return child.key.name;
    }
    return "";
  }
};

TEST_F(RootFilesTest, AreWrittenBeforeTheRootIsCurrent) {
  Ran(FillName(), "Complete", "{}");
  const std::string files = FilesName();
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + files));
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), StartsWith("True WritingFiles"));
  test::ExpectGoldenJson(
      "sharedroot", "files.json",
      sharedroot::FilesJob(WithDefaults(), "g-1", {{.file = WithDefaults().spec.files[1], .sha256 = "abc"}},
                           "uid-claim", {})
          ->body);
  Ran(files, "Complete", R"({"written":2})");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + files, "Job " + SwitchName()));
  Ran(SwitchName(), "Complete", "{}");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
  EXPECT_THAT(Look().children, IsEmpty());
}

TEST_F(RootFilesTest, AnotherTextIsWrittenToTheCurrentRoot) {
  Settle();
  const std::string first = FilesName();
  Ran(first, "Complete", "{}");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
  world.Files("site", {"motd", "profile"}, "y");
  const std::string second = FilesName();
  EXPECT_NE(second, "");
  EXPECT_NE(second, first);
}

TEST_F(RootFilesTest, ARootThatIsFilledAgainHasNoneYet) {
  Settle();
  Ran(FilesName(), "Complete", "{}");
  Look();
  const std::string name = GenerationName(root.spec);
  EXPECT_THAT(root.status.files, StartsWith(name + " "));
  root.status.generations = {{.name = "g-other"}};
  root.status.current.generation = "g-other";
  Ran(FillName(), "Complete", "{}");
  EXPECT_NE(FilesName(), "") << "somebody had removed it from the volume";
}

TEST_F(RootFilesTest, WhatIsMissingIsSaidAndKeepsNoRootBack) {
  Settle();
  root.spec.revision = "2";
  root.metadata.generation = 4;
  root.status.generations.push_back({.name = GenerationName(root.spec)});
  world.Files("site", {"motd"});
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ReferenceMissing: ConfigMap slurm/site, named in spec.files "
                                                       "for /etc/profile.d/site.sh, has no key profile"));
  const std::string files = FilesName();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + files)) << "the others are written";
  Ran(files, "Complete", "{}");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + files, "Job " + SwitchName()));
  world.Absent("configmap slurm/site");
  plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("does not exist; create it, or correct the name"));
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + SwitchName()));
}

// A Job that is there goes on, and no root becomes current without files that only the API server knows.
TEST_F(RootFilesTest, UntilTheyAreReadNothingIsDone) {
  Settle();
  root.spec.revision = "2";
  root.metadata.generation = 4;
  root.status.generations.push_back({.name = GenerationName(root.spec)});
  for (api::RootFile& file : root.spec.files) file.config_map = "unread";
  world.Failed("configmap slurm/unread", "the API server is away");
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Progressing"), HasSubstr("cannot be read: the API server is away"));
}

TEST_F(RootFilesTest, WhatCannotBeWrittenIsSaidAndKeepsNoRootBack) {
  Ran(FillName(), "Complete", "{}");
  const std::string files = FilesName();
  Ran(files, "Failed", "writing /etc/motd: Is a directory");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("writing /etc/motd: Is a directory; it is tried again in ten minutes"));
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + files, "Job " + SwitchName()));
}

TEST_F(SharedRootTest, OtherMountsNeedASwitchAndNoFill) {
  Settle();
  root.spec.node_local = {"/scratch"};
  root.spec.mounts = {{.path = "/data", .claim = "datasets"}};
  root.metadata.generation = 4;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName()));
  Ran(SwitchName(), "Complete", "{}");
  Look();
  EXPECT_THAT(root.status.current.node_local, ElementsAre("/scratch"));
  EXPECT_THAT(root.status.current.mounts, ElementsAre("/data"));
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True"));
}

// --- Manual

TEST_F(SharedRootTest, ByHandWhatIsFilledIsNotCurrentYet) {
  Settle();
  const std::string first = root.status.current.generation;
  root.spec.switching.policy = "Manual";
  root.spec.revision = "2";
  root.metadata.generation = 4;
  const std::string second = GenerationName(root.spec);
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName()));
  Ran(FillName(), "Complete", R"({"files":1})");
  plan::Plan plan = Look();
  EXPECT_EQ(root.status.current.generation, first);
  EXPECT_THAT(Generations(), ElementsAre(second, first)) << "what was current last is last";
  EXPECT_THAT(ConditionOf(plan, "Ready"),
              HasSubstr("generation " + second +
                        ", of image registry.example.org/hpc/shell:1, "
                        "is filled, and becomes current once spec.switch.current names it"));
  root.spec.switching.current = second;
  root.metadata.generation = 5;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName(second)));
  Ran(SwitchName(second), "Complete", "{}");
  Look();
  EXPECT_EQ(root.status.current.generation, second);
}

TEST_F(SharedRootTest, ByHandTheFirstIsCurrentAtOnce) {
  root.spec.switching.policy = "Manual";
  Ran(FillName(), "Complete", "{}");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName(), "Job " + SwitchName()));
}

// The way back, while the next one cannot be filled.
TEST_F(SharedRootTest, AnOlderOneIsSwitchedToWithoutWaitingForAFill) {
  Settle();
  root.status.generations.insert(root.status.generations.begin(), {.name = "g-old"});
  const std::string broken = root.status.current.generation;
  root.spec.switching = {.policy = "Manual", .current = "g-old"};
  root.spec.revision = "2";
  root.metadata.generation = 4;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName(), "Job " + SwitchName("g-old")));
  Ran(FillName(), "Failed", "the image cannot be pulled");
  Ran(SwitchName("g-old"), "Complete", "{}");
  const plan::Plan plan = Look();
  EXPECT_EQ(root.status.current.generation, "g-old");
  EXPECT_THAT(Generations(), ElementsAre(broken, "g-old")) << "what was current last is last";
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("the image cannot be pulled"));
}

TEST_F(SharedRootTest, ANameThatNoGenerationHasIsSaid) {
  Settle();
  root.spec.switching = {.policy = "Manual", .current = "g-none"};
  root.metadata.generation = 4;
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("ReferenceMissing: generation g-none, named in spec.switch.current, is not on the volume"));
  EXPECT_THAT(plan.children, IsEmpty());
}

// --- History

class OldRootsTest : public SharedRootTest {
 protected:
  OldRootsTest() {
    Settle();
    auto& generations = root.status.generations;
    generations.insert(generations.begin(), {{.name = "g-1"}, {.name = "g-2"}, {.name = "g-3"}});
    root.spec.history = 1;
    Pods({"cpu-0/u0", "main-login-x/u1"});
  }
};

TEST_F(OldRootsTest, ThoseThatAreTooManyAreRemoved) {
  root.spec.history = 3;
  EXPECT_THAT(Look().children, IsEmpty());
  root.spec.history = 1;
  const std::string job = RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"});
  plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Job " + job));
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
  test::ExpectGoldenJson("sharedroot", "remove.json",
                         sharedroot::RemoveJob(WithDefaults(), {"g-1", "g-2"}, {"cpu-0/u0"}, "uid-claim", {})->body);
  Ran(job, "Complete", R"({"removed":["g-1"],"kept":{"g-2":"pod main-login-x is in it"}})");
  Look();
  EXPECT_THAT(Generations(), ElementsAre("g-2", "g-3", root.status.current.generation));
  EXPECT_EQ(root.status.generations[0].kept_by, "pod main-login-x is in it");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + RemoveName({"g-2"}, {"cpu-0/u0", "main-login-x/u1"})));
  root.spec.history = 2;
  Look();
  EXPECT_EQ(root.status.generations[0].kept_by, "") << "it is to stay";
}

// Absence proves nothing.
TEST_F(OldRootsTest, WithoutTheListOfPodsNothingGoes) {
  const std::string question = "pods with claim slurm/main-root after switch uid-root/3";
  world.Failed(question, "the API server is away");
  root.metadata.generation = root.status.current.observed_generation = 3;
  api::SharedRoot before = root;
  test::TestWorld fresh;
  fresh.Answer("claim slurm/main-root",
               std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"uid-claim", {"ReadWriteMany"}}));
  fresh.Put(before);
  const plan::Plan pending = fresh.Decide(&Decide, "main");
  EXPECT_THAT(pending.children, IsEmpty());
  EXPECT_FALSE(pending.children_complete) << "a Job that is there goes on";
  fresh.Failed(question, "the API server is away");
  const plan::Plan failed = fresh.Decide(&Decide, "main");
  EXPECT_THAT(failed.children, IsEmpty());
  EXPECT_THAT(ConditionOf(failed, "Degraded"), HasSubstr("PodsUnknown: no old generation is removed"));
  EXPECT_THAT(ConditionOf(failed, "Ready"), StartsWith("True"));
}

// A pod that was listed before a switch may have another root after it.
TEST_F(OldRootsTest, AfterEverySwitchThePodsAreListedAnew) {
  const std::string before = RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"});
  root.spec.node_local = {"/scratch"};
  root.metadata.generation = 4;
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName())) << "nothing is removed meanwhile";
  Ran(SwitchName(), "Complete", "{}");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + SwitchName()));
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_FALSE(plan.children_complete) << "the list of before is not asked";
  Pods({"cpu-0/u0", "main-login-x/u1"});
  EXPECT_NE(RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"}), before);
}

TEST_F(OldRootsTest, NeitherTheWantedOneNorTheCurrentOneIsTooMany) {
  root.spec.switching.policy = "Manual";
  root.spec.switching.current = "g-1";
  root.spec.history = 0;
  root.metadata.generation = 4;
  Ran(SwitchName("g-1"), "Complete", "{}");
  Look();
  Pods({});
  const std::string source = GenerationName(root.spec);
  EXPECT_THAT(Generations(), ElementsAre("g-2", "g-3", source, "g-1"));
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + RemoveName({"g-2", "g-3"}, {})));
}

TEST_F(OldRootsTest, ARemovalThatFailsIsSaidAndHarmsNothing) {
  const std::string job = RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"});
  Ran(job, "Failed", "removing roots/g-1.removed: Input/output error");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("removing generations g-1, g-2 failed: removing roots/g-1.removed: "
                        "Input/output error; it is tried again in an hour"));
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
  EXPECT_EQ(root.status.generations.size(), 4u);
}

// Its pods were told when it was made; other ones make no other Job, and do not end it.
TEST_F(OldRootsTest, ARemovalThatGoesOnIsNotReplaced) {
  const std::string job = RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"});
  Ran(job, "", "");
  Pods({"cpu-0/u0"});
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  root.spec.history = 2;
  EXPECT_TRUE(Look().children_complete) << "one that is not wanted any more is";
}

// Else nothing would make room on a full volume.
TEST_F(OldRootsTest, OldOnesGoWhileAnotherIsFilled) {
  root.spec.revision = "2";
  root.metadata.generation = 4;
  Ran(FillName(), "Failed", "the volume is full");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName(), StartsWith("Job main-remove-")));
}

// What a Job says of a generation that it was not asked about is not believed.
TEST_F(OldRootsTest, OnlyWhatIsTooManyIsForgotten) {
  const std::string job = RemoveName({"g-1", "g-2"}, {"cpu-0/u0", "main-login-x/u1"});
  Ran(job, "Complete", R"({"removed":["g-1","g-3",")" + root.status.current.generation + R"("],"kept":{}})");
  Look();
  EXPECT_THAT(Generations(), ElementsAre("g-2", "g-3", root.status.current.generation));
}

// A Job of the same name, from before the object was made anew, has done nothing for this one.
TEST_F(SharedRootTest, AJobOfAnotherSharedRootIsNotBelieved) {
  Ran(FillName(), "Complete", "{}");
  root.metadata.uid = "uid-new";
  Look();
  EXPECT_THAT(root.status.generations, IsEmpty());
}

TEST_F(SharedRootTest, WhatCannotBeFilledIsSaidAsTheJobSaysIt) {
  Ran(FillName(), "", "the volume is full: copying /usr/lib/x: No space left on device");
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), HasSubstr("a try failed: the volume is full: copying /usr/lib/x"));
  Ran(FillName(), "Failed", "the volume is full: copying /usr/lib/x: No space left on device");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("JobFailed: filling generation"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("No space left on device; it is tried again in ten minutes"));
}

// It is not to wait for the end of what can never be.
TEST_F(SharedRootTest, ACorrectedSpecHasAnotherJob) {
  const std::string before = FillName();
  root.spec.source.pull_secrets = {{"hub"}};
  EXPECT_NE(FillName(), before);
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName()));
}

TEST_F(SharedRootTest, AJobThatRanOutOfTimeSaysSo) {
  Ran(FillName(), "Failed", "", "Job was active longer than specified deadline");
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("Job was active longer than specified deadline"));
}

TEST_F(SharedRootTest, AnImageThatCannotBePulledIsSaid) {
  Ran(FillName(), "", "");
  Pod pod;
  pod.metadata = {.name = "main-fill-y", .namespace_ = "slurm", .uid = "uid-y"};
  pod.metadata.owner_references = {{.kind = "Job", .name = FillName(), .uid = "uid-" + FillName(), .controller = true}};
  pod.status.phase = "Pending";
  pod.status.container_statuses = {
      {.name = "root", .state = {.waiting = ContainerWaiting{"ImagePullBackOff", "no such image"}, .terminated = {}}}};
  world.Put(pod);
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), HasSubstr("ImagePullBackOff"));
}

TEST_F(SharedRootTest, AClaimForOneWriterIsRefused) {
  Claim({"ReadWriteOnce"});
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ClaimRefused: a shared root needs access mode ReadWriteMany"));
  EXPECT_THAT(plan.children, IsEmpty());
}

TEST_F(SharedRootTest, ADeviceIsRefused) {
  world.Answer("claim slurm/main-root", std::make_shared<const VolumeClaim::Value>(
                                            VolumeClaim::Value{"uid-claim", {"ReadWriteMany"}, "main", true}));
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ClaimRefused: a shared root needs volumeMode Filesystem"));
  EXPECT_THAT(plan.children, IsEmpty());
}

// Nothing is written to a volume that nobody has named.
TEST_F(SharedRootTest, AClaimOfThatNameThatWasMadeForSomethingElseIsLeftAlone) {
  for (const char* made_for : {"", "other"}) {
    world.Answer("claim slurm/main-root", std::make_shared<const VolumeClaim::Value>(
                                              VolumeClaim::Value{"uid-strange", {"ReadWriteMany"}, made_for}));
    const plan::Plan plan = Look();
    EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("NameConflict: PersistentVolumeClaim slurm/main-root is "
                                                         "there, and its labels are not those of this SharedRoot"));
    EXPECT_THAT(plan.children, IsEmpty());
  }
  root.status.claim_uid = "uid-strange";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False")) << "one that has lost its labels is known";
  root.status = {};
  root.spec.claim = {.existing = "main-root"};
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False")) << "it is named";
}

// Kubernetes would make another path of it.
TEST_F(SharedRootTest, APathIsForTheJobsAsItIsWritten) {
  root.spec.keep = {{"/home", "/a$$b", "/$(HOME)"}};
  const auto job = sharedroot::SwitchJob(WithDefaults(), "g-1", "u", {});
  EXPECT_THAT(job->body, HasSubstr(R"x("--keep","/a$$$$b","--keep","/$$(HOME)")x"));
}

TEST_F(SharedRootTest, AClaimThatIsToBeThereIsNotMade) {
  root.spec.claim = {.existing = "jail"};
  world.Absent("claim slurm/jail");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ReferenceMissing: PersistentVolumeClaim slurm/jail"));
  EXPECT_THAT(plan.actions, IsEmpty());
  Claim({"ReadWriteOnce", "ReadWriteMany"}, "jail");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName()));
}

TEST_F(SharedRootTest, OfTwoWithOneClaimTheOlderHasIt) {
  api::SharedRoot elder = root;
  elder.metadata.name = "first";
  elder.metadata.uid = "uid-first";
  elder.metadata.creation_timestamp = world.now - 1h;
  elder.spec.claim = {.existing = "main-root"};
  world.Put(elder);
  root.metadata.creation_timestamp = world.now;
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("is that of SharedRoot first, which is older"));
  EXPECT_THAT(plan.children, IsEmpty());
}

TEST_F(SharedRootTest, AnotherClaimIsAnotherVolumeWithNothingOnIt) {
  Settle();
  Ran(FillName(), "Complete", "{}");
  Ran(SwitchName(), "Complete", "{}");
  Claim({"ReadWriteMany"}, "main-root", "uid-another");
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Job " + FillName("uid-another")));
  EXPECT_EQ(root.status.current.generation, "");
}

TEST_F(SharedRootTest, AClaimThatCannotBeReadChangesNothing) {
  Settle();
  world.Failed("claim slurm/main-root", "the API server is away");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST_F(SharedRootTest, ATemplateIsForAllJobs) {
  root.spec.pod_template.spec.text =
      R"({"containers":[{"name":"sharedroot","resources":{"limits":{"memory":"1Gi"}}}],)"
      R"("initContainers":[{"name":"entry","resources":{"limits":{"memory":"64Mi"}}}],"tolerations":[{"key":"a"}]})";
  for (const auto& job :
       {sharedroot::FillJob(WithDefaults(), "u", {}), sharedroot::SwitchJob(WithDefaults(), "g-1", "u", {}),
        sharedroot::RemoveJob(WithDefaults(), {"g-1"}, {}, "u", {})}) {
    const auto body = json::Parse(job->body);
    for (const std::string_view list : {"containers", "initContainers"}) {
      const json::Value* containers = json::Find(*body, {"spec", "template", "spec", list});
      if (containers == nullptr) continue;
      for (const json::Value& container : containers->get_array()) {
        EXPECT_NE(json::FindText(container, {"image"}), "") << job->body;
        EXPECT_NE(json::FindText(container, {"resources", "limits", "memory"}), "") << job->body;
      }
    }
  }
}

// The Job would be made without it, and nobody would know.
TEST_F(SharedRootTest, AFieldOfTheTemplateThatTheApiServerDoesNotKnowIsLeftOutAndNamed) {
  root.spec.pod_template.spec.text = R"({"tolerashuns":[],"priorityClassName":"high"})";
  const UnknownFields question({"slurm", "main"}, {"spec.template.spec", root.spec.pod_template.spec.text}, {});
  world.Answer(question.id(),
               std::make_shared<const UnknownFields::Value>(UnknownFields::Value{"spec.template.spec.tolerashuns"}));
  const plan::Plan plan = Look();
  ASSERT_EQ(plan.children.size(), 1u);
  const std::string& job = plan.children[0].body;
  EXPECT_THAT(job, HasSubstr(R"("priorityClassName":"high")"));
  EXPECT_THAT(job, Not(HasSubstr("tolerashuns")));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True UnknownFields: spec.template.spec.tolerashuns is no field that the API server knows"));
}

TEST_F(SharedRootTest, ATemplateThatIsNoneIsSaid) {
  root.spec.pod_template.spec.text = "[]";
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("InvalidSpec: spec.template.spec"));
  EXPECT_THAT(plan.children, IsEmpty());
}

}  // namespace
}  // namespace capstan::op::sharedroot
