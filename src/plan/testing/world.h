// A World built by hand: objects and answers that a test puts in, and what a Decide makes of them. Nothing else is needed
// to test a reconciler: it is a function.
//
//   TestWorld world("default");
//   world.Add<Website>();
//   world.Add<Deployment>();
//   world.Put(website);
//   world.Answer("configmap default/legal", legal, 30s);                          // asked half a minute ago
//   world.in_flight = {"Slurm node main/w-1"};
//   EXPECT_THAT(ChildNames(world.Decide(&Decide, "main")), ElementsAre("ConfigMap main", "Deployment main"));
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/codec.h"
#include "json/conditions.h"
#include "kube/feed.h"
#include "plan/engine.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::plan::testing {

class TestWorld {
 public:
  // `ns`: of objects that name no namespace, and of the keys that are decided.
  explicit TestWorld(std::string ns) : ns_(std::move(ns)) {}

  Time now = *ParseRfc3339("2026-11-21T08:00:00Z");
  std::vector<Failure> failures;
  std::set<std::string> in_flight;         // targets of this key's actions that have not ended (World::InFlight)
  std::map<std::string, SlurmLook> slurm;  // by cluster; of others nobody has said how to reach them
  const void* settings = nullptr;
  std::vector<int64_t> follows;  // jobs that this key's last Plan followed (World::follows)

  // A kind that the Decide reads. A store for indexes (store.h).
  template <class T>
  kube::Store<T>& Add() {
    kube::Store<T>& store = stores_.Add<T>();
    store.AddFeed("");
    return store;
  }

  // The same of all the stores that `add` adds.
  void AddStores(void (*add)(Stores&)) {
    add(stores_);
    for (const Stores::Entry& entry : stores_.all()) entry.store->AddFeed("");
  }

  // Puts an object in, or in place of the one of its name. Its uid is "uid-<name>" unless it has one. REQUIRES: the
  // kind was added.
  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version_;
    if (T::kResource.namespaced && object.metadata.namespace_.empty()) object.metadata.namespace_ = ns_;
    if (object.metadata.uid.empty()) object.metadata.uid = "uid-" + object.metadata.name;
    auto* store = static_cast<kube::Store<T>*>(stores_.Find(T::kResource));
    EXPECT_TRUE(store->Answered(std::move(object), Tick()));
  }

  // The API server does not have the kind (World::Served). REQUIRES: the kind was added.
  template <class T>
  void NotServed() {
    kube::AnyStore& store = *stores_.Find(T::kResource);
    store.SetOptional(true);
    store.FeedFor("")->NotServed(tick_);
  }

  // What this cluster says of its nodes: `slurm` of it becomes a snapshot that is current and in which absence counts.
  void Nodes(const std::string& cluster, std::vector<slurm::Node> nodes) {
    std::ranges::sort(nodes, {}, &slurm::Node::name);
    auto snapshot = std::make_shared<slurm::Snapshot>();
    auto index = std::make_shared<const NodeIndex>(MakeNodeIndex(stores_.node_entry(), nodes));
    snapshot->nodes = std::make_shared<const std::vector<slurm::Node>>(std::move(nodes));
    slurm[cluster] = {.state = SlurmLook::State::kHeard,
                      .snapshot = std::move(snapshot),
                      .index = std::move(index),
                      .absence_counts = true};
  }

  // What the last look at the jobs that are followed found (SlurmView::FindJob). REQUIRES: Nodes was called for the cluster.
  void Jobs(const std::string& cluster, std::map<int64_t, std::optional<slurm::Job>> jobs) {
    slurm::FollowedJobs followed;
    for (auto& [id, job] : jobs) followed[id] = job ? std::make_shared<const slurm::Job>(*std::move(job)) : nullptr;
    slurm[cluster].followed = std::make_shared<const slurm::FollowedJobs>(std::move(followed));
  }

  // What the question of this id (Question::id) is answered, `age` before the next Decide (whose second look is at an older one); without any of these its
  // answer is still pending.
  void Answer(const std::string& question, std::shared_ptr<const void> value, Duration age = Duration(0)) {
    answers_.entries()[question] = {.state = AnswerState::kKnown, .value = std::move(value), .fetched_at = tick_ - age};
  }
  void Absent(const std::string& question, Duration age = Duration(0)) {
    answers_.entries()[question] = {.state = AnswerState::kAbsent, .fetched_at = tick_ - age};
  }
  // Could not be told; the last good answer stays.
  void Failed(const std::string& question, const std::string& error) {
    answers_.entries()[question].state = AnswerState::kFailed;
    answers_.entries()[question].error = error;
  }

  // What a part of a Decide makes of the World.
  template <class Part>
  void Look(Part part) const {
    part(At({}));
  }

  // Decides, and once more after `settle` in which nothing has changed (World::HeldFor).
  Plan Decide(plan::Decide decide, const std::string& name, Duration settle = 1s) {
    const World first = At({});
    Plan plan = decide(first, {ns_, name});
    if (settle == Duration(0)) return plan;
    tick_ += settle;
    return decide(At(first.facts()), {ns_, name});
  }

 private:
  SlurmLook LookAt(const std::string& cluster) const {
    const auto found = slurm.find(cluster);
    return found == slurm.end() ? SlurmLook() : found->second;
  }
  World At(std::map<std::string, Tick> held_since) const {
    return World({.now = now,
                  .tick = tick_,
                  .stores = &stores_,
                  .slurm = [this](const std::string& cluster) { return LookAt(cluster); },
                  .answers = &answers_,
                  .in_flight = in_flight,
                  .failures = failures,
                  .held_since = std::move(held_since),
                  .follows = follows,
                  .settings = settings});
  }

  std::string ns_;
  Stores stores_;
  Answers answers_;
  Tick tick_{};
  uint64_t version_ = 0;
};

// The body of the Plan's child of that kind and name; "" when there is none.
inline std::string BodyOf(const Plan& plan, std::string_view kind, std::string_view name) {
  for (const Child& child : plan.children) {
    if (child.resource->kind == kind && child.key.name == name) return child.body;
  }
  return {};
}

// "Kind name", in the Plan's order.
inline std::vector<std::string> ChildNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const Child& child : plan.children) names.push_back(std::string(child.resource->kind) + " " + child.key.name);
  return names;
}

// "verb target", in the Plan's order.
inline std::vector<std::string> ActionNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const Action& action : plan.actions) {
    names.push_back(std::string(action.effect->verb()) + " " + action.effect->target());
  }
  return names;
}

// Any status, as far as its conditions.
struct ConditionsOnly {
  json::Conditions conditions;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<ConditionsOnly>({json::Field<&ConditionsOnly::conditions>("conditions")});
    return schema;
  }
};

// The condition of that type in the Plan's status, as "Status Reason: message".
inline std::string ConditionOf(const Plan& plan, std::string_view type) {
  if (!plan.status) return "no status";
  const auto status = json::Decode<ConditionsOnly>(*plan.status);
  if (!status) return status.error().message();
  const json::Condition* condition = json::FindCondition(status->conditions, type);
  return condition == nullptr ? "none" : condition->status + " " + condition->reason + ": " + condition->message;
}

}  // namespace capstan::plan::testing
