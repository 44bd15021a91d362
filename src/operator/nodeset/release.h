// Holding on to a NodeSet by its finalizer, letting go of it, and what is proven before that (deletion.h says when).
#pragma once

#include <memory>
#include <string>

#include "api/nodeset.h"
#include "kube/resource.h"
#include "plan/action.h"

namespace capstan::op::nodeset {

// Has the finalizer `name`.
bool HasFinalizer(const api::NodeSet& set, std::string_view name);

// Adds our finalizer, if nobody has changed the NodeSet since it was seen.
plan::Action Hold(const api::NodeSet& set);

// Takes our finalizer away, that of the former name first, if nobody has changed the NodeSet since it was seen. What is left of its workers is then
// the garbage collector's, so this counts as destructive. A NodeSet that is gone counts as let go.
plan::Action Release(const api::NodeSet& set, plan::Guards guards, std::string reason);

// The API server says, asked just now: the set asks for what it was seen to ask for.
std::shared_ptr<const plan::Guard> AsksForTheSame(const api::NodeSet& set);

// The API server says, asked just now: every pod that the set controls is terminating, or there is none.
std::shared_ptr<const plan::Guard> NoWorkerIsLeft(const api::NodeSet& set);

// The API server says, asked just now: the set's Controller is gone or being deleted.
std::shared_ptr<const plan::Guard> ClusterIsAbandoned(const api::NodeSet& set);

// Slurm, asked just now for `node`, does not answer.
std::shared_ptr<const plan::Guard> SlurmIsSilent(std::string cluster, std::string node);

// The API server says, asked just now: the pod is still this one, and the set's.
std::shared_ptr<const plan::Guard> WorkerIsOwned(kube::Key pod, std::string uid, std::string set_uid);

}  // namespace capstan::op::nodeset
