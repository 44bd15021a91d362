// Whether the running slurmctld has the configuration that is published, and what is done until it has.
//
// | the pod of slurmctld                     | what is done                                   | ConfigLive                 |
// |------------------------------------------|------------------------------------------------|----------------------------|
// | does not run                             | nothing: it reads the files at its start       | Unknown SlurmctldAway      |
// | has it, as it says itself                | nothing                                        | True Live, since when      |
// | has another one, or a file more          | once it has stood still for a second, the pod  | False Reconfiguring        |
// |                                          | is annotated, so that its kubelet mounts it at |                            |
// |                                          | once; again every 15 s until it is there. A    |                            |
// |                                          | file more after 90 s is the user's template's  |                            |
// | is starting with it                      | nothing: it reads the files at its start       | Unknown SlurmctldAway      |
// | refuses it; or does not start with it,   | nothing, until it changes; Degraded says why,  | False ConfigRefused        |
// | and waits or runs with an earlier one    | and what runs instead since when               |                            |
// | cannot be asked                          | as if it had another one                       | Unknown NotAnswering       |
// | has nobody who could be asked: its image | it was started with it: nothing; else it is    | Unknown NoReconfigurer     |
// | has no capstan-entry                     | annotated, and 90 s later, when every kubelet  |                            |
// |                                          | has mounted the files, slurmrestd is asked to  |                            |
// |                                          | reconfigure, once. A sidecar does it by itself |                            |
//
// Of several slurmctld, those that stand by have it once they could read it (entry/reconfigurer.h). The condition is that
// of the first pod that does not have it.
//
// The pod is never replaced for any of this. The files, and what is live, are compared by their digests; the question is
// asked every second while they differ, or one slurmctld is not ready, and once a minute else.
#pragma once

#include <string>
#include <vector>

#include "api/conditions.h"
#include "kube/resource.h"
#include "operator/controller/questions.h"
#include "operator/reconcile.h"

namespace capstan::op::controller {

struct PublishedFiles {
  std::vector<kube::Key> pods;     // that are to have them; of several slurmctld one is in charge
  LiveConfiguration::Files files;  // those that are known, by name: SHA-256 in hex
  bool complete = true;            // there are no others
  std::string hash;                // of all of them
};

// Adds the condition, and the actions, to `reconcile`; its Plan says by then how Slurm is reached. `before`: the conditions
// as they are; the one of this stays while the pod has not been asked yet.
void Follow(ReconcileBase& reconcile, const PublishedFiles& published, const api::Conditions& before);

}  // namespace capstan::op::controller
