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

// Adds the removal of one record that we took out of service, nobody hears of, or Slurm has powered down, proven by a fresh read; where
// a drain of ours may be lifted at any moment, after another drain. nullopt: nothing is added, as jobs run there, somebody holds it, or
// its slurmd may be there still. `guards`: what is proven besides.
std::optional<plan::ActionId> RemoveRecord(const slurm::Node& node, const api::NodeSet& set,
                                           const plan::SlurmView& slurm, plan::Plan& plan, plan::Guards guards = {});

// Adds the removals to `plan`, each as RemoveRecord does; only while no pod bears the name, present or about to be (`coming`), and none
// of `keep`.
void RemoveRecords(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                   const std::vector<Worker>& workers, const std::set<std::string, std::less<>>& coming,
                   const std::set<std::string, std::less<>>& keep, plan::Plan& plan);

}  // namespace capstan::op::nodeset
