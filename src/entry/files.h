// Small files, whole.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace capstan::entry {

// At most what a Secret or a ConfigMap holds, 1 MiB; nullopt when it is absent, larger, or cannot be read.
std::optional<std::string> ReadFile(const std::string& path);

// Writes `path` anew, its folder too if that is missing (0700). It is not there while it is half written.
Result<void> ReplaceFile(const std::string& path, const std::string& text, mode_t mode);

}  // namespace capstan::entry
