// What the Slinky projects' operator leaves of its work on a NodeSet and its workers, and what becomes of it. It works
// once: what it takes away is not there a second time. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "operator/objects.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// Under which revision workers of the template as it is were made before, by another operator or an older version of
// ours, which computed it in another way: what the status says while it speaks of this very spec. "" when that is
// `revision`, or not known.
std::string FormerRevision(const api::NodeSet& set, std::string_view revision);

// The pod-cordon annotation is there and a person's. The former operator writes the same one for each drain of its own.
bool IsCordonedByPerson(const Pod& pod);

// Workers of the former revision get the label of `revision`; the former operator's pod-cordon annotations, which nobody
// keeps up any more, go.
void TakeOverWorkers(const std::vector<Worker>& workers, std::string_view former_revision, std::string_view revision,
                     plan::Plan& plan);

}  // namespace capstan::op::nodeset
