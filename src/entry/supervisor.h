// Runs one daemon as the first process of a container, to its end.
//
// - Every orphan is reaped. When this process is not PID 1 it becomes the sub-reaper, so that it is the same
// there.
// - SIGTERM, SIGINT, SIGHUP and SIGUSR2 go to the *current* main process, which changes with `scontrol
// reconfigure`
//   (notify.h). Only the main process itself may name its successor, and only a process of ours: a job in the
//   same container that writes to the socket is not believed.
// - The end of the main process is the end: its exit status is returned, 128 + n if signal n ended it. With
// one
//   exception: jobs outlive slurmd, but not the container. So a daemon that keeps jobs, ends without having
//   been asked to, and leaves job steps running is started again, five times at most, after 1, 2, 4, 8 and 16
//   s. The count begins anew once it has run for five minutes.
// - After SIGTERM or SIGINT the daemon has `stop_limit` before SIGKILL. slurmctld writes its state in that
// time, so it
//   is long; a pod's own grace period ends sooner.
// - `folder`/ready exists while the daemon has said that it is ready; a daemon that does not notify counts as
// ready
//   while it runs.
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

namespace capstan::entry {

struct Service {
  std::vector<std::string> argv;  // argv[0] is the program's path
  std::string folder;             // writable, for the socket and the ready file; needed only if it notifies
  bool notifies = false;
  bool keeps_jobs = false;
  std::chrono::milliseconds stop_limit{};
  std::chrono::milliseconds first_restart_delay{1000};
};

// What may happen at any rate is told once a minute.
class OncePerMinute {
 public:
  // How many times it was not told since it was last told; nullopt: not now.
  std::optional<int64_t> Tell(std::chrono::steady_clock::time_point now);

 private:
  std::optional<std::chrono::steady_clock::time_point> told_;
  int64_t untold_ = 0;
};

// The exit status for this process. An Error only if the daemon could not be started at all.
Result<int> Supervise(const Service& service);

}  // namespace capstan::entry
