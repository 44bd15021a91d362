// Bridges with one thing broken, to see whether the rules notice.
#pragma once

#include <span>
#include <string_view>

#include "bridge/group/decide.h"
#include "plan/reconciler.h"

namespace capstan::sim::bridge {

namespace group = capstan::bridge::group;

struct Break {
  std::string_view name;  // of the rule that notices it
  std::string_view what;
  plan::Decide decide;                    // in place of the real one
  std::string_view kind = group::kGroup;  // of the reconciler
};

std::span<const Break> Breaks();
const Break* FindBreak(std::string_view name);  // nullptr: there is none of that name

}  // namespace capstan::sim::bridge
