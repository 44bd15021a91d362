// The effects on external jobs of Slurm (slurm/external_job.h), and what is proven of a job before it is relied on.
//
// Whose job it is stands in its admin_comment, which only administrators of Slurm can write: a service gives every job of its
// own a comment that begins with its *mark*. No effect here touches a job without proof of the mark; an id alone proves
// nothing, since a user can write an id into a label and Slurm uses ids again. All run in the cluster's own lane; proofs are
// reads that begin after they are asked for. Needs of Slurm: the token of SlurmUser.
#pragma once

#include <memory>
#include <string>

#include "plan/action.h"
#include "slurm/external_job.h"

namespace capstan::plan {

// What an action on this job calls its target.
std::string JobTarget(std::string_view cluster, int64_t id);

// A job under that id is there afterwards, this one or another: whose it is, the next look at it tells.
std::shared_ptr<const Effect> SubmitJob(std::string cluster, slurm::ExternalJob job);

// Writes its admin_comment, and a name if one is given. Of a job that is over or unknown there is nothing to write. REQUIRES: guarded
// by JobIsOurs, and the text bears the mark.
std::shared_ptr<const Effect> CommentJob(std::string cluster, int64_t id, std::string admin_comment,
                                         std::optional<std::string> name = {});

// Ends it. What is over or unknown already counts as ended. REQUIRES: guarded by JobIsOurs.
std::shared_ptr<const Effect> CancelJob(std::string cluster, slurm::JobCancel cancel);

// Slurm says, asked just now: the job is external and its admin_comment begins with `mark`. A job that it does not know is no.
std::shared_ptr<const Guard> JobIsOurs(std::string cluster, int64_t id, std::string mark);

// The same, and it runs, with this node among its nodes.
std::shared_ptr<const Guard> JobRunsOn(std::string cluster, int64_t id, std::string mark, std::string node);

// The same as JobIsOurs, and it is over: neither waits nor runs nor is suspended. A job that Slurm does not know is unknown: a
// slurmctld that has lost its state knows none.
std::shared_ptr<const Guard> JobHasEnded(std::string cluster, int64_t id, std::string mark);

// The same, or it was told to make room for another job and its grace time goes on.
std::shared_ptr<const Guard> JobGivesWay(std::string cluster, int64_t id, std::string mark);

// The same as JobIsOurs, and it is suspended.
std::shared_ptr<const Guard> JobIsSuspended(std::string cluster, int64_t id, std::string mark);

}  // namespace capstan::plan
