// What of a changed spec.extraConf running workers follow without being replaced: Weight and Features, which Slurm lets one
// change of a registered node. All else of it, Gres and Topology among them, is slurmd's, and takes another worker. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/renewal.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/source.h"

namespace capstan::op::nodeset {

struct LiveConf {
  int64_t weight = 1;                 // Slurm's own where none is given
  std::vector<std::string> features;  // sorted, each once
  std::string rest;                   // the other words, sorted; equal for equal wishes
};

// A weight that is no number is one of the other words.
LiveConf LiveConfOf(std::string_view extra_conf);

// By revision, what extraConf was in those of the set's former revisions that differ from `revision`, that of the set as it is,
// in what workers follow only. From the ControllerRevisions that there are.
std::map<std::string, std::string, std::less<>> AlikeRevisions(const plan::World& world, const api::NodeSet& set,
                                                               std::string_view revision);

// Workers of these revisions whose record is known get today's weight and features, and then today's label. What somebody else
// added to a record stays.
void FollowExtraConf(const api::NodeSet& set, const std::vector<Worker>& workers, const Revisions& revisions,
                     plan::Plan& plan);

// What the record of a worker lacks that is called as its machine and registered under the record of another NodeSet's worker,
// there before it, whose features Slurm keeps; nullopt: it is the worker's own.
std::optional<slurm::NodeUpdate> TakenOverRecord(const Worker& worker, const api::NodeSet& set);

}  // namespace capstan::op::nodeset
