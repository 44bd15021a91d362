// status.conditions: what a person or a program should know about an object, by type.
//
//   struct Status {
//     json::Conditions conditions;
//     ...                                     // json::ConditionsField(Field<&Status::conditions>("conditions"))
//   };
//   json::Conditions conditions = before;       // as the World shows them, so that times are kept
//   json::SetCondition(conditions, {.type = "Ready", .status = "False", .observed_generation = generation,
//                                   .reason = "Starting", .message = "1 of 3 pods are ready"}, world.now());
//
// Reasons are one CamelCase word, messages sentences that say what is wrong and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/schema.h"

namespace capstan::json {

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  int64_t observed_generation = 0;
  Time last_transition_time;  // when `status` last changed
  std::string reason;
  std::string message;

  bool operator==(const Condition&) const = default;
  static const json::Schema& Schema();
};

using Conditions = std::vector<Condition>;

// nullptr: the type is not there, which means nothing is known.
const Condition* FindCondition(const Conditions& conditions, std::string_view type);

// "True", "False" or "Unknown"; "Unknown" too when the type is not there.
std::string_view ConditionStatus(const Conditions& conditions, std::string_view type);

// Puts `condition` in place of the one of its type, or behind the others. last_transition_time becomes `now`
// when the status differs from the one before (or there was none), else it stays; what `condition` has there
// does not count. The message is cut to what the API server takes (32768 bytes). Returns whether anything but
// the time changed.
bool SetCondition(Conditions& conditions, Condition condition, Time now);

// Returns whether it was there.
bool RemoveCondition(Conditions& conditions, std::string_view type);

// Why a table has a conditions row in it: the same in every status.
json::Member ConditionsField(json::Member member);

}  // namespace capstan::json
