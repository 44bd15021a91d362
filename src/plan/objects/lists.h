// Effects on lists that have several writers: the smallest patch that says only what is ours.
//
// A list that is sent whole undoes whatever another writer has put into it meanwhile. Finalizers are therefore changed
// only if nobody has changed the object since it was seen: kConflict says that somebody was quicker, and the key decides
// again. The conditions of a pod or a node are merged by their type on the server, so that no version is needed and the
// kubelet's own writes, many a second, are no conflict. All carry the object's uid: a namesake is never touched.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/object_meta.h"
#include "plan/objects/effects.h"

namespace capstan::plan {

// Puts the finalizer at the end of the list of the object `seen`. An object that is being deleted takes no new ones:
// kInvalid then, from the server.
std::shared_ptr<const Effect> AddFinalizer(ObjectRef ref, const json::ObjectMeta& seen, std::string_view finalizer);

// Takes the finalizer out of it. What it has kept from going may go then, so this is destructive. An object that is gone
// counts as done.
std::shared_ptr<const Effect> RemoveFinalizer(ObjectRef ref, const json::ObjectMeta& seen, std::string_view finalizer);

// One entry of the list.
struct ConditionText {
  std::string type, status;  // "PodScheduled"; "True", "False" or "Unknown"
  std::string reason, message;
  bool begins = true;  // its status is another than before: the time of the write becomes its lastTransitionTime
};

// Sets these conditions in the status of a pod or a node, and removes those of the types `gone`; all others stay. One that is
// gone has none.
std::shared_ptr<const Effect> ChangeConditions(ObjectRef ref, std::string uid, std::vector<ConditionText> set,
                                               std::vector<std::string> gone);

}  // namespace capstan::plan
