// Bridges with one thing broken, to see whether the rules notice.
#pragma once

#include <span>
#include <string_view>

#include "plan/reconciler.h"

namespace capstan::sim::bridge {

struct Break {
  std::string_view name;  // of the rule that notices it
  std::string_view what;
  plan::Decide decide;  // of a group, in place of the real one
};

std::span<const Break> Breaks();
const Break* FindBreak(std::string_view name);  // nullptr: there is none of that name

}  // namespace capstan::sim::bridge
