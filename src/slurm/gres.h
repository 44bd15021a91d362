// GRES as Slurm writes them of a node, and as users do: "gpu:a100:4(S:0-1),gpu:h100:2,shard:8".
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace capstan::slurm {

struct Gres {
  std::map<std::string, int64_t, std::less<>> by_name;                                    // "gpu": of all its types
  std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> types;  // of those that tell one

  // What stands in brackets (sockets, "(null)") and "no_consume" are left out. One without a count counts as one; "2K" are 2048, as with Slurm.
  static Gres Parse(std::string_view text);

  int64_t Count(std::string_view name) const;  // 0: none of that name
};

}  // namespace capstan::slurm
