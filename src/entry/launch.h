// From a role and the container's arguments to a Service that can be supervised.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "entry/role.h"
#include "entry/supervisor.h"

namespace capstan::entry {

// Makes what the role needs. A directory that cannot be made is said and passed over: the daemon may not need
// it.
void MakeDirectories(const Role& role);

// The folder for the socket and the ready file: $CAPSTAN_ENTRY_FOLDER, /run/capstan or /tmp/capstan,
// whichever can be had first. It is only ours to write. kUnavailable when none can be had.
Result<std::string> MakeFolder();

// The daemon's arguments, without its name: the words of the role's variable, then `arguments`. Without -D,
// which says what is so anyway and excludes --systemd; with --systemd in front for a daemon that notifies.
Result<std::vector<std::string>> DaemonArguments(const Role& role, const std::vector<std::string>& arguments);

// All of it, with the pod's share of the machine in --conf; runs `slurmd -C` at most once, for 30 s at most.
// The time to stop is CAPSTAN_STOP_SECONDS, 600 when unset.
Result<Service> PrepareService(const Role& role, const std::vector<std::string>& arguments);

}  // namespace capstan::entry
