// The ControllerRevisions of a NodeSet: what its user wrote about workers of one revision (revision.h), to be read and to be
// put back. One is called NODESET-REVISION and bears the revision as its workers do, in a label; its `revision` is the
// greatest while it is today's, also when the user has gone back to it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/nodeset.h"
#include "base/result.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// The object, as JSON, that is made for `revision` of the NodeSet as it is.
Result<std::string> RevisionObject(const api::NodeSet& set, std::string_view revision, int64_t number);

// Makes that of `revision`, today's, and removes the oldest of those that no worker bears, beyond
// spec.revisionHistoryLimit. Those of another operator, which have not our labels, stay; all go with their NodeSet, or are
// found again by the next one of its name.
void KeepHistory(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers,
                 std::string_view revision, plan::Plan& plan);

}  // namespace capstan::op::nodeset
