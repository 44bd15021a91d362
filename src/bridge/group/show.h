// What a pod's condition `capstan.dev/SlurmJob` says of its job, for its users.
//
// What would stand for less than a second is not written, and no text holds an age or a time that keeps moving: a thousand
// pods that wait cost nothing while nothing changes.
#pragma once

#include <string>
#include <string_view>

#include "bridge/objects.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/snapshot.h"

namespace capstan::bridge::group {

// Lives as long as one Decide.
class Show {
 public:
  Show(const plan::World& world, const Pod& pod) : world_(world), pod_(pod) {}

  // Says so at once; once it has held for a second; at once, with a Warning Event. The last call counts.
  void Now(std::string_view status, std::string_view reason, std::string message);
  void Soon(std::string_view status, std::string_view reason, std::string message);
  void Warn(std::string_view reason, std::string message);

  // What it says now, on the pod as it was seen.
  bool Is(std::string_view reason) const;
  // It tells of this job, which Slurm has known therefore.
  bool TellsOf(int64_t job) const;

  // Adds the write, if the pod says something else.
  void Into(plan::Plan& plan) const;

 private:
  const plan::World& world_;
  const Pod& pod_;
  PodCondition wanted_;  // without a type: nothing is to be said
  Duration after_{0};
  bool warning_ = false;
};

// "job 7": with it begins whatever is said of a job that Slurm knows.
std::string JobWords(int64_t id);

// A person, or an administrator, holds it back.
bool IsHeld(const slurm::Job& job);

// "job 7 waits in partition gpu: Resources; Slurm expects it to start about 2026-11-27T14:10Z".
std::string WhyPending(const slurm::Job& job, Time now);

// The time, as exactly as it is worth saying: to the minute within the hour, to ten minutes within the day, else to the hour.
std::string About(Time time, Time now);

}  // namespace capstan::bridge::group
