// What the user of a NodeSet reads: counts, and conditions that say in words what is wrong and what to do.
#pragma once

#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/findings.h"
#include "operator/nodeset/deletion.h"
#include "operator/nodeset/gres.h"
#include "operator/nodeset/node_annotations.h"
#include "operator/nodeset/renewal.h"
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
  const Renewal& renewal;
  const std::string& renewal_held;  // why no further worker is renewed now; "" when nothing but the budget holds it
  const api::NodeSet* elder;        // has this one's name in Slurm; nullptr: none
  const Revisions& revisions;
  const std::string& render_error;  // why no worker pod can be made; empty when it can
  const Deletion& deletion;
  const GresWish& gres;
  const Placing& placing;
};

// The status but for its conditions, and into `findings` what these are made from. Tells what was seen, never what was asked
// for; holds no age.
api::NodeSetStatus StatusOf(const Seen& seen, Findings& findings);

// When the status changes although nothing is heard: a worker that is ready will have been so for minReadySeconds, or one
// that is leaving should have ended. max: nobody's time runs.
Duration NextChange(const Seen& seen);

}  // namespace capstan::op::nodeset
