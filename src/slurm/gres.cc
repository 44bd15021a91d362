#include "slurm/gres.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "slurm/amount.h"

namespace capstan::slurm {
namespace {

// "4", "2K": as Slurm counts, in steps of 1024.
std::optional<int64_t> CountOf(std::string_view text) {
  int64_t unit = 1;
  const size_t suffix = std::string_view("KMGTP").find(text.empty() ? ' ' : char(text.back() & ~0x20));
  if (suffix != std::string_view::npos) {
    unit = int64_t{1} << (10 * (suffix + 1));
    text.remove_suffix(1);
  }
  const auto count = ParseInt(text);
  if (!count || *count != Amount(*count)) return std::nullopt;
  return *count > kMostAmount / unit ? kMostAmount : *count * unit;
}

}  // namespace

Gres Gres::Parse(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {  // sockets stand in brackets, with commas between them
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')' && depth > 0) --depth;
  }
  Gres gres;
  for (const std::string_view one : Split(plain, ',')) {
    std::vector<std::string_view> parts = Split(Trim(one), ':');
    if (parts.front().empty()) continue;
    // Slurm writes "gpu:(null):4(IDX:0-3)" of what has no type.
    std::erase_if(parts, [](std::string_view part) { return part.empty() || part == "no_consume"; });
    int64_t count = 1;
    if (parts.size() > 1) {
      if (const auto given = CountOf(parts.back())) {
        count = *given;
        parts.pop_back();
      }
    }
    const std::string name(parts.front());
    gres.by_name[name] = Amount(gres.by_name[name] + count);
    if (parts.size() > 1) {
      int64_t& of_type = gres.types[name][std::string(parts[1])];
      of_type = Amount(of_type + count);
    }
  }
  return gres;
}

int64_t Gres::Count(std::string_view name) const {
  const auto found = by_name.find(name);
  return found == by_name.end() ? 0 : found->second;
}

}  // namespace capstan::slurm
