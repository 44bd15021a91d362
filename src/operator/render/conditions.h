// From what a Decide has found out to the conditions that a person reads: Ready, Progressing, Degraded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "operator/objects.h"
#include "plan/world.h"

namespace capstan::op::render {

// One CamelCase word for programs, one sentence for people: what is so, and what to do about it.
struct Finding {
  std::string reason;
  std::string message;
};

struct Findings {
  std::vector<Finding> problems;  // need somebody: Degraded
  std::vector<Finding> waits;     // pass by themselves: Progressing
  std::optional<Finding> ready;   // does what its spec says; absent: not (yet)

  void Problem(std::string reason, std::string message) { problems.push_back({std::move(reason), std::move(message)}); }
  void Wait(std::string reason, std::string message) { waits.push_back({std::move(reason), std::move(message)}); }
  void Ready(std::string message) { ready = Finding{"Ready", std::move(message)}; }

  // Adds the actions that have failed. A conflict is how one learns that the world has moved on, and is told only when
  // it does not go away.
  void AddFailures(const plan::World& world);
};

// The three conditions. Those that say the same as in `before` keep their time. A thing that is not ready says why: its
// first problem, or what it waits for.
api::Conditions ConditionsOf(const api::Conditions& before, const Findings& findings, int64_t generation, Time now);

// Those of a kind that this version accepts and does nothing for; `message` says what to do instead.
api::Conditions NotManagedYet(const plan::World& world, const json::ObjectMeta& metadata, const api::Conditions& before,
                              std::string message);

// Why a pod does not run, in words; "" when nothing is wrong with it, or not yet.
std::string PodTrouble(const Pod& pod);

// One of the pod's containers was never made, as the kubelet says, or the pod was never placed: it has never been
// ready. A pod of which nothing is said yet does not count.
bool NeverRan(const Pod& pod);

}  // namespace capstan::op::render
