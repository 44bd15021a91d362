// The shell scripts that sidecars run. Plain POSIX sh: they run in Debian's dash and in busybox, whatever image the
// user gives. Kubernetes collapses `$$` and expands `$(NAME)` in a container's command; neither stands in them except
// as command substitutions, which it leaves alone.
#pragma once

#include <string>
#include <string_view>

namespace capstan::op::render {

// Turns a daemon's log file into the container's standard output: makes the path $SOCKET a FIFO of this mode ("600"), and
// copies it. It keeps the FIFO open for writing itself, so that a daemon can always open it and no line is
// lost between two readers. TERM ends it with 0, INT and HUP with 1.
std::string LogfileScript(std::string_view mode);

// Tells slurmctld to read its configuration anew whenever a file under /etc/slurm has changed: looks every 5 s, and
// tries every 2 s until slurmctld has accepted. Does so once at its start if slurmctld is up already: then this is a
// restarted sidecar, which cannot know what it missed. TERM ends it with 0.
extern const std::string_view kReconfigureScript;

// What a worker's preStop hook runs: sets its own node DOWN, so that Slurm does not wait for it to stop answering. What
// somebody else has taken out of service stays as it is, with its reason and whoever gave it.
extern const std::string_view kWorkerStopScript;

// Copies configuration and keys from /mnt/slurm, where only root can read them, to /mnt/etc/slurm, and gives them to
// $SLURM_USER with the modes that Slurm insists on.
extern const std::string_view kInitconfScript;

}  // namespace capstan::op::render
