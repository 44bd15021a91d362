// From a role and the container's arguments to a Service that can be supervised.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "entry/role.h"
#include "entry/supervisor.h"

namespace capstan::entry {

// The folder for sockets and the ready file: $CAPSTAN_ENTRY_FOLDER, /run/capstan or /tmp/capstan,
// whichever can be had first. It is only ours to write. kUnavailable when none can be had.
Result<std::string> MakeFolder();

// The daemon's arguments, without its name: what it always has, the words of the role's variable, then `arguments`.
// Without -D when it is told --systemd, which says what is so anyway and excludes it.
Result<std::vector<std::string>> DaemonArguments(const Role& role, const std::vector<std::string>& arguments);

// The roles that run beside this one: its own, or those that CAPSTAN_BESIDE names. kInvalid for others.
Result<std::vector<const Role*>> RolesBeside(const Role& role);

// All of it: directories, mounted files, the pod's share of the machine in --conf, and what runs beside the daemon. Runs
// `slurmd -C` and `ssh-keygen -A` at most once, for 30 s each at most. The time to stop is CAPSTAN_STOP_SECONDS, 600
// when unset.
Result<Container> PrepareContainer(const Role& role, const std::vector<std::string>& arguments);

}  // namespace capstan::entry
