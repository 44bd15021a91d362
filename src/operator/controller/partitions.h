// Partitions of NodeSets, one by one: a fault in one NodeSet does not hold back the rest of slurm.conf.
//
// | what is wrong                                                    | what slurm.conf has                                      |
// |------------------------------------------------------------------|----------------------------------------------------------|
// | slurmctld would not start with a NodeSet's spec.partition.config | the partition as it is published, or none if none is     |
// | spec.extraConf, or a file that it includes, has a partition of   | that one                                                 |
// | the name of a NodeSet's                                          |                                                          |
// | a partition names a NodeSet that is gone                         | the NodeSet as it is published; it has no nodes          |
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "operator/controller/conf_lines.h"
#include "operator/controller/config.h"
#include "operator/findings.h"

namespace capstan::op::controller {

// Changes `config` so, and tells of each. kInvalid: the first of them, while what is published is lost and there may be jobs in that
// partition. Pure.
Result<void> SettlePartitions(Config& config, Findings& findings);

// What partitions of a slurm.conf name, directly or by a NodeSet, that it defines neither as a NodeSet nor as a node; the first 10,000. Empty where
// it includes a file, which may define it.
std::vector<std::string> UndefinedNodes(const ConfLines& conf);

}  // namespace capstan::op::controller
