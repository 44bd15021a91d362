// The reservation by which Slurm starts no job while a SlurmCluster is in maintenance. It is of all Slurm nodes, also those that
// register later, from the moment in which it is made. Slurm makes none while it has no node at all, and removes no node's record
// while there is one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "slurm/source.h"

namespace capstan::op::slurmcluster {

std::string ReservationName(std::string_view cluster);

// It may be the operator's: Slurm tells nobody who made a reservation.
bool IsForMaintenance(const slurm::Reservation& reservation);

// Slurm starts no job on any node now.
bool KeepsJobsOut(const slurm::Reservation& reservation, Time now);

// What has to be written to have it; nullopt: nothing. `present` is the one of that name as Slurm has it, for a maintenance;
// nullptr: none.
std::optional<slurm::ReservationUpdate> NextReservation(const std::string& name, const slurm::Reservation* present,
                                                        Time now);

}  // namespace capstan::op::slurmcluster
