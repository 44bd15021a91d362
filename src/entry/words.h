// Text of a variable like SLURMD_OPTIONS, split into the arguments it means.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

// Splits as a shell would, without expanding anything: blanks separate; '...' takes everything as it is; in
// "..." a backslash keeps the next of \ " $ `; outside of quotes it keeps any next character. `a'b c'd` is
// one word, `''` an empty one. kInvalid for a quote that is not closed.
Result<std::vector<std::string>> SplitWords(std::string_view text);

}  // namespace capstan::entry
