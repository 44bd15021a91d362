// What a system call that failed says, for Results. By errno, right after the call.
#pragma once

#include <errno.h>
#include <string.h>

#include <string>

#include "base/result.h"

namespace capstan::entry {

inline std::string Why() { return strerror(errno); }

// kNotFound: it is not there. kUnavailable: the volume is full. kInternal: all else.
inline std::unexpected<Error> Cannot(const std::string& what) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return Fail(full ? Code::kUnavailable : errno == ENOENT ? Code::kNotFound : Code::kInternal, what + ": " + Why());
}

}  // namespace capstan::entry
