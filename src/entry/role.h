// The roles a container can have: which Slurm daemon runs in it, and what that daemon needs to find.
//
// A new role is one row in role.cc. Everything here is constant and may be used from any thread.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace capstan::entry {

// Slurm's user and group in all images: the numbers the charts put into security contexts.
inline constexpr unsigned kSlurmUser = 401;

// A directory the daemon insists on. Made when missing (0755); the owner is put right when this process may
// do so.
struct Directory {
  const char* path;
  unsigned owner;  // uid and gid
};

struct Role {
  std::string_view name;         // first argument of capstan-entry, and the daemon's program name
  const char* options_variable;  // environment variable with further options, in front of the container's arguments
  bool notifies;                 // runs with --systemd: announces readiness and a new main process (see notify.h)
  bool sizes_node;               // knows --conf and -C: is told what share of the machine the pod has (see sizing.h)
  bool keeps_jobs;               // its jobs outlive it: restarted instead of ending the container (see supervisor.h)
  std::span<const Directory> directories;
};

// kInvalid, with the known names, for anything else.
Result<const Role*> FindRole(std::string_view name);

}  // namespace capstan::entry
