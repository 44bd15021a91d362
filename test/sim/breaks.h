// Operators with one thing broken, to see whether the rules notice.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/engine.h"

namespace capstan::sim {

struct Break {
  std::string_view name;
  std::string_view what;
  plan::Decide decide = nullptr;                // in place of the real one
  void (*change)(plan::Reconciler&) = nullptr;  // of the row, otherwise
  std::string_view kind = "nodeset";            // whose
};

std::span<const Break> Breaks();
const Break* FindBreak(std::string_view name);  // nullptr: there is none of that name

// The operator's reconcilers, with `broken` in; nullptr: as they are.
std::vector<plan::Reconciler> ReconcilersWith(const Break* broken);

}  // namespace capstan::sim
