// How long tests wait for real things: as many times the usual as CAPSTAN_PATIENCE says, once without it. A wait that fails takes
// longer then; one that succeeds does not.
#pragma once

#include <cstdlib>

#include "base/time.h"

namespace capstan::testing {

inline Duration Patient(Duration usual) {
  const char* factor = std::getenv("CAPSTAN_PATIENCE");
  return factor == nullptr ? usual : usual * std::atoi(factor);
}

}  // namespace capstan::testing
