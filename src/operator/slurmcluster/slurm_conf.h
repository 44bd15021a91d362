// The lines of slurm.conf that a SlurmCluster asks for, as extraConf of its Controller. A pure function.
#pragma once

#include <string>

#include "api/slurmcluster.h"
#include "base/result.h"
#include "operator/settings.h"

namespace capstan::op::slurmcluster {

// Options, partitions and the user's own lines, in this order, and behind them `of_part`, the extraConf of spec.controller.spec: of
// an option that is there twice Slurm takes the last. kInvalid: something that cannot be a line, or an option
// with which jobs would not be in spec.sharedRoot; the message names it.
Result<std::string> SlurmConf(const api::SlurmCluster& cluster, const std::string& of_part, const Settings& settings);

}  // namespace capstan::op::slurmcluster
