// What the Slinky projects' operator left behind, as several kinds meet it.
#pragma once

#include "json/object_meta.h"
#include "operator/reconcile.h"
#include "plan/plan.h"

namespace capstan::op {

// `manager` wrote the object itself, by this operation ("Apply", "Update").
bool WrittenBy(const json::ObjectMeta& object, std::string_view manager, std::string_view operation);

// A workload of `owner_uid` was made by a former operator and has not been applied by us yet.
bool IsOfFormer(const json::ObjectMeta& workload, std::string_view owner_uid);

// Such a workload is left as it is until something else is wanted of it than on the day of the switch: applying ours
// would start its pods anew for nothing but our own way to write it. On that day it is noted what is wanted. True: it is
// left. REQUIRES: IsOfFormer, and `wanted` is made from inputs that have settled.
bool IsLeftToFormer(ReconcileBase& reconcile, const json::ObjectMeta& workload, const plan::Child& wanted);

}  // namespace capstan::op
