// What the steps of one Decide about a NodeSet see, and what they share. Each step is a function that returns what it wants as
// a part of a Plan; decide.cc puts the parts together. Pure; lives as long as that Decide.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/nodeset/node_annotations.h"
#include "operator/nodeset/workers.h"
#include "plan/objects/effects.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/source.h"

namespace capstan::op::nodeset {

inline constexpr Duration kRegistrationTimeout = 2min;  // from the start of a worker, and from its readiness

struct Look {
  const plan::World& world;
  const api::NodeSet& set;       // as its user wrote it
  const api::NodeSetSpec& spec;  // with defaults
  const std::string& cluster;    // "ns/controller"
  const plan::SlurmView& slurm;
  const api::Controller* controller;  // nullptr: there is none of that name
  const std::vector<Worker>& workers;
  Placing placing = {};

  // An empty part of the Plan.
  plan::Plan Part() const;

  // `fact` has held for so long; if not, `part` waits for the rest of it.
  bool Lasts(plan::Plan& part, const std::string& fact, Duration wanted) const;

  // Adds a write to the worker's Slurm node, which is expected to show.
  plan::ActionId Update(plan::Plan& part, std::string_view verb, const Worker& worker, slurm::NodeUpdate update,
                        std::string reason, plan::Guards guards = {}) const;

  // A person may have spoken since the snapshot was read: their reason is neither written over nor lifted.
  std::shared_ptr<const plan::Guard> NotHeld(const Worker& worker) const;

  // slurmd runs and is due to register: what Slurm says of it is about to change. Not for ever: one that never comes is no
  // reason to poll Slurm closely.
  bool IsComing(const Worker& worker) const;

  // It was ready without a record for so long that its record is taken for lost.
  bool IsForgotten(plan::Plan& part, const Worker& worker) const;

  // It has had its time to register.
  bool IsLate(plan::Plan& part, const Worker& worker) const;
};

plan::ObjectRef PodRef(const Worker& worker);

// Since when a worker that is ready has had no record while absence counts, as World::HeldFor has it.
std::string UnknownFact(const Worker& worker);
// Until a pod that is ready, and its worker without a record, is asked about its slurmd, which makes its capstan-entry ask slurmctld
// (entry/registration.h); and until it is told.
inline constexpr Duration kSuspectTimeout = 15s, kUnknownTimeout = 1min;

// Everything of `part` is wanted, too.
void AddPart(plan::Plan& plan, plan::Plan part);

// Marks the worker as one that goes, or takes the mark away.
plan::Action MarkOf(const Worker& worker, bool goes, std::string reason);

// The deletion of its pod in the version that was seen.
plan::Action RemovalOf(const Worker& worker, std::string reason);

}  // namespace capstan::op::nodeset
