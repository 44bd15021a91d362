// Small files, whole.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace capstan::entry {

// What a Secret or a ConfigMap holds at most.
inline constexpr size_t kMaxFile = size_t{1024} * 1024;

// nullopt when it is absent, has more than `limit` bytes, or cannot be read.
std::optional<std::string> ReadFile(const std::string& path, size_t limit = kMaxFile);

// Writes `path` anew, its folder too if that is missing (0700). It is not there while it is half written; after a power cut
// there is the old one or the new one, whole.
Result<void> ReplaceFile(const std::string& path, const std::string& text, mode_t mode);

// Root gives `path` (not what a link there leads to) the owner and group of `like`; others own it anyway.
Result<void> OwnLike(const std::string& path, const std::string& like);

}  // namespace capstan::entry
