// The conditions that every kind has (json/conditions.h): Ready (it does what its spec says), Progressing (on its way
// there), Degraded (something is wrong that needs somebody). And those that one kind has.
#pragma once

#include <string_view>

#include "json/conditions.h"

namespace capstan::api {

inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kProgressing = "Progressing";
inline constexpr std::string_view kDegraded = "Degraded";

// Of a Controller: slurmctld runs with the configuration that is published.
inline constexpr std::string_view kConfigLive = "ConfigLive";
// Of a Controller: slurm.conf has partitions that nobody asks for any more, for the jobs that name them. There only while
// it is so.
inline constexpr std::string_view kPartitionsKept = "PartitionsKept";
// Of a Controller with spec.ha: one of its slurmctld says that it is in charge.
inline constexpr std::string_view kSlurmctldInCharge = "SlurmctldInCharge";

// Of a NodeSet under ScheduledUpdate: Slurm has its maintenance reservation.
inline constexpr std::string_view kReservationCreated = "ReservationCreated";

using json::Condition;
using json::Conditions;
using json::ConditionsField;
using json::ConditionStatus;
using json::FindCondition;
using json::RemoveCondition;
using json::SetCondition;

}  // namespace capstan::api
