// Workers on demand: which of a NodeSet's Slurm nodes have a pod, Slurm's power saving says. The annotation `capstan.dev/power` asks for it:
// "OnDemand", or "OnDemand idle=10m". spec.replicas is then how many Slurm nodes there are, whether or not they have a pod, so that an
// autoscaler is no use beside it. slurmctld starts no program for it (Controller's ResumeProgram is /bin/true): its states, as they are seen,
// are all that is needed, and nothing is missed or told twice.
//
// | record of a worker's name  | its pod         | what is done                                                                    |
// |----------------------------|-----------------|---------------------------------------------------------------------------------|
// | none                       | none            | it is made (slurm/cloud_node.h), for the lowest names that are free             |
// | up, or POWERING_UP         | none            | a pod is made                                                                   |
// | POWERED_DOWN, with a job   | none            | nothing yet: POWERING_UP follows within seconds, and a slurmd before it would   |
// |                            |                 | end the job                                                                     |
// | POWERING_UP                | going, or ready | it is deleted: its slurmd began too early to count; proven by a fresh read, and |
// |                            | for two minutes | its slurmd has no job step                                                      |
// | POWERING_DOWN, POWERED_DOWN | there          | it is marked and deleted, proven by a fresh read: no job is there, none begins  |
// | POWERED_DOWN               | none            | nothing; one too many is removed, proven by a fresh read                        |
// | DOWN, as slurmctld waited  | none            | it is removed, and made anew: a start that took too long is tried again         |
// | of a slurmd that came as   | there           | it goes as in a scale-in, drained first; then the record is made                |
// | itself, no cloud node      |                 |                                                                                 |
//
// Of a NodeSet that is not on demand any more such a record is removed before its worker is made; while it is held by a person, in a maintenance
// reservation, or Slurm is not heard, none is made (creating.cc).
//
// While Slurm is not heard none is made and none taken away. Of too many, those without a pod go first. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/controller.h"
#include "operator/nodeset/look.h"
#include "operator/nodeset/scale.h"

namespace capstan::op::nodeset {

struct Power {
  Duration idle{};         // until a node without a job is powered down
  int64_t cpus = 0;        // of a worker
  int64_t memory_mib = 0;  // the same
};

// nullopt: it is not asked for. kInvalid: what the annotation says, or a NodeSet whose workers cannot be known before they run, as they have no
// limits, are called as their machines, or are one for each of these.
Result<std::optional<Power>> PowerOf(const api::NodeSet& set);

// StatefulSet mode, on demand.
Scale ScaleOnDemand(int replicas, const api::NodeSet& set, const std::vector<Worker>& workers,
                    const plan::SlurmView& slurm);

// The Slurm nodes of scale.nodes are made. An Error: what they are to be made of cannot be read.
Result<plan::Plan> MakeCloudNodes(const Look& look, const Scale& scale, const Power& power);

// Where workers are placed by labels, those that are powered down stand at an unknown place: nobody knows where the next pod will be, and a node without
// a place is given no job of several nodes.
plan::Plan PlaceCloudNodes(const Look& look, const Scale& scale);

// A pod that was there before Slurm powered its node up is deleted.
plan::Plan ReplaceEarlier(const Look& look, const Worker& worker);

}  // namespace capstan::op::nodeset
