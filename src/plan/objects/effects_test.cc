// Effects on the modelled API server: what they do about what is there already, lists of several writers, keys and
// tokens, derived names.
#include "plan/objects/effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "base/hash.h"
#include "json/codec.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "plan/filled_test.h"
#include "plan/objects/derived_name.h"
#include "plan/objects/guards.h"
#include "plan/objects/lists.h"
#include "plan/objects/secrets.h"
#include "plan/services.h"
#include "plan/slurm/token.h"
#include "slurm/jwt.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;

struct SeenPod {
  json::ObjectMeta metadata;
  static constexpr const kube::Resource& kResource = kube::kPods;
  friend bool operator==(const SeenPod&, const SeenPod&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<SeenPod>({json::Field<&SeenPod::metadata>("metadata")});
    return schema;
  }
};

class EffectsTest : public ::testing::Test {
 protected:
  Result<void> Run(std::shared_ptr<const Effect> effect) {
    Result<void> result;
    async::TaskGroup group(loop);
    group.Spawn("effect", async::testing::Into(result, effect->Run(services, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return result;
  }
  Proof Prove(const std::shared_ptr<const Guard>& guard) {
    Result<Proof> proof = Proof::kUnknown;
    async::TaskGroup group(loop);
    group.Spawn("prove", async::testing::Into(proof, guard->Prove(services, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return proof.value_or(Proof::kUnknown);
  }
  void PutConfigMap(std::string_view finalizers) {
    server.Put(kube::kConfigMaps,
               R"({"metadata":{"namespace":"ns","name":"a","finalizers":)" + std::string(finalizers) + "}}");
  }
  json::ObjectMeta Seen() {
    const json::Value& object = *server.objects().Find(kube::kConfigMaps, key);
    return *json::Decode<json::ObjectMeta>(json::Serialize(*json::Find(object, {"metadata"})));
  }
  std::string Finalizers() {
    const json::Value* list = json::Find(*server.objects().Find(kube::kConfigMaps, key), {"metadata", "finalizers"});
    return list == nullptr ? "none" : json::Serialize(*list);
  }

  void PutSecret(const std::string& name, const std::string& data_key, std::string_view value) {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":")" + name + R"("},"data":{")" + data_key +
                                   R"(":")" + Base64(value) + R"("}})");
  }
  std::string ValueOf(const std::string& name, std::string_view data_key) {
    return std::string(json::FindText(*server.objects().Find(kube::kSecrets, {"ns", name}), {"data", data_key}));
  }

  static Code CodeOf(const Result<void>& done) { return done ? Code::kInternal : done.error().code(); }

  // A pod controlled by `owner`; its uid.
  std::string PutPod(const std::string& owner = "me") {
    const json::Value made =
        server.Put(kube::kPods, R"({"metadata":{"namespace":"ns","name":"a","ownerReferences":[{"apiVersion":"v1",)"
                                R"("kind":"Owner","name":"o","controller":true,"uid":")" +
                                    owner + R"("}]}})");
    return std::string(json::FindText(made, {"metadata", "uid"}));
  }
  // Another one of that name; its uid.
  std::string PutNamesake() {
    server.Remove(kube::kPods, key);
    return PutPod();
  }
  std::string PodUid() {
    const json::Value* there = server.Find(kube::kPods, key);
    return there == nullptr ? "" : std::string(json::FindText(*there, {"metadata", "uid"}));
  }
  // The store shows the pod as it is.
  void Show() {
    if (stores.Find(kube::kPods) == nullptr) stores.Add<SeenPod>().AddFeed("");
    ASSERT_TRUE(*stores.Find(kube::kPods)->Answered(json::Serialize(*server.Find(kube::kPods, key)), loop.Now()));
  }
  const json::ObjectMeta* Shown() { return stores.Find(kube::kPods)->MetaOf(key); }
  Result<void> CreatePod(std::string_view owner = "me") {
    return Run(Create(pod, R"({"metadata":{"namespace":"ns","name":"a"}})", std::string(owner)));
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{
      loop, client, stores, memo, clusters, "capstan", [](size_t bytes) { return Secret(std::string(bytes, 'r')); },
      {}};
  const kube::Key key{"ns", "a"};
  const ObjectRef ref{&kube::kConfigMaps, key};
  const ObjectRef pod{&kube::kPods, key};
};

// --- What is there already -------------------------------------------------------------------------------------------

TEST_F(EffectsTest, WhatItsOwnerMadeAlreadyCountsAsCreated) {
  const std::string uid = PutPod("me");
  EXPECT_TRUE(CreatePod());
  EXPECT_EQ(PodUid(), uid);
}

TEST_F(EffectsTest, WhatAStrangerMadeIsANameConflictUnlessAnybodysWillDo) {
  const std::string uid = PutPod("somebody");
  const auto created = CreatePod();
  ASSERT_FALSE(created);
  EXPECT_EQ(ReasonOf(created.error()), "NameConflict");
  EXPECT_TRUE(CreatePod(""));
  EXPECT_EQ(PodUid(), uid);
}

TEST_F(EffectsTest, WhatIsStillTerminatingIsAConflictAndCreatedOnceItIsGone) {
  PutPod("me");
  const auto set_finalizers = [this](boost::json::array finalizers) {
    server.Edit(kube::kPods, key, "",
                [&](json::Value& object) { json::MakeObject(object, {"metadata"})["finalizers"] = finalizers; });
  };
  set_finalizers({"theirs"});
  server.Remove(kube::kPods, key);
  const auto created = CreatePod();
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code(), Code::kConflict);
  EXPECT_THAT(created.error().message(), HasSubstr("still terminating"));
  set_finalizers({});
  EXPECT_TRUE(CreatePod());
  EXPECT_NE(PodUid(), "");
}

TEST_F(EffectsTest, ANamesakeIsNotPatched) {
  const std::string uid = PutPod();
  const std::string namesake = PutNamesake();
  const auto label = [this](std::string of) {
    return Run(MergePatch("label", pod, std::move(of), R"({"metadata":{"labels":{"l":"1"}}})"));
  };
  EXPECT_EQ(CodeOf(label(uid)), Code::kConflict);
  EXPECT_EQ(json::Find(*server.Find(kube::kPods, key), {"metadata", "labels"}), nullptr);
  EXPECT_TRUE(label(namesake));
}

// It was written to whatever had the name.
// A Secret was read as it had been for a minute after our own patch of it.
TEST_F(EffectsTest, AFormerReadOfASecretIsOutOfDateOnceItWasPatched) {
  EXPECT_EQ(MergePatch("take over", {&kube::kSecrets, {"ns", "s"}}, "uid", "{}")->outdates(), "secret ns/s");
  EXPECT_EQ(MergePatch("label", {&kube::kPods, {"ns", "s"}}, "uid", "{}")->outdates(), "");
}

TEST_F(EffectsTest, ANamesakeHasNoStatusWritten) {
  const std::string uid = PutPod();
  Show();
  const std::string namesake = PutNamesake();
  const auto write = [this](std::string of) { return Run(ApplyStatus(pod, std::move(of), R"({"word":"ours"})")); };
  EXPECT_EQ(CodeOf(write(uid)), Code::kConflict) << "which only the server knows";
  EXPECT_EQ(server.writes().size(), 1u);
  Show();
  EXPECT_EQ(CodeOf(write(uid)), Code::kConflict) << "which the store shows";
  EXPECT_EQ(server.writes().size(), 1u);
  EXPECT_EQ(json::FindText(*server.Find(kube::kPods, key), {"status", "word"}), "");
  EXPECT_TRUE(write(namesake));
}

TEST_F(EffectsTest, WhatIsGoneCountsAsDeletedAndANamesakeStays) {
  const std::string uid = PutPod();
  Show();
  const auto unchanged = DeleteUnchanged(pod, uid, Shown()->resource_version, "");
  const auto proven = Delete(pod, uid, Proven(SameGeneration(pod, uid, 1)), "");
  const std::string namesake = PutNamesake();
  EXPECT_TRUE(Run(unchanged.effect));
  EXPECT_EQ(Shown(), nullptr) << "the store knows it at once";
  EXPECT_TRUE(Run(proven.effect));
  EXPECT_EQ(PodUid(), namesake);
  server.Remove(kube::kPods, key);
  EXPECT_TRUE(Run(proven.effect));
}

TEST_F(EffectsTest, AnObjectAsksForTheSameWhileItsAnnotationIsThereStill) {
  const std::string uid = PutPod();
  const auto annotated = [&](const json::Value& value) {
    server.Edit(kube::kPods, key, "",
                [&](json::Value& object) { json::MakeObject(object, {"metadata", "annotations"})["stopped"] = value; });
  };
  const auto generation = [&] {
    const json::Value* found = json::Find(*server.Find(kube::kPods, key), {"metadata", "generation"});
    return found != nullptr && found->is_int64() ? found->get_int64() : 0;
  };
  const auto same = [&] { return Prove(SameGeneration(pod, uid, generation(), {"stopped", "true"})); };
  EXPECT_EQ(same(), Proof::kNo);
  EXPECT_EQ(Prove(SameGeneration(pod, uid, generation())), Proof::kYes);
  annotated("true");
  EXPECT_EQ(same(), Proof::kYes);
  annotated("false");
  EXPECT_EQ(same(), Proof::kNo);
}

TEST_F(EffectsTest, NothingIsControlledOnceAFreshListSaysSo) {
  PutPod("me");
  EXPECT_EQ(Prove(NothingControlled(kube::kPods, "ns", "me")), Proof::kNo);
  EXPECT_EQ(Prove(NothingControlled(kube::kPods, "ns", "somebody")), Proof::kYes);
  EXPECT_EQ(Prove(NothingControlled(kube::kPods, "elsewhere", "me")), Proof::kYes);
  server.deny = [](std::string_view, const kube::Resource&, const kube::Key&) {
    return std::optional(kube::testing::Refusal{503, "ServiceUnavailable", "not now"});
  };
  EXPECT_EQ(Prove(NothingControlled(kube::kPods, "ns", "somebody")), Proof::kUnknown);
}

TEST_F(EffectsTest, WhatIsThereStillIsNotDeleted) {
  const std::string uid = PutPod();
  Show();
  const auto unchanged = DeleteUnchanged(pod, uid, Shown()->resource_version, "");
  server.Edit(kube::kPods, key, "", [](json::Value& object) { json::MakeObject(object, {"spec"})["moved"] = true; });
  EXPECT_EQ(CodeOf(Run(unchanged.effect)), Code::kConflict);
  server.deny = [](std::string_view method, const kube::Resource&, const kube::Key&) {
    return method == "DELETE" ? std::optional(kube::testing::Refusal{403, "Forbidden", "no"}) : std::nullopt;
  };
  EXPECT_EQ(CodeOf(Run(unchanged.effect)), Code::kForbidden);
  EXPECT_EQ(PodUid(), uid);
  EXPECT_NE(Shown(), nullptr);
}

// Of a patch that was refused for good nobody saw that its target had become another: it waited five minutes.
TEST_F(EffectsTest, WhatWasRefusedIsSeenToHaveAnotherTargetWhenMoreThanItsStatusChanged) {
  const std::string uid = PutPod();
  const std::vector<std::shared_ptr<const Effect>> effects = {
      MergePatch("label", pod, uid, "{}"), ChangeConditions({&kube::kPods, key}, uid, {}, {"x"}),
      Delete(pod, uid, Proven(SameGeneration(pod, uid, 1)), "").effect};
  const auto seen = [&] {
    std::vector<uint64_t> digests;
    for (const auto& effect : effects) digests.push_back(effect->TargetDigest(services));
    return digests;
  };
  EXPECT_THAT(seen(), ::testing::Each(0u)) << "nothing is known of it";
  Show();
  const auto before = seen();
  EXPECT_THAT(before, ::testing::Each(::testing::Ne(0u)));
  const auto edit = [this](std::string_view part, std::string_view subresource) {
    server.Edit(
        kube::kPods, key, subresource, [&](json::Value& object) { json::MakeObject(object, {part})["word"] = "new"; },
        "somebody");
    Show();
  };
  edit("status", "status");
  EXPECT_EQ(seen(), before);
  edit("spec", "");
  EXPECT_THAT(seen(), ::testing::Pointwise(::testing::Ne(), before));
}

// --- Lists of several writers ----------------------------------------------------------------------------------------

TEST_F(EffectsTest, AFinalizerComesAndGoesAmongOthers) {
  PutConfigMap(R"(["theirs/1","theirs/2"])");
  ASSERT_TRUE(Run(AddFinalizer(ref, Seen(), "ours")));
  EXPECT_EQ(Finalizers(), R"(["theirs/1","theirs/2","ours"])");
  ASSERT_TRUE(Run(RemoveFinalizer(ref, Seen(), "ours")));
  EXPECT_EQ(Finalizers(), R"(["theirs/1","theirs/2"])");
}

TEST_F(EffectsTest, AFinalizerOfWhatIsGoneIsGoneAndNoneCanBeAdded) {
  PutConfigMap(R"(["ours"])");
  const json::ObjectMeta seen = Seen();
  server.Edit(kube::kConfigMaps, key, "",
              [](json::Value& object) { json::MakeObject(object, {"metadata"}).erase("finalizers"); });
  server.Remove(kube::kConfigMaps, key);
  EXPECT_TRUE(Run(RemoveFinalizer(ref, seen, "ours")));
  const auto added = Run(AddFinalizer(ref, seen, "more"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), Code::kNotFound);
}

TEST_F(EffectsTest, ANamesakeKeepsItsFinalizers) {
  PutConfigMap(R"(["ours"])");
  json::ObjectMeta seen = Seen();
  seen.uid = "another-uid";
  for (const auto& effect : {RemoveFinalizer(ref, seen, "ours"), AddFinalizer(ref, seen, "more")}) {
    const auto done = Run(effect);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::kConflict);
  }
  EXPECT_EQ(Finalizers(), R"(["ours"])");
}

TEST_F(EffectsTest, AFinalizerIsNotChangedInAnObjectThatMovedSinceItWasSeen) {
  PutConfigMap(R"(["theirs","ours"])");
  const json::ObjectMeta seen = Seen();
  server.Edit(kube::kConfigMaps, key, "", [](json::Value& object) {
    json::MakeObject(object, {"metadata"})["finalizers"] = boost::json::array{"first", "theirs", "ours"};
  });
  for (const auto& effect : {RemoveFinalizer(ref, seen, "ours"), AddFinalizer(ref, seen, "more")}) {
    const auto done = Run(effect);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::kConflict) << done.error().message();
  }
  EXPECT_EQ(Finalizers(), R"(["first","theirs","ours"])");
}

// After a write of our own the store showed fields that the watch then took away again.
TEST_F(EffectsTest, AStoreOfMetadataShowsNothingElseOfWhatWeWroteEither) {
  stores.Add<Filled>({.metadata_only = true}).AddFeed("");
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns","labels":{"l":"1"}},)"
      R"("data":{"big":"much"}})";
  const auto applied = Run(Apply(ref, body, {.uid = "me"}));
  ASSERT_TRUE(applied) << applied.error().message();
  const Filled* shown = stores.Of<Filled>().Find(key);
  ASSERT_NE(shown, nullptr) << "at once";
  EXPECT_EQ(shown->metadata.labels.size(), 1u);
  EXPECT_TRUE(shown->data.empty());
  EXPECT_TRUE(Apply(ref, body, {.uid = "me"})->Satisfied(services));
}

// --- Keys and tokens -------------------------------------------------------------------------------------------------

TEST_F(EffectsTest, AKeyIsMadeOnceAndWhatIsThereIsLeftAsItIs) {
  const kube::Key name{"ns", "key"};
  const auto make = [&] {
    return Run(CreateSecret({.key = name, .metadata = R"({"labels":{"part":"key"}})", .immutable = true},
                            RandomBytes("jwt.key", 4)));
  };
  ASSERT_TRUE(make());
  const json::Value made = *server.Find(kube::kSecrets, name);
  EXPECT_EQ(json::FindText(made, {"data", "jwt.key"}), Base64("rrrr"));
  EXPECT_EQ(json::FindText(made, {"metadata", "labels", "part"}), "key");
  EXPECT_EQ(*json::Find(made, {"immutable"}), json::Value(true));
  services.entropy = [](size_t bytes) { return Secret(std::string(bytes, 'x')); };
  ASSERT_TRUE(make());
  EXPECT_EQ(*server.Find(kube::kSecrets, name), made);
}

constexpr std::string_view kOwned =
    R"({"labels":{"part":"a"},"ownerReferences":[{"apiVersion":"v1","kind":"Owner","name":"o","controller":true,"uid":"me"}]})";

std::shared_ptr<const Effect> WriteToken(Duration lifetime = 1h) {
  return WriteSecret({.key = {"ns", "login-token"}, .metadata = std::string(kOwned)}, "me",
                     SignedToken({.data_key = "SLURM_JWT",
                                  .signing_key = {"ns", "key"},
                                  .signing_data_key = "jwt.key",
                                  .user = "alice",
                                  .lifetime = lifetime}));
}

TEST_F(EffectsTest, ATokenIsSignedWhenItIsWrittenAndReplacedWhenItIsWrittenAgain) {
  const auto early = Run(WriteToken());
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), Code::kNotFound);

  PutSecret("key", "jwt.key", "signing bytes");
  const auto issued = Run(WriteToken());
  ASSERT_TRUE(issued) << issued.error().message();
  const auto token = FromBase64(ValueOf("login-token", "SLURM_JWT"));
  ASSERT_TRUE(token);
  const auto claims = slurm::ReadToken(Secret(*token), Secret("signing bytes"));
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(claims->user, "alice");
  EXPECT_GT(claims->expires_at - claims->issued_at, 1h - 1s);

  loop.Advance(1min);
  ASSERT_TRUE(Run(WriteToken()));
  EXPECT_NE(FromBase64(ValueOf("login-token", "SLURM_JWT")), token);
}

// The sum was beyond what a Time holds, and the token would have ended before it began.
TEST_F(EffectsTest, ATokenForCenturiesEndsAsLateAsSlurmCanTell) {
  PutSecret("key", "jwt.key", "signing bytes");
  for (const Duration lifetime : {Duration(2400000h), Duration::max()}) {
    ASSERT_TRUE(Run(WriteToken(lifetime)));
    const auto token = FromBase64(ValueOf("login-token", "SLURM_JWT"));
    const auto claims = slurm::ReadToken(Secret(token.value_or("")), Secret("signing bytes"));
    ASSERT_TRUE(claims) << claims.error().message();
    EXPECT_EQ(claims->expires_at, slurm::kLatestExpiry);
  }
}

TEST_F(EffectsTest, ASecretOfSomebodyElseIsNotWrittenTo) {
  PutSecret("key", "jwt.key", "signing bytes");
  PutSecret("login-token", "SLURM_JWT", "theirs");
  const auto refused = Run(WriteToken());
  EXPECT_EQ(CodeOf(refused), Code::kAlreadyExists);
  EXPECT_EQ(FromBase64(ValueOf("login-token", "SLURM_JWT")), "theirs");
}

TEST_F(EffectsTest, ASecretOfOursGetsTheseValuesAndNoOthersAndKeepsOtherLabels) {
  server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"conf","labels":{"theirs":"1"},)" +
                                 std::string(kOwned.substr(kOwned.find("\"owner"))) + R"(,"data":{"old":"eA=="}})");
  PutSecret("db", "password", "pa#ss");
  const auto quoted = [](std::string_view value) -> Result<std::string> { return "<" + std::string(value) + ">"; };
  const auto write = [&](Result<std::string> (*how)(std::string_view)) {
    return Run(WriteSecret({.key = {"ns", "conf"}, .metadata = std::string(kOwned)}, "me",
                           SecretText("slurmdbd.conf", {{.text = "StoragePass="},
                                                        {.secret = {"ns", "db"},
                                                         .data_key = "password",
                                                         .field = "spec.storageConfig.passwordKeyRef",
                                                         .write = how},
                                                        {.text = "\n"}})));
  };
  const auto done = write(quoted);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(FromBase64(ValueOf("conf", "slurmdbd.conf")), "StoragePass=<pa#ss>\n");
  EXPECT_EQ(ValueOf("conf", "old"), "");
  const json::Value* made = server.objects().Find(kube::kSecrets, {"ns", "conf"});
  EXPECT_EQ(json::FindText(*made, {"metadata", "labels", "theirs"}), "1");
  EXPECT_EQ(json::FindText(*made, {"metadata", "labels", "part"}), "a");

  const auto refused = write([](std::string_view) -> Result<std::string> { return Fail(Code::kInvalid, "too odd"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "spec.storageConfig.passwordKeyRef: too odd");
  EXPECT_EQ(FromBase64(ValueOf("conf", "slurmdbd.conf")), "StoragePass=<pa#ss>\n");
}

// --- Names -----------------------------------------------------------------------------------------------------------

TEST(DerivedName, DependsOnOwnerSlotAndPredecessor) {
  const std::string name = DerivedName("worker", "uid-1", "3", "");
  EXPECT_EQ(name, DerivedName("worker", "uid-1", "3", ""));
  EXPECT_EQ(name.size(), std::string("worker-").size() + 10);
  EXPECT_NE(name, DerivedName("worker", "uid-2", "3", ""));
  EXPECT_NE(name, DerivedName("worker", "uid-1", "4", ""));
  EXPECT_NE(name, DerivedName("worker", "uid-1", "3", "pod-1"));
  EXPECT_NE(DerivedName("worker", "uid-1", "31", "1"), DerivedName("worker", "uid-1", "3", "11"));
}

TEST(DerivedName, IsALabelWhateverThePrefix) {
  EXPECT_EQ(DerivedName(std::string(80, 'a'), "u", "s", "").size(), 63u);
  EXPECT_EQ(DerivedName(std::string(51, 'a') + "-x", "u", "s", "").find("--"), std::string::npos);
}

}  // namespace
}  // namespace capstan::plan
