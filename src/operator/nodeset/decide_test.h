// A NodeSet with its pods and their Slurm records, for the tests of what is decided about it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "api/restapi.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/nodeset/decide.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/revision.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/workers.h"
#include "operator/objects.h"
#include "operator/settings.h"
#include "operator/testing/world.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {

inline constexpr std::string_view kSetUid = "set-uid";
inline constexpr Time kNow = Time(10'000s);
inline const std::string kOurDrain = ScaleInReason({"slurm", "w-1"});

// A NodeSet "w" of a Controller "main" in namespace "slurm", its pods and their Slurm records, as the story of a test
// puts them.
class NodeSetTest : public ::testing::Test {
 protected:
  NodeSetTest() {
    AddStores(stores);
    for (const plan::Stores::Entry& entry : stores.all()) entry.store->AddFeed("");
    Put(api::RestApi{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "r-uid"},
                     .spec = {.controller_ref = {.name = "main"}}});
    api::Controller controller{
        .metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid", .resource_version = 1}};
    Put(std::move(controller));
    set.metadata = {.name = "w", .namespace_ = "slurm", .uid = std::string(kSetUid), .generation = 1};
    set.metadata.finalizers = {std::string(kFinalizerDrain)};
    set.spec.controller_ref.name = "main";
    set.spec.replicas = 0;
  }

  static std::vector<std::string> Proofs(const plan::Action& action) {
    std::vector<std::string> texts;
    for (const auto& guard : action.guards) texts.push_back(guard->text());
    return texts;
  }

  template <class T>
  void Put(T object) {
    if constexpr (std::is_same_v<T, Pod>) PutMachineOf(object);
    object.metadata.resource_version = ++version;
    ASSERT_TRUE(const_cast<kube::Store<T>&>(stores.Of<T>()).Answered(std::move(object), Tick()));
  }

  // A Kubernetes node that is ready.
  static Node MakeMachine(const std::string& name, const std::string& uid = "") {
    Node machine{.metadata = {.name = name, .uid = uid.empty() ? name : uid}, .spec = {}, .status = {}};
    machine.status.conditions = {{.type = "Ready", .status = "True", .reason = "KubeletReady", .message = ""}};
    return machine;
  }
  void RemoveMachine(const std::string& name) {
    const_cast<kube::Store<Node>&>(stores.Of<Node>()).Deleted({"", name}, name, {});
  }

  // The same of one that is told to go.
  void PutMarked(Pod pod) {
    pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
    Put(std::move(pod));
  }

  // A running, ready worker of the template as it is, with its record; change what matters in a test.
  Pod MakePod(int ordinal, std::string phase = "Running", bool ready = true) {
    Pod pod;
    pod.metadata = {
        .name = "w-" + std::to_string(ordinal),
        .namespace_ = "slurm",
        .uid = "pod-" + std::to_string(ordinal),
        .owner_references = {{.kind = "NodeSet", .name = "w", .uid = std::string(kSetUid), .controller = true}}};
    pod.metadata.labels = {{std::string(kLabelName), std::string(kWorker.app)},
                           {std::string(kLabelInstance), "w"},
                           {std::string(kLabelComponent), std::string(kWorker.component)},
                           {std::string(kLabelCluster), "main"},
                           {std::string(kLabelScalingMode), std::string(api::kScalingStatefulSet)},
                           {std::string(kLabelPodName), pod.metadata.name},
                           {std::string(kLabelPodIndex), std::to_string(ordinal)}};
    pod.metadata.labels[std::string(kLabelPodHostname)] = pod.metadata.name;
    pod.metadata.labels[std::string(kLabelRevision)] = Revision(set).value();
    pod.metadata.labels[std::string(kLabelPodProtect)] = "true";
    pod.spec.node_name = phase == "Pending" ? "" : "k" + std::to_string(ordinal);
    pod.status.phase = std::move(phase);
    pod.status.conditions = {{.type = "Ready", .status = ready ? "True" : "False"}};
    return pod;
  }
  slurm::Node MakeNode(int ordinal, std::vector<slurm::NodeFlag> flags, std::string reason = "") {
    slurm::Node node{.name = "w-" + std::to_string(ordinal), .reason = std::move(reason)};
    for (const slurm::NodeFlag flag : flags) node.state.Add(flag);
    Worker worker{.ordinal = ordinal, .host = node.name};
    const Pod pod = MakePod(ordinal);
    worker.pod = &pod;
    node.comment = RecordComment(worker, set);
    return node;
  }
  void Worker_(int ordinal, std::vector<slurm::NodeFlag> flags, std::string reason = "") {
    Put(MakePod(ordinal));
    nodes.push_back(MakeNode(ordinal, std::move(flags), std::move(reason)));
  }

  // Without what pods are told of their Slurm nodes (pod_conditions.h), which is `told`, and what is done to
  // ControllerRevisions, which is `history`.
  plan::Plan Look(int replicas) {
    set.spec.replicas = replicas;
    Put(set);
    auto snapshot = std::make_shared<slurm::Snapshot>();
    std::ranges::sort(nodes, {}, &slurm::Node::name);
    snapshot->nodes = std::make_shared<const std::vector<slurm::Node>>(nodes);
    snapshot->jobs = jobs;
    plan::World::Parts parts;
    parts.now = kNow;
    parts.stores = &stores;
    parts.failures = failures;
    parts.held_since = held;
    parts.in_flight = in_flight;
    parts.answers = &answers;
    parts.settings = &settings;
    parts.slurm = [this, snapshot](const std::string&) {
      plan::SlurmLook look = slurm;
      look.snapshot = snapshot;
      return look;
    };
    const plan::World world(std::move(parts));
    plan::Plan plan = Decide(world, {"slurm", "w"});
    facts = world.facts();
    told.clear();
    history.clear();
    std::erase_if(plan.actions, [this](const plan::Action& action) {
      const bool tells = action.effect->verb() == "set conditions";
      if (tells) told.push_back(action.effect->target());
      const bool keeps = action.effect->target().starts_with("ControllerRevision ");
      if (keeps) history.push_back(action);
      return tells || keeps;
    });
    return plan;
  }

  static std::vector<std::string> Acts(const plan::Plan& plan) {
    std::vector<std::string> acts;
    for (const plan::Action& action : plan.actions) {
      acts.push_back(std::string(action.effect->verb()) + " " + action.effect->target());
    }
    return acts;
  }
  static api::Condition ConditionOf(const plan::Plan& plan, std::string_view type) {
    const auto status = json::Decode<api::NodeSetStatus>(*plan.status);
    const api::Condition* condition = api::FindCondition(status->conditions, type);
    return condition != nullptr ? *condition : api::Condition();
  }

  void PutMachineOf(const Pod& pod) {
    const std::string& name = pod.spec.node_name;
    if (machines_come_with_pods && !name.empty() && stores.Of<Node>().MetaOf({"", name}) == nullptr)
      Put(MakeMachine(name));
  }

  plan::Stores stores;
  bool machines_come_with_pods = true;  // each is ready
  api::NodeSet set;
  std::vector<slurm::Node> nodes;
  std::shared_ptr<const std::vector<slurm::Job>> jobs;  // nullptr: not known
  std::vector<plan::Failure> failures;
  std::map<std::string, Tick> held;
  std::map<std::string, Tick> facts;  // what the last Look asked for how long it has held
  std::set<std::string> in_flight;
  std::vector<std::string> told;  // by the last Look: targets
  std::vector<plan::Action> history;
  plan::Answers answers;
  Settings settings;
  plan::SlurmLook slurm{.state = plan::SlurmLook::State::kHeard, .absence_counts = true};
  uint64_t version = 0;
};

}  // namespace capstan::op::nodeset
