// The key of a Slurm cluster with which its tokens are signed, read from its Secret.
#pragma once

#include <string>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/client.h"

namespace capstan::plan {

// How far slurmctld's clock may be behind ours: tokens are valid from that much ago.
inline constexpr Duration kTokenClockSkew = 10s;

// kNotFound: there is no such Secret, or nothing usable under `data_key` in it.
async::Task<Result<Secret>> ReadSigningKey(kube::Client& client, kube::Key secret, std::string data_key,
                                           async::Deadline deadline);

}  // namespace capstan::plan
