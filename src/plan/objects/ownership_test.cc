// Whose an object is, and how fields pass from a former manager to us: the rules alone, and in an apply.
#include "plan/ownership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "kube/testing/fake_api_server.h"
#include "plan/objects/effects.h"
#include "plan/objects/managed_fields.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kFormer{"manager"};
const Successor kSuccessor{"capstan", kFormer};

json::Value Json(std::string_view text) { return *json::Parse(text); }

json::ObjectMeta OwnedBy(std::vector<json::OwnerReference> owners) {
  json::ObjectMeta meta;
  meta.owner_references = std::move(owners);
  return meta;
}
json::OwnerReference Owner(std::string uid, bool controller = false) {
  json::OwnerReference owner;
  owner.uid = std::move(uid);
  if (controller) owner.controller = true;
  return owner;
}

struct IsOursCase {
  const char* name;
  json::ObjectMeta object;
  Adoption adoption;
  bool ours;
};

class OwnershipTest : public ::testing::TestWithParam<IsOursCase> {};

TEST_P(OwnershipTest, TellsOursFromStrangers) {
  EXPECT_EQ(IsOurs(GetParam().object, "me", GetParam().adoption), GetParam().ours);
}

json::ObjectMeta Labelled(std::map<std::string, std::string> labels, std::vector<json::OwnerReference> owners = {}) {
  json::ObjectMeta meta = OwnedBy(std::move(owners));
  meta.labels = std::move(labels);
  return meta;
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnershipTest,
    ::testing::Values(
        IsOursCase{"Controlled", OwnedBy({Owner("me", true)}), {}, true},
        IsOursCase{"ControlledByAnother", OwnedBy({Owner("other", true)}), {}, false},
        IsOursCase{
            "ControlledByAnotherThatAlsoNamesUs", OwnedBy({Owner("other", true), Owner("me")}), {{"me"}, {}}, false},
        IsOursCase{"OwnedWithoutController", OwnedBy({Owner("x"), Owner("me")}), {}, true},
        IsOursCase{"OwnedByOneThatIsNamed", OwnedBy({Owner("x"), Owner("set-1")}), {{"set-0", "set-1"}, {}}, true},
        IsOursCase{"OwnedByStrangers", OwnedBy({Owner("x")}), {{"set-1"}, {}}, false},
        IsOursCase{"NobodysAndUnlabelled", OwnedBy({}), {}, false},
        IsOursCase{"NobodysWithAllLabels",
                   Labelled({{"a", "1"}, {"b", "2"}, {"c", "3"}}),
                   {{}, {{"a", "1"}, {"b", "2"}}},
                   true},
        IsOursCase{
            "NobodysWithSomeLabels", Labelled({{"a", "1"}, {"b", "other"}}), {{}, {{"a", "1"}, {"b", "2"}}}, false},
        IsOursCase{"LabelsDoNotBeatAnOwner", Labelled({{"a", "1"}}, {Owner("x")}), {{}, {{"a", "1"}}}, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Fields, AMemberIsGivenUpWithWhatHeldNothingElse) {
  const std::vector<std::string> members{"spec/replicas", "spec/a/b", "other/x"};
  const auto without = WithoutMembers(Json(R"([
      {"manager":"capstan","operation":"Apply","subresource":"status","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"other","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"capstan","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"capstan","operation":"Apply","apiVersion":"v0","fieldsV1":
          {"f:spec":{"f:replicas":{},"f:a":{"f:b":{}},"f:image":{}}}}])"),
                                      "capstan", members);
  ASSERT_TRUE(without);
  EXPECT_EQ(json::SerializeCanonical(*without), json::SerializeCanonical(Json(R"([
      {"manager":"capstan","operation":"Apply","subresource":"status","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"other","operation":"Apply","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"capstan","operation":"Update","fieldsV1":{"f:spec":{"f:replicas":{}}}},
      {"manager":"capstan","operation":"Apply","apiVersion":"v0","fieldsV1":{"f:spec":{"f:image":{}}}}])")));
  EXPECT_EQ(WithoutMembers(*without, "capstan", members), std::nullopt) << "once is enough";
  EXPECT_EQ(WithoutMembers(Json("null"), "capstan", members), std::nullopt);
}

TEST(Fields, AMemberAsAWholeIsNotLostBesideItsChildren) {
  const auto folded = FoldFormerManagers(Json(R"([
      {"manager":"manager","operation":"Update","apiVersion":"v1","fieldsV1":{"f:a":{},"f:b":{"f:x":{}}}},
      {"manager":"capstan","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:a":{"f:y":{}},"f:b":{"f:z":{}}}}])"),
                                         kSuccessor, "v1");
  ASSERT_TRUE(folded);
  EXPECT_EQ(json::SerializeCanonical(*json::Find(folded->get_array()[0], {"fieldsV1"})),
            R"({"f:a":{".":{},"f:y":{}},"f:b":{"f:x":{},"f:z":{}}})");
}

constexpr std::string_view kEntries = R"([
  {"manager":"manager","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:data":{".":{},"f:old":{}}}},
  {"manager":"manager","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","subresource":"status","fieldsV1":{"f:status":{}}},
  {"manager":"manager","operation":"Update","apiVersion":"v0","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{}}},
  {"manager":"kubectl-edit","operation":"Update","apiVersion":"v1","time":"2026-02-01T00:00:00Z","fieldsV1":{"f:data":{"f:theirs":{}}}},
  {"manager":"capstan","operation":"Apply","apiVersion":"v1","time":"2026-03-01T00:00:00Z","fieldsV1":{"f:data":{"f:ours":{}}}}])";

TEST(Fields, OnlyTheFormerManagersOwnWritesBecomeOurs) {
  const auto folded = FoldFormerManagers(Json(kEntries), kSuccessor, "v1");
  ASSERT_TRUE(folded);
  const bool one_less = folded->get_array().size() == 4;
  EXPECT_TRUE(one_less) << json::Serialize(*folded);
  const std::string text = json::SerializeCanonical(*folded);
  EXPECT_THAT(text, HasSubstr(R"({"f:data":{".":{},"f:old":{},"f:ours":{}}},"manager":"capstan","operation":"Apply")"));
  EXPECT_THAT(text, HasSubstr(R"("fieldsV1":{"f:data":{"f:theirs":{}}},"manager":"kubectl-edit")"));
  EXPECT_THAT(text, HasSubstr(R"("subresource":"status")"));
  EXPECT_THAT(text, HasSubstr(R"("apiVersion":"v0")"));
  EXPECT_FALSE(FoldFormerManagers(*folded, kSuccessor, "v1")) << "once";
}

// Of the status of a custom resource, what only the former manager knew to say stayed for ever.
TEST(Fields, OfAStatusItIsTheEntryOfTheStatus) {
  const auto folded = FoldFormerManagers(Json(kEntries), kSuccessor, "v1", "status");
  ASSERT_TRUE(folded);
  const std::string text = json::SerializeCanonical(*folded);
  EXPECT_THAT(
      text, HasSubstr(R"("fieldsV1":{"f:status":{}},"manager":"capstan","operation":"Apply","subresource":"status")"));
  EXPECT_THAT(text, HasSubstr(R"({"f:data":{".":{},"f:old":{}}},"manager":"manager","operation":"Update")"));
  EXPECT_THAT(text, HasSubstr(R"("fieldsV1":{"f:data":{"f:ours":{}}},"manager":"capstan","operation":"Apply")"));
}

TEST(Fields, TheOneWhoWroteLastIsNamed) {
  EXPECT_EQ(LastOtherManager(Json(kEntries), "capstan", ""), "kubectl-edit");
  EXPECT_EQ(LastOtherManager(Json(kEntries), "kubectl-edit", ""), "capstan");
  EXPECT_EQ(LastOtherManager(Json("[]"), "capstan", ""), "");
}

// Of an object that an autoscaler scales and a kubelet reports on, nobody or the wrong one was named.
TEST(Fields, TheOneWhoWroteThatPartLastIsNamed) {
  const json::Value entries = Json(R"([
      {"manager":"kubectl-edit","operation":"Update","time":"2026-01-01T00:00:00Z"},
      {"manager":"autoscaler","operation":"Update","time":"2026-02-01T00:00:00Z","subresource":"scale"},
      {"manager":"kubelet","operation":"Update","time":"2026-03-01T00:00:00Z","subresource":"status"},
      {"manager":"capstan","operation":"Apply","time":"2026-04-01T00:00:00Z","subresource":"status"}])");
  EXPECT_EQ(LastOtherManager(entries, "capstan", ""), "autoscaler");
  EXPECT_EQ(LastOtherManager(entries, "capstan", "status"), "kubelet");
  EXPECT_EQ(LastOtherManager(entries, "kubelet", "status"), "capstan");
}

// --- In an apply -----------------------------------------------------------------------------------------------------

class TakeOverTest : public ::testing::Test {
 protected:
  Result<void> Apply(std::string_view data, Adoption adoption = {}, std::vector<std::string> keeps = {}) {
    const std::string body =
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"ns",)"
        R"("ownerReferences":[{"apiVersion":"v1","kind":"Owner","name":"o","uid":"me","controller":true}]},"data":)" +
        std::string(data) + "}";
    return Run(plan::Apply({&kube::kConfigMaps, key}, body, {"me", std::move(adoption)}, std::move(keeps)));
  }
  Result<void> Run(const std::shared_ptr<const Effect>& effect) {
    Result<void> result;
    async::TaskGroup group(loop);
    group.Spawn("apply", async::testing::Into(result, effect->Run(services, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return result;
  }
  std::string Data() {
    return json::SerializeCanonical(*json::Find(*server.objects().Find(kube::kConfigMaps, key), {"data"}));
  }
  void Theirs(std::string_view member, std::string_view value, std::string_view manager) {
    server.Edit(
        kube::kConfigMaps, key, "", [&](json::Value& object) { json::MakeObject(object, {"data"})[member] = value; },
        std::string(manager));
  }
  void PutOwned(std::string_view owner) {
    server.Put(kube::kConfigMaps,
               R"({"metadata":{"namespace":"ns","name":"a","ownerReferences":[)" + std::string(owner) +
                   R"(]},"data":{"old":"1","kept":"1"}})",
               "", "manager");
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{loop, client, stores, memo, clusters, "capstan", nullptr, kFormer};
  const kube::Key key{"ns", "a"};
};

TEST_F(TakeOverTest, WhatTheFormerManagerSetAndNobodyWantsGoes) {
  PutOwned(R"({"apiVersion":"v1","kind":"Owner","name":"o","uid":"me","controller":true})");
  Theirs("theirs", "1", "kubectl-edit");
  const auto applied = Apply(R"({"kept":"2"})");
  ASSERT_TRUE(applied) << applied.error().message();
  EXPECT_EQ(Data(), R"({"kept":"2","theirs":"1"})");
}

TEST_F(TakeOverTest, WhatComesLaterUnderThatNameStays) {
  PutOwned(R"({"apiVersion":"v1","kind":"Owner","name":"o","uid":"me","controller":true})");
  ASSERT_TRUE(Apply(R"({"kept":"2"})"));
  Theirs("injected", "1", "manager");
  ASSERT_TRUE(Apply(R"({"kept":"3"})"));
  EXPECT_EQ(Data(), R"({"injected":"1","kept":"3"})");
}

TEST_F(TakeOverTest, AStrangerOfTheSameNameIsLeftAlone) {
  PutOwned(R"({"apiVersion":"v1","kind":"Owner","name":"o","uid":"somebody","controller":true})");
  const auto applied = Apply(R"({"kept":"2"})");
  ASSERT_FALSE(applied);
  EXPECT_EQ(ReasonOf(applied.error()), "NameConflict");
  EXPECT_EQ(Data(), R"({"kept":"1","old":"1"})");
}

// Who read "remove one of the two" would have removed what works.
TEST_F(TakeOverTest, OfWhatNobodyOwnsTheLabelIsToldByWhichItIsTakenOver) {
  PutOwned("");
  const auto applied = Apply(R"({"kept":"2"})", {.owners = {}, .labels = {{"give", "me"}}});
  ASSERT_FALSE(applied);
  EXPECT_EQ(ReasonOf(applied.error()), "NameConflict");
  EXPECT_THAT(applied.error().message(),
              HasSubstr("exists and nobody owns it; it is taken over once it has the label give=me, or rename"));
  EXPECT_EQ(Data(), R"({"kept":"1","old":"1"})");
}

TEST_F(TakeOverTest, AnObjectOfSeveralOwnersThatAreNamedIsAdopted) {
  PutOwned(R"({"apiVersion":"v1","kind":"Set","name":"s","uid":"set-1"})");
  const auto applied = Apply(R"({"kept":"2"})", {.owners = {"set-0", "set-1"}});
  ASSERT_TRUE(applied) << applied.error().message();
  EXPECT_EQ(Data(), R"({"kept":"2"})");
}

TEST_F(TakeOverTest, AMemberThatIsKeptStaysOnceItIsNoLongerNamed) {
  const std::vector<std::string> keeps{"data/size"};
  ASSERT_TRUE(Apply(R"({"k":"1","size":"5"})", {}, keeps));
  ASSERT_TRUE(Apply(R"({"k":"2"})", {}, keeps));
  EXPECT_EQ(Data(), R"({"k":"2","size":"5"})");
  Theirs("size", "9", "autoscaler");
  server.ForgetWrites();
  ASSERT_TRUE(Apply(R"({"k":"3"})", {}, keeps));
  EXPECT_EQ(Data(), R"({"k":"3","size":"9"})");
  EXPECT_EQ(server.writes().size(), 1u) << "it is given up once";
  ASSERT_TRUE(Apply(R"({"k":"4"})"));
  EXPECT_EQ(Data(), R"({"k":"4","size":"9"})") << "it is no longer ours";
  ASSERT_TRUE(Apply(R"({"k":"3","size":"2"})", {}, keeps));
  ASSERT_TRUE(Apply(R"({"k":"5"})"));
  EXPECT_EQ(Data(), R"({"k":"5"})") << "one that is not kept goes";
}

TEST_F(TakeOverTest, WhoeverWritesWhileAMemberIsGivenUpIsNotOverlooked) {
  const std::vector<std::string> keeps{"data/size"};
  ASSERT_TRUE(Apply(R"({"k":"1","size":"5"})", {}, keeps));
  bool once = true;
  server.deny = [&](std::string_view verb, const kube::Resource&, const kube::Key&) {
    if (verb == "PATCH" && std::exchange(once, false)) Theirs("size", "9", "autoscaler");
    return std::optional<kube::testing::Refusal>();
  };
  const auto late = Apply(R"({"k":"2"})", {}, keeps);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::kConflict) << late.error().message();
  ASSERT_TRUE(Apply(R"({"k":"2"})", {}, keeps));
  EXPECT_EQ(Data(), R"({"k":"2","size":"9"})");
}

TEST_F(TakeOverTest, AFightEndsInATruceThatNamesTheOther) {
  ASSERT_TRUE(Apply(R"({"k":"ours"})"));
  for (int i = 0; i < 4; ++i) {
    Theirs("k", "theirs", "argocd");
    ASSERT_TRUE(Apply(R"({"k":"ours"})"));
  }
  Theirs("k", "theirs", "argocd");
  const auto sixth = Apply(R"({"k":"ours"})");
  ASSERT_FALSE(sixth);
  EXPECT_EQ(ReasonOf(sixth.error()), "Contested");
  EXPECT_THAT(sixth.error().message(), HasSubstr("\"argocd\" keeps changing it back"));
  EXPECT_EQ(sixth.error().retry_after(), 5min);
  EXPECT_EQ(Data(), R"({"k":"theirs"})");
}

// While the watch of its owner was mute, a Service whose owner was gone was made and collected five times a second.
TEST_F(TakeOverTest, WhatIsDeletedEachTimeIsMadeAgainAfterAWait) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Apply(R"({"k":"ours"})")) << i;
    server.Remove(kube::kConfigMaps, key);
  }
  const auto fourth = Apply(R"({"k":"ours"})");
  ASSERT_FALSE(fourth);
  EXPECT_EQ(ReasonOf(fourth.error()), "Contested");
  EXPECT_THAT(fourth.error().message(),
              HasSubstr("ConfigMap ns/a was made 3 times in ten minutes, and somebody deletes it"));
  ASSERT_TRUE(fourth.error().retry_after());
  loop.Advance(*fourth.error().retry_after());
  EXPECT_TRUE(Apply(R"({"k":"ours"})"));
}

// Fights over a StatefulSet, of which a third one wrote another part last.
class FightTest : public TakeOverTest {
 protected:
  // The message of the apply that ends it.
  std::string Fight(const std::shared_ptr<const Effect>& effect, const std::function<void()>& undo,
                    const std::function<void()>& third) {
    for (int i = 0; i < 5; ++i) {
      const auto applied = Run(effect);
      EXPECT_TRUE(applied) << applied.error().message();
      undo();
      loop.Advance(1s);
      third();
    }
    const auto sixth = Run(effect);
    return sixth ? "" : sixth.error().message();
  }
  void Set(std::string_view part, std::string_view subresource, std::string_view manager) {
    server.Edit(
        kube::kStatefulSets, key, subresource,
        [&](json::Value& object) { json::MakeObject(object, {part})["word"] = manager; }, std::string(manager));
  }
  void Scale(int replicas) {
    std::string patch = R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}";
    Result<std::string> scaled;
    async::TaskGroup group(loop);
    group.Spawn("scale",
                async::testing::Into(
                    scaled, client.Patch(kube::kStatefulSets, key, kube::PatchType::kMerge, std::move(patch),
                                         {.subresource = "scale", .field_manager = "autoscaler"}, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    EXPECT_TRUE(scaled) << scaled.error().message();
  }
  const ObjectRef ref{&kube::kStatefulSets, key};
};

TEST_F(FightTest, WhoScalesAChildIsNamed) {
  const auto ours = plan::Apply(
      ref,
      R"({"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a","namespace":"ns","ownerReferences":)"
      R"([{"apiVersion":"v1","kind":"Owner","name":"o","uid":"me","controller":true}]},"spec":{"replicas":1}})",
      {"me"});
  EXPECT_THAT(Fight(
                  ours, [this] { Scale(4); }, [this] { Set("status", "status", "sts-controller"); }),
              HasSubstr("\"autoscaler\" keeps changing it back"));
}

TEST_F(FightTest, WhoWritesAStatusIsNamed) {
  const json::Value object = server.Put(kube::kStatefulSets, R"({"metadata":{"namespace":"ns","name":"a"}})");
  const auto ours = ApplyStatus(ref, std::string(json::FindText(object, {"metadata", "uid"})), R"({"word":"ours"})");
  EXPECT_THAT(Fight(
                  ours, [this] { Set("status", "status", "dashboard"); }, [this] { Set("spec", "", "kubectl-edit"); }),
              HasSubstr("\"dashboard\" keeps changing it back"));
}

}  // namespace
}  // namespace capstan::plan
