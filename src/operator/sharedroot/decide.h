// One SharedRoot: a volume claim, and Jobs that write to that volume. The operator never mounts it.
//
// | there is                                            | what is done                                                      |
// |-----------------------------------------------------|-------------------------------------------------------------------|
// | no claim                                            | spec.claim.size: it is created, and belongs to nobody, so that it |
// |                                                     | stays; spec.claim.existing: a condition says so                   |
// | a claim that is not for several writers, or that an | nothing; a condition says so                                      |
// | older SharedRoot has                                |                                                                   |
// | another claim of that name than in status           | status forgets its generations: it is another volume              |
// | another generation in status.current than spec asks | a Job of the image itself copies its files to the volume; one that|
// | for, and it is not in status.generations            | finds them there ends at once                                     |
// | it is there, or only other folders are asked for    | a Job makes it the current one (capstan-entry root switch);        |
// |                                                     | pods look there every two seconds                                 |
// | in status a later switch asked for than made        | the same: it may have been made, or be made yet                   |
// | a Job of a later switch than status has asked for   | first the status says so; no Job is removed until it does         |
// | a switch to what is not on the volume               | status.generations names it no more: it is filled                 |
// | other spec.files, or texts of their ConfigMaps, than| a Job writes them there (capstan-entry root files); to a root that |
// | status.files                                        | is about to be current before that                                |
// | spec.switch.policy Manual                           | what spec asks for is filled; what spec.switch.current names is   |
// |                                                     | current, without it what was                                      |
// | more generations than spec.history                  | a Job removes those that were current the longest ago: which of   |
// |                                                     | them no pod with the volume has, as these say there; asked for    |
// |                                                     | anew each hour                                                    |
// | a Job that has failed                               | a condition says why; Kubernetes removes the Job after ten        |
// |                                                     | minutes, and it is made anew                                      |
//
// A generation is named after its image and revision, so that the same text means the same one. Jobs are repeatable, and one that is
// not wanted any more is removed (Plan::children). What a Job of an older spec would switch to after a newer one is refused on the
// volume.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::sharedroot {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::sharedroot
