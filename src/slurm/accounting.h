// What Slurm books: how much of the cluster associations may and do use, and jobs as slurmdbd remembers them when slurmctld has
// forgotten them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "slurm/job_state.h"

namespace capstan::slurm {

// An account, or a user of an account: one row of `sshare -a -l`. Only clusters with slurmdbd have any.
struct Share {
  std::string account;
  std::string user;                    // "": the account itself
  std::string parent;                  // of an account the one above, "" of root; of a user its account
  std::string partition;               // if it holds in that one only
  std::optional<int64_t> shares;       // among its siblings (RawShares); absent: those of its parent (Fairshare=parent)
  std::optional<double> shares_ratio;  // of its siblings' shares together, 0 to 1 (NormShares)
  int64_t usage = 0;  // billing units times seconds, older ones counted less (RawUsage); processor seconds by default
  double usage_ratio = 0;  // of its siblings' usage together, 0 to 1 (EffectvUsage, by the Fair Tree algorithm)
  std::optional<double> fair_share;  // of users, 0 to 1: the jobs of the highest come first (FairShare)
};

// A job of slurmdbd.
struct BookedJob {
  int64_t id = 0;
  std::string cluster, name, user, account, partition, qos;
  std::string nodes;  // hostlist; "" if it never ran
  JobState state;
  std::string state_reason;
  std::optional<int64_t> exit_status;  // of its script
  std::optional<int64_t> signal;       // that ended it
  std::optional<Time> submit_time, start_time, end_time;
  Duration elapsed{};
};

}  // namespace capstan::slurm
