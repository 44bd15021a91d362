// Text of a variable like SLURMD_OPTIONS, and the arguments it means.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan {

// Splits as a shell would, without expanding anything: blanks separate; '...' takes everything as it is; in
// "..." a backslash keeps the next of \ " $ `; outside of quotes it keeps any next character. `a'b c'd` is
// one word, `''` an empty one. kInvalid for a quote that is not closed.
Result<std::vector<std::string>> SplitWords(std::string_view text);

// A text that SplitWords splits into these words.
std::string JoinWords(const std::vector<std::string>& words);

}  // namespace capstan
