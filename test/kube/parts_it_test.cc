// A key whose children are custom resources with defaults, writers and finalizers of their own: what server-side apply, the applied
// memo and pruning come to on a real API server.
#include <gmock/gmock.h>

#include "api/kinds.h"
#include "api/nodeset.h"
#include "api_test.h"
#include "async/task_group.h"
#include "json/value.h"
#include "plan/engine.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;

// Names NodeSets, which it owns.
struct Fleet {
  struct Set {
    std::string name, config;
    std::optional<int32_t> replicas;
    bool operator==(const Set&) const = default;
    static const json::Schema& Schema() {
      static const json::Schema schema =
          json::Object<Set>({json::Field<&Set::name>("name"), json::Field<&Set::config>("config"),
                             json::Field<&Set::replicas>("replicas")});
      return schema;
    }
  };
  struct Spec {
    std::vector<Set> sets;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Spec>({json::Field<&Spec::sets>("sets")});
      return schema;
    }
  };
  struct Status {
    std::string note;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Status>({json::Field<&Status::note>("note")});
      return schema;
    }
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;

  static constexpr kube::Resource kResource{"parts.capstan.test", "v1", "fleets", "Fleet", true};
  bool operator==(const Fleet&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Fleet>({json::Field<&Fleet::metadata>("metadata"), json::Field<&Fleet::spec>("spec"),
                             json::Field<&Fleet::status>("status")});
    return schema;
  }
};

constexpr std::string_view kFleetCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"fleets.parts.capstan.test"},"spec":{"group":"parts.capstan.test","scope":"Namespaced",
  "names":{"plural":"fleets","singular":"fleet","kind":"Fleet","listKind":"FleetList"},
  "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
    "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";

std::string NodeSetText(const Fleet& fleet, const Fleet::Set& set) {
  const std::string replicas = set.replicas ? R"("replicas":)" + std::to_string(*set.replicas) + "," : "";
  return R"({"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","metadata":{"name":")" + set.name +
         R"(","namespace":")" + fleet.metadata.namespace_ +
         R"(","ownerReferences":[{"apiVersion":"parts.capstan.test/v1","kind":"Fleet","name":")" + fleet.metadata.name +
         R"(","uid":")" + fleet.metadata.uid + R"(","controller":true}]},"spec":{)" + replicas +
         R"("controllerRef":{"name":"main"},"partition":{"enabled":true,"config":")" + set.config + R"("}}})";
}

template <bool kKeepReplicas>
Plan Want(const World& world, const kube::Key& key) {
  Plan plan;
  const Fleet* fleet = world.Find<Fleet>(key);
  if (fleet == nullptr) return plan;
  for (const Fleet::Set& set : fleet->spec.sets) {
    plan.children.push_back({.resource = &api::NodeSet::kResource,
                             .key = {key.ns, set.name},
                             .body = NodeSetText(*fleet, set),
                             .reason = "the fleet names it",
                             .after = {}});
    if (kKeepReplicas) plan.children.back().keeps = {"spec/replicas"};
  }
  std::string note = "fine";
  for (const Failure& failure : world.failures()) note = failure.message;
  plan.status = R"({"note":)" + JsonQuoted(note) + "}";
  return plan;
}

class Parts : public kube::testing::ApiTest {
 protected:
  Parts() {
    static const bool defined = [this] {
      Define(std::string(kFleetCrd));
      for (const api::KindInfo& kind : api::Kinds())
        if (kind.kind == "NodeSet") Define(api::CrdJson(kind));
      return true;
    }();
    EXPECT_TRUE(defined);
  }
  void TearDown() override {
    if (engine_ == nullptr) return;
    group_.Spawn("stop", engine_->Stop());
    EXPECT_TRUE(Until([this] { return group_.size() == 0; }));
  }

  void Define(const std::string& definition) {
    const auto made = Run(client().Create(kube::kCustomResourceDefinitions, {}, definition, {}, Soon()));
    EXPECT_TRUE(made || made.error().code() == Code::kAlreadyExists) << made.error().message();
  }

  void Start(Decide decide = &Want<true>) {
    engine_ = std::make_unique<Engine>(loop_, client(), Engine::Options{.field_manager = "capstan"});
    engine_->stores().Add<Fleet>({.everywhere = true});
    engine_->stores().Add<api::NodeSet>({.everywhere = true});
    engine_->Add(
        {.kind = "fleet", .resource = &Fleet::kResource, .decide = decide, .children = {&api::NodeSet::kResource}});
    group_.Spawn("engine", engine_->Run());
    ASSERT_TRUE(Until([this] { return engine_->Synced(); }));
  }

  // `sets` as JSON. The kinds may be served a moment after they are defined.
  void PutFleet(const std::string& sets) {
    const std::string text =
        R"({"apiVersion":"parts.capstan.test/v1","kind":"Fleet","metadata":{"name":"fleet"},"spec":{"sets":)" + sets +
        "}}";
    EXPECT_TRUE(UntilSaid(true, [this, text] { return Put(text); }));
  }
  async::Task<bool> Put(std::string text) {
    const auto applied = co_await client().Apply(Fleet::kResource, KeyOf("fleet"), std::move(text),
                                                 {.field_manager = "person", .force = true}, Soon());
    co_return applied.has_value();
  }
  // So that the fleet is decided once more.
  void Mark(const std::string& value) {
    const auto patched = Run(client().Patch(Fleet::kResource, KeyOf("fleet"), kube::PatchType::kMerge,
                                            R"({"metadata":{"labels":{"mark":")" + value + R"("}}})",
                                            {.field_manager = "person"}, Soon()));
    ASSERT_TRUE(patched) << patched.error().message();
  }
  void Patch(const std::string& patch, const std::string& manager, const std::string& subresource = {}) {
    const auto patched = Run(client().Patch(api::NodeSet::kResource, KeyOf("cpu"), kube::PatchType::kMerge, patch,
                                            {.subresource = subresource, .field_manager = manager}, Soon()));
    ASSERT_TRUE(patched) << patched.error().message();
  }

  // As the engine sees them; nullptr: it is not there.
  const api::NodeSet* Shown(const std::string& name) const {
    return engine_->stores().Of<api::NodeSet>().Find(KeyOf(name));
  }
  const api::NodeSet* Cpu() const { return Shown("cpu"); }
  std::string Note() const {
    const Fleet* fleet = engine_->stores().Of<Fleet>().Find(KeyOf("fleet"));
    return fleet == nullptr ? "" : fleet->status.note;
  }
  // The part is so, and all of this is told.
  bool Becomes(int32_t replicas, const std::string& config) {
    return Until([&] {
      const api::NodeSet* set = Cpu();
      return set && set->spec.replicas == replicas && set->spec.partition && set->spec.partition->config == config &&
             Note() == "fine" && engine_->Idle();
    });
  }
  // Does what `change` says and waits until the engine has begun to act on it.
  template <class Change>
  bool ActsOn(Change change) {
    const uint64_t before = engine_->actions();
    change();
    return Until([&] { return engine_->actions() > before; });
  }

  async::TaskGroup group_{loop_};
  std::unique_ptr<Engine> engine_;
};

TEST_F(Parts, WhatOthersWriteOfAPartStaysAndCausesNoWrite) {
  PutFleet(R"([{"name":"cpu","config":"A"}])");
  Start();
  ASSERT_TRUE(Becomes(1, "A")) << "the default of its definition";
  const uint64_t actions = engine_->actions();
  Patch(R"({"spec":{"replicas":7}})", "autoscaler", "scale");
  Patch(R"({"status":{"replicas":7}})", "nodeset", "status");
  Patch(R"({"metadata":{"annotations":{"person":"was here"}},"spec":{"extraConf":"Weight=2"}})", "person");
  ASSERT_TRUE(Until([this] { return Cpu()->spec.extra_conf == "Weight=2" && Cpu()->status.replicas == 7; }));
  const uint64_t decides = engine_->decides();
  Mark("looked");
  ASSERT_TRUE(Until([&] { return engine_->decides() > decides && engine_->Idle(); }));
  EXPECT_EQ(engine_->actions(), actions);
  ASSERT_TRUE(Becomes(7, "A"));

  PutFleet(R"([{"name":"cpu","config":"B"}])");
  ASSERT_TRUE(Becomes(7, "B"));
  EXPECT_EQ(Cpu()->spec.extra_conf, "Weight=2");
  EXPECT_EQ(Cpu()->metadata.Annotation("person"), "was here");
}

TEST_F(Parts, ReplicasThatAreNoLongerNamedStayForWhoeverSetsThem) {
  PutFleet(R"([{"name":"cpu","config":"A","replicas":5}])");
  Start();
  ASSERT_TRUE(Becomes(5, "A"));
  ASSERT_TRUE(ActsOn([this] { Patch(R"({"spec":{"replicas":2}})", "person", "scale"); }));
  ASSERT_TRUE(Becomes(5, "A")) << "while they are named they are ours";
  PutFleet(R"([{"name":"cpu","config":"B"}])");
  ASSERT_TRUE(Becomes(5, "B"));
  const auto applied = Run(client().Apply(
      api::NodeSet::kResource, KeyOf("cpu"),
      R"({"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","metadata":{"name":"cpu"},"spec":{"replicas":6}})",
      {.field_manager = "gitops"}, Soon()));
  EXPECT_TRUE(applied) << "they are nobody's: " << applied.error().message();
  Patch(R"({"spec":{"replicas":9}})", "autoscaler", "scale");
  ASSERT_TRUE(Becomes(9, "B"));
  PutFleet(R"([{"name":"cpu","config":"C"}])");
  ASSERT_TRUE(Becomes(9, "C"));
  PutFleet(R"([{"name":"cpu","config":"C","replicas":3}])");
  ASSERT_TRUE(Becomes(3, "C")) << "named again";
  PutFleet(R"([{"name":"cpu","config":"D"}])");
  ASSERT_TRUE(Becomes(3, "D"));
}

// Why parts need Child::keeps: workers would be drained and go.
TEST_F(Parts, WithoutThatTheyWouldFallToTheirDefault) {
  PutFleet(R"([{"name":"cpu","config":"A","replicas":5}])");
  Start(&Want<false>);
  ASSERT_TRUE(Becomes(5, "A"));
  PutFleet(R"([{"name":"cpu","config":"B"}])");
  EXPECT_TRUE(Becomes(1, "B"));
}

TEST_F(Parts, APersonsChangeOfAnOwnedFieldIsPutBackUntilItIsAFight) {
  PutFleet(R"([{"name":"cpu","config":"A"}])");
  Start();
  ASSERT_TRUE(Becomes(1, "A"));
  const auto theirs = [this] { Patch(R"({"spec":{"partition":{"config":"theirs"}}})", "kubectl-edit"); };
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(ActsOn(theirs));
    ASSERT_TRUE(Becomes(1, "A")) << i;
  }
  theirs();
  ASSERT_TRUE(Until([this] { return Note().find("\"kubectl-edit\" keeps changing it back") != std::string::npos; }))
      << Note();
  EXPECT_EQ(Cpu()->spec.partition->config, "theirs") << "a truce";
}

TEST_F(Parts, OneThatIsTakenOutWhileItEndsIsMadeAnewOnceItIsGone) {
  PutFleet(R"([{"name":"cpu","config":"A"},{"name":"gpu","config":"A"}])");
  Start();
  ASSERT_TRUE(Becomes(1, "A"));
  Patch(R"({"metadata":{"finalizers":["capstan.test/drain"]}})", "nodeset");
  const std::string uid = Cpu()->metadata.uid;
  PutFleet(R"([{"name":"gpu","config":"A"}])");
  ASSERT_TRUE(Until([this] { return Cpu()->metadata.deleting(); }));
  EXPECT_NE(Shown("gpu"), nullptr);
  PutFleet(R"([{"name":"cpu","config":"B"},{"name":"gpu","config":"A"}])");
  ASSERT_TRUE(Becomes(1, "B")) << "what it says counts while it ends";
  EXPECT_EQ(Cpu()->metadata.uid, uid);
  Patch(R"({"metadata":{"finalizers":null}})", "nodeset");
  ASSERT_TRUE(Until([&] { return Cpu() && Cpu()->metadata.uid != uid; }));
  ASSERT_TRUE(Becomes(1, "B"));
}

}  // namespace
}  // namespace capstan::plan
