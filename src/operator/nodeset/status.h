// What the user of a NodeSet reads: counts, and conditions that say in words what is wrong and what to do.
#pragma once

#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/findings.h"
#include "operator/nodeset/deletion.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/workers.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// What a status is made from: one moment of the world, and what this Decide made of it.
struct Seen {
  const plan::World& world;
  const api::NodeSet& set;
  const api::NodeSetSpec& spec;       // with defaults
  const api::Controller* controller;  // nullptr: there is none of that name
  const plan::SlurmView& slurm;
  const std::vector<Worker>& workers;
  const Scale& scale;
  const api::NodeSet* elder;  // has this one's name in Slurm; nullptr: none
  const std::string& revision;
  const std::string& former_revision;  // ""; or workers that bear it are of this revision as well
  const std::string& render_error;     // why no worker pod can be made; empty when it can
  const Deletion& deletion;
};

// The status but for its conditions, and into `findings` what these are made from. Tells what was seen, never what was asked
// for; holds no age.
api::NodeSetStatus StatusOf(const Seen& seen, Findings& findings);

// When a worker that is ready will have been so for minReadySeconds: availableReplicas changes then, and nothing is heard of
// it. max: nobody's time runs.
Duration NextAvailable(const Seen& seen);

}  // namespace capstan::op::nodeset
