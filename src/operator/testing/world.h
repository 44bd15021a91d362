// A World built by hand: objects and answers that a test puts in, and the Plan that a Decide makes of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/hash.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "operator/resources.h"
#include "plan/world.h"

namespace capstan::op::test {

// Custom resources that name a Controller, by "ns/name" of it.
template <class T>
void IndexByController(kube::Store<T>& store) {
  store.AddIndex("controller", [](const T& object) {
    return std::vector{object.metadata.namespace_ + "/" + object.spec.controller_ref.name};
  });
}

class TestWorld {
 public:
  TestWorld() {
    AddAll<api::Controller, api::Accounting, api::LoginSet, api::Token, Pod, StatefulSet, Deployment, Service,
           ConfigMap, PodDisruptionBudget>();
    IndexByController(Add<api::NodeSet>());
    IndexByController(Add<api::RestApi>());
  }

  Time now = *ParseRfc3339("2026-11-21T08:00:00Z");
  std::vector<plan::Failure> failures;

  // Puts an object in, or in place of the one of its name.
  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version_;
    if (object.metadata.namespace_.empty()) object.metadata.namespace_ = "slurm";
    if (object.metadata.uid.empty()) object.metadata.uid = "uid-" + object.metadata.name;
    ASSERT_TRUE(const_cast<kube::Store<T>&>(stores_.Of<T>()).Answered(std::move(object), Tick()));
  }

  // The Secret or ConfigMap has these keys; each text of `content` stands for other bytes.
  void Secret(const std::string& name, std::vector<std::string> keys, const std::string& content = "x") {
    Answer("secret slurm/" + name, std::make_shared<const SecretDigest::Value>(Sha256Hex(content), std::move(keys)));
  }
  void Files(const std::string& name, std::vector<std::string> keys, const std::string& content = "x") {
    Answer("configmap slurm/" + name,
           std::make_shared<const ConfigMapDigest::Value>(Sha256Hex(content), std::move(keys)));
  }
  void Answer(const std::string& question, std::shared_ptr<const void> value) {
    answers_.entries()[question] = {.state = plan::AnswerState::kKnown, .value = std::move(value)};
  }
  void Absent(const std::string& question) { answers_.entries()[question] = {.state = plan::AnswerState::kAbsent}; }
  // Could not be told; the last good answer stays.
  void Failed(const std::string& question, const std::string& error) {
    answers_.entries()[question].state = plan::AnswerState::kFailed;
    answers_.entries()[question].error = error;
  }

  // Decides, and once more after `settle` in which nothing has changed.
  plan::Plan Decide(plan::Plan (*decide)(const plan::World&, const kube::Key&), const std::string& name,
                    Duration settle = 1s) {
    const plan::World first = At({});
    const plan::Plan plan = decide(first, {"slurm", name});
    if (settle == Duration(0)) return plan;
    tick_ += settle;
    return decide(At(first.facts()), {"slurm", name});
  }

 private:
  template <class T>
  kube::Store<T>& Add() {
    kube::Store<T>& store = stores_.Add<T>();
    store.AddFeed("");
    return store;
  }
  template <class... T>
  void AddAll() {
    (Add<T>(), ...);
  }

  plan::World At(std::map<std::string, Tick> held_since) const {
    return plan::World({.now = now,
                        .tick = tick_,
                        .stores = &stores_,
                        .answers = &answers_,
                        .failures = failures,
                        .held_since = std::move(held_since)});
  }

  plan::Stores stores_;
  plan::Answers answers_;
  Tick tick_{};
  uint64_t version_ = 0;
};

// The body of the Plan's child of that kind and name; "" when there is none.
inline std::string BodyOf(const plan::Plan& plan, std::string_view kind, const std::string& name) {
  for (const plan::Child& child : plan.children) {
    if (child.resource->kind == kind && child.key.name == name) return child.body;
  }
  return {};
}

// "Kind name", in the Plan's order.
inline std::vector<std::string> ChildNames(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::Child& child : plan.children)
    names.push_back(std::string(child.resource->kind) + " " + child.key.name);
  return names;
}

// "verb target", in the Plan's order.
inline std::vector<std::string> ActionNames(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::Action& action : plan.actions) {
    names.push_back(std::string(action.effect->verb()) + " " + action.effect->target());
  }
  return names;
}

// The condition of that type in the Plan's status, as "Status Reason: message".
inline std::string ConditionOf(const plan::Plan& plan, std::string_view type) {
  if (!plan.status) return "no status";
  const auto status = json::Decode<api::ControllerStatus>(*plan.status);
  if (!status) return status.error().message();
  const api::Condition* condition = api::FindCondition(status->conditions, type);
  return condition == nullptr ? "none" : condition->status + " " + condition->reason + ": " + condition->message;
}

}  // namespace capstan::op::test
