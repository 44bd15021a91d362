// Jobs as `sbatch` submits them, and the cancelling of several at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurm/job_state.h"

namespace capstan::slurm {

// An empty text, or a member that is not set, leaves the choice to Slurm and its partition.
struct BatchJob {
  std::string script{};             // from "#!" on; lines of #SBATCH in it mean nothing here
  std::string working_directory{};  // absolute
  std::vector<std::string> environment = {
      "PATH=/usr/local/bin:/usr/bin:/bin"};  // at least one, or Slurm refuses the job
  std::string name{}, partition{}, account{}, qos{}, reservation{}, constraints{}, licenses{};
  std::string standard_output{};  // file; "": slurm-JOBID.out in the working directory
  std::optional<int64_t> nodes{}, tasks{}, cpus_per_task{};
  std::optional<int64_t> memory_mib{};  // of each node; 0 is all that a node has
  std::string gres{};                   // of each node: "gres/gpu=2"
  std::optional<int64_t> limit_minutes{};
};

// Jobs that are not over and of which all that is set is true; slurmctld compares in the moment in which it cancels.
struct JobFilter {
  std::string user{}, account{}, partition{}, qos{}, reservation{}, name{};
  std::optional<JobFlag> only_if{};  // base state: kPending, kRunning or kSuspended

  // Whether it names somebody's or something's jobs, and not just all in a state.
  bool IsNarrow() const {
    return !user.empty() || !account.empty() || !partition.empty() || !qos.empty() || !reservation.empty() ||
           !name.empty();
  }
};

}  // namespace capstan::slurm
