// Slurm's records of workers that are gone: a removed worker leaves none behind.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// The removal of one record, proven by a fresh read; nullopt: jobs run there, somebody holds it, or its slurmd may be
// there still.
std::optional<plan::Action> RemovalOf(const slurm::Node& node, const api::NodeSet& set, const std::string& cluster);

// Adds the removals to `plan`. Only what we took out of service, or nobody hears of, goes, proven by a fresh read; and
// only while no pod bears the name, present or about to be (`coming`).
void RemoveRecords(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                   const std::vector<Worker>& workers, const std::set<std::string, std::less<>>& coming,
                   plan::Plan& plan);

}  // namespace capstan::op::nodeset
