// What can be wrong with a cluster: each cause a pure function over what was seen of it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/cluster.h"

namespace capstan::doctor {

enum class Severity : uint8_t {
  kError,    // something does not work
  kWarning,  // something works, and not as it should or not for long
};

struct Finding {
  Severity severity = Severity::kError;
  std::string_view cause = {};  // a word for programs, of Causes()
  std::string object;           // "Controller slurm/main"; what it is about
  std::string what;             // what is wrong, and why
  std::string todo;             // what to do
};

struct Cause {
  std::string_view name;
  std::string_view meaning;
  std::vector<Finding> (*find)(const Cluster& cluster);
};

// Those that explain most come first.
std::span<const Cause> Causes();

// All that is wrong, most serious first: errors, then warnings, each in the order of the causes. What a condition says is
// left out where a cause has explained it.
std::vector<Finding> Diagnose(const Cluster& cluster);

}  // namespace capstan::doctor
