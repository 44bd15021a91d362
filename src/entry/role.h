// The roles a container can have: which daemon runs in it, and what that daemon needs to find.
//
// A new role is one row in role.cc. Everything here is constant and may be used from any thread.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "base/result.h"
#include "entry/mounted.h"
#include "entry/supervisor.h"

namespace capstan::entry {

// Slurm's user and group in all images: the numbers the charts put into security contexts.
inline constexpr unsigned kSlurmUser = 401;

// A directory the daemon insists on, and that is its own (directories.h).
struct Directory {
  const char* path;
  unsigned owner;  // uid and gid
};

struct Role {
  std::string_view name;             // first argument of capstan-entry
  std::string_view program;          // the daemon
  const char* options_variable;      // environment variable with further options, in front of the container's arguments
  std::span<const char* const> ask;  // options it always has: that it stays in the foreground, and speaks to us
  bool notifies = false;             // announces readiness, and perhaps a new main process (see notify.h)
  bool sizes_node = false;  // knows --conf and -C: is told what share of the machine the pod has (see sizing.h)
  bool as_slurm = false;    // root starts it as Slurm's user
  OnEnd on_end = OnEnd::kEnd;
  bool may_fail = false;  // once it has failed, the container counts as ready without it
  std::span<const Directory> directories = {};
  std::span<const std::string_view> beside = {};  // roles that run in the same container, always
  bool may_have_people = false;                   // further ones are named by CAPSTAN_BESIDE: sssd, sshd
  std::span<const MountedFile> files = {};        // what it reads and what may be mounted (see mounted.h)
  bool reconfigures = false;                      // a changed configuration reaches it (see reconfigurer.h)
  bool waits = false;                             // where it does not start (see waiting.h)
  bool probed = false;                            // at the port that its last argument names, which is open meanwhile
  int reload_signal = 0;                          // what it gets when they change; after SIGTERM it is started again
};

// kInvalid, with the known names, for anything else.
Result<const Role*> FindRole(std::string_view name);

}  // namespace capstan::entry
