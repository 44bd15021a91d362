// What would change: an object as the cluster has it beside the same as it is wanted, in the form that people read.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace capstan::render {

// Of `live` what `manager` has applied, as its managedFields say: what is gone from it will go from the object. An object
// that it never applied: of `live` what `wanted` names.
json::Value OwnedPart(const json::Value& live, const json::Value& wanted, std::string_view manager);

// The difference of two texts in the unified format, with three lines around each; "" when they are equal.
std::string UnifiedDiff(std::string_view before, std::string_view after, std::string_view before_name,
                        std::string_view after_name);

// Such a difference for a terminal: what goes is red, what comes green, places are cyan.
std::string Coloured(std::string_view diff);

}  // namespace capstan::render
