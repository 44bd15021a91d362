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

using json::Condition;
using json::Conditions;
using json::ConditionsField;
using json::ConditionStatus;
using json::FindCondition;
using json::RemoveCondition;
using json::SetCondition;

}  // namespace capstan::api
