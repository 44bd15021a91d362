// What Slurm wants of the value of one option, whatever else the text says (conf_check.h looks at the text). Compared with starts of slurmctld
// 26.05 (test/slurm/conf_it_test.cc).
//
// Answers say what would be right, to stand behind "must be": "YES or NO"; nullopt: the value is. Functions without state; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf_options.h"

namespace capstan::slurm {

std::optional<std::string> NeededByType(OptionType type, std::string_view value);

// Whether slurmctld reads the value of a kBool option as no.
bool IsOff(std::string_view value);

// What the option asks besides. `value` has the right type, or is empty. Not of hostlists.
std::optional<std::string> NeededByOption(const OptionTable& table, std::string_view option, std::string_view value);

// The names of a line's nodes, which other lines must agree with.
bool IsHostlist(const OptionTable& table, std::string_view option);

// Words of a list that Slurm 26.05 does not know, and a newer one may: the first ones, at most `most`. Views of `value`.
std::vector<std::string_view> UnknownWords(std::string_view option, std::string_view value, size_t most);

}  // namespace capstan::slurm
