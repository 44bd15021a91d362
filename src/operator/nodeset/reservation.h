// The maintenance reservation of a NodeSet under ScheduledUpdate: while it is active Slurm starts no job on the workers, and
// those of an older template are renewed. The NodeSet's finalizer kFinalizerReservation says that there may be one. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "slurm/source.h"

namespace capstan::op::nodeset {

std::string ReservationName(const api::NodeSet& set);

// The NodeSet is updated in a reservation. `spec` has its defaults.
bool IsScheduled(const api::NodeSetSpec& spec);

// Slurm says that the NodeSet's reservation of that name is active on the worker's node.
bool IsInReservation(const Worker& worker, std::string_view reservation);

// What becomes of the reservation now.
struct ReservationStep {
  std::optional<slurm::ReservationUpdate> write;
  // It is removed, before it is written: Slurm takes no flag back, and no new time for one that is over; or without, since it
  // is for a time that nobody asks for any more.
  bool remove = false;
  std::string why;   // of both
  std::string held;  // why there is no reservation, and none is made; "" otherwise
};

// `present` is the reservation as Slurm has it, nullptr for none; `nodes` are the workers' Slurm nodes. While it is active only
// its nodes change. One that comes again (HOURLY, DAILY, WEEKLY, WEEKDAY, WEEKEND) has moved on from spec.startTime by whole
// periods. One whose startTime has passed is made for the next of its times; without another, not at all.
ReservationStep NextReservation(const api::NodeSetSpec& spec, const std::string& name,
                                const slurm::Reservation* present, const std::vector<std::string>& nodes, Time now);

plan::Action HoldForReservation(const api::NodeSet& set);

// Takes the finalizer away, the reservation before it. While Slurm cannot be asked (`ask_slurm`), a NodeSet that stays keeps
// both, and one that goes leaves the reservation, which ends by itself.
void ReleaseReservation(const api::NodeSet& set, bool ask_slurm, plan::Plan& plan);

}  // namespace capstan::op::nodeset
