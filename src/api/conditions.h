// The conditions that every kind has (json/conditions.h): Ready (it does what its spec says), Progressing (on its way
// there), Degraded (something is wrong that needs somebody).
#pragma once

#include <string_view>

#include "json/conditions.h"

namespace capstan::api {

inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kProgressing = "Progressing";
inline constexpr std::string_view kDegraded = "Degraded";

using json::Condition;
using json::Conditions;
using json::ConditionsField;
using json::ConditionStatus;
using json::FindCondition;
using json::RemoveCondition;
using json::SetCondition;

}  // namespace capstan::api
