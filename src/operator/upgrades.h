// The order in which Slurm is upgraded. A daemon may be newer than those that ask it, never older: slurmdbd comes first,
// then slurmctld, then slurmrestd and logins (workers follow with their NodeSet). Names of images do not always tell the
// release, so each change of an image waits:
//
// | what is wanted                            | what is done                                                        |
// |-------------------------------------------|---------------------------------------------------------------------|
// | a workload that is not there yet          | it is made with the image that is wanted                            |
// | the image that it has                     | it is changed at once, whatever the daemon before it does           |
// | another image, and the daemon before it   | it is changed at once                                               |
// | is outside of Kubernetes, or runs all     |                                                                     |
// | that is wanted of it and is ready         |                                                                     |
// | another image, else                       | it keeps the image that it has; all else is changed; a condition    |
// |                                           | names the daemon and how far that is                                |
//
// Pure.
#pragma once

#include <optional>
#include <string>

#include "api/controller.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/reconcile.h"
#include "plan/plan.h"

namespace capstan::op {

// A daemon that is upgraded before another one.
struct Predecessor {
  const Component& component;
  std::string of;          // "Accounting slurm/db"
  std::string image;       // that is wanted of it; "": its spec cannot be read
  const StatefulSet* set;  // nullptr: it is not there
  int32_t replicas = 1;    // that are wanted
};

// slurmdbd of a Controller, which has its defaults. nullopt: it has none, or one outside of Kubernetes.
std::optional<Predecessor> SlurmdbdBefore(const plan::World& world, const api::Controller& controller);

// slurmctld of a Controller. nullopt: it is outside of Kubernetes.
std::optional<Predecessor> SlurmctldBefore(const plan::World& world, const api::Controller& controller);

// `wanted`, a StatefulSet or Deployment, as it may be applied now: with the image that `present`, the template of the one
// that is there, has of `component` while that is to be kept. `never_ran`: no pod of it ever ran,
// so that a running release is not at stake; its image waits for a new `before` to be there, and not for it to be ready.
plan::Child InOrder(ReconcileBase& reconcile, const std::optional<Predecessor>& before, const Component& component,
                    const WorkloadTemplate& present, plan::Child wanted, bool never_ran = false);

// What of `before`, which is there, is of an older template still, in words; "": nothing, and it answers. Others of its pods may
// be away.
std::string WhyBehind(const plan::World& world, const Predecessor& before);

}  // namespace capstan::op
