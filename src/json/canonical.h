// One text for all JSON texts that mean the same, for hashing and comparing what users wrote.
//
// Object keys are sorted by bytes, the last of two equal keys wins, there is no white space, and numbers are
// written one way (1, 1.0 and 10e-1 are "1"). Lists keep their order: it means something to Kubernetes. Nulls
// are kept; use DropNulls() of value.h first where null is to count as absent.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::json {

// kInvalid: not JSON, or nested deeper than 128 levels.
Result<std::string> Canonical(std::string_view text);

}  // namespace capstan::json
