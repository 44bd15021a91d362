// From what a Decide has found out to the conditions that a person reads: Ready, Progressing, Degraded.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "operator/reasons.h"
#include "plan/world.h"

namespace capstan::op {

// A word for programs, one sentence for people: what is so, and what to do about it.
struct Finding {
  std::string_view reason;  // of the list (operator/reasons.h)
  std::string message;
};

// A condition besides the three.
struct OwnCondition {
  std::string_view type;    // api/conditions.h
  std::string_view status;  // "True", "False", "Unknown"
  Finding finding;
};

struct Findings {
  std::vector<Finding> problems;  // need somebody: Degraded
  std::vector<Finding> remarks;   // on what is asked for in vain: Degraded, after all problems
  std::vector<Finding> waits;     // pass by themselves: Progressing
  std::optional<Finding> ready;   // does what its spec says; absent: not (yet)
  std::vector<OwnCondition> own;

  // What is said of several things in the same words is said once.
  void Problem(ProblemWord reason, std::string message) { Add(problems, reason.word, std::move(message)); }
  void Remark(ProblemWord reason, std::string message) { Add(remarks, reason.word, std::move(message)); }
  void Wait(WaitWord reason, std::string message) { Add(waits, reason.word, std::move(message)); }
  void Ready(std::string message) { ready = Finding{"Ready", std::move(message)}; }

  void Own(std::string_view type, std::string_view status, OwnWord reason, std::string message) {
    own.push_back({type, status, {reason.word, std::move(message)}});
  }

  // Adds the actions that have failed. A conflict is how one learns that the world has moved on, and is told only when
  // it does not go away.
  void AddFailures(const plan::World& world);

 private:
  static void Add(std::vector<Finding>& to, std::string_view reason, std::string message) {
    if (std::ranges::find(to, message, &Finding::message) == to.end()) to.push_back({reason, std::move(message)});
  }
};

// The three conditions, and the object's own. Those that say the same as in `before` keep their time. A thing that is not ready says why: its
// first problem, or what it waits for.
api::Conditions ConditionsOf(const api::Conditions& before, const Findings& findings, int64_t generation, Time now);

}  // namespace capstan::op
