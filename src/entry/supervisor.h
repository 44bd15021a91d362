// Runs the daemons of a container as its first process, to their end: one, or one with others beside it.
//
// - Every orphan is reaped. When this process is not PID 1 it becomes the sub-reaper, so that it is the same
//   there.
// - SIGTERM and SIGINT go to the current main process of every daemon, SIGHUP and SIGUSR2 to that of the first. It
//   changes with `scontrol reconfigure` (notify.h). Only the main process itself may name its successor, and only a
//   process of ours: a job in the same container that writes to the socket is not believed.
// - What the end of a daemon means is said by its OnEnd. The exit status is that of the first daemon, 128 + n if signal
//   n ended it.
// - After SIGTERM or SIGINT the daemons have `stop_limit` before SIGKILL. slurmctld writes its state in that
//   time, so it is long; a pod's own grace period ends sooner.
// - What a daemon reads and what is mounted is compared every two seconds (Service::refresh).
// - What a slurmd is called in Slurm is answered to whoever asks (identity.h); one of which slurmctld has lost the record is
//   started anew (registration.h).
// - A configuration that changes reaches the first daemon without a restart (reconfigurer.h). Where that is so, it is started
//   with what it ran with last when it does not start with what is mounted, and where neither starts the container waits
//   (starter.h): the end of a daemon that never ran is not the container's. Nor is that of one that keeps nothing (waiting.h).
// - Where the container has a shared root, its volume is looked at and its tree kept (root/served.h). A slurmd is started once there
//   is a tree: a step that begins without one fails, and slurmctld drains the node of a batch job that does.
// - `folder`/ready exists while all daemons have said that they are ready; one that does not notify counts as
//   ready while it runs, and one that may fail, also after it has ended by itself. With a shared root, while that is ready too.
//
// One thread, no other children of this process, and signals must not have been handled before. A stop signal that is
// held (process.h) means that nothing is started.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/daemon.h"
#include "entry/reconfigurer.h"
#include "entry/registration.h"
#include "entry/waiting.h"

namespace capstan::entry {

struct Container {
  std::vector<Service> services;  // not empty
  std::string folder;             // writable, for sockets and the ready file; needed only if one notifies
  std::chrono::milliseconds stop_limit{};
  std::optional<Reconfigurer::Options> reconfigure = {};  // the first daemon; its folder is ours
  std::optional<Waiting::Options> wait = {};              // the first daemon, where it does not start
  uint16_t identity_port = 0;                             // where the name of the first one's node is told (identity.h)
  std::optional<Registration::Options> registration = {};  // the first daemon's, a slurmd
  std::string shared_root = {};                            // where its volume is mounted; "": there is none
  std::string pod_uid = {};                                // by which the pod is known on that volume; "": it is not
};

// The exit status for this process. An Error only if a daemon could not be started at all.
Result<int> Supervise(const Container& container);

}  // namespace capstan::entry
