// The last steps of a NodeSet that is being deleted (deletion.h says when which is due). Pure.
#pragma once

#include "operator/nodeset/deletion.h"
#include "operator/nodeset/look.h"

namespace capstan::op::nodeset {

// No worker is left: claims go that are to go with it, and then it.
plan::Plan LetGo(const Look& look);

// It goes before its workers, which the garbage collector takes. Said first, so that whoever watches reads it while the object
// is there; but not for ever.
plan::Plan GiveUp(const Look& look, const Deletion& deletion);

// While nobody comes or goes: claims without a worker are of workers that are not wanted back, but for those of `asleep` (claims.h).
plan::Plan RemoveClaimsOfScaleIn(const Look& look, bool settled, const std::map<int, std::string>& asleep);

}  // namespace capstan::op::nodeset
