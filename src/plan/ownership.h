// Whose an object is, and which of its fields: what must be known before an object that exists already is applied.
//
// An object that somebody else controls, or that merely has the name we want, is never taken over. One that is ours but
// was last written by a program that we replace (a former manager) is: before our first apply the former manager's
// entries in metadata.managedFields are folded into our own. Server-side apply then drops the fields that the former
// manager set and we do not want, and keeps what anybody else set. Without the folding such fields would stay for ever,
// owned by a program that is gone. The same is done with the status of our own custom resources; what a former manager
// wrote through other subresources (a scale, the status of a Deployment) stays its own. managed_fields.h does the folding.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json/object_meta.h"

namespace capstan::plan {

// Besides what the owner controls, an object without any controller counts as ours when one of these holds.
struct Adoption {
  std::vector<std::string> owners;            // uids: one of them, or our owner itself, is among its owner references
  std::map<std::string, std::string> labels;  // it has no owner at all and carries all of these; empty: does not count
};

bool IsOurs(const json::ObjectMeta& object, std::string_view owner_uid, const Adoption& adoption);

// The managers whose fields become ours.
struct Successor {
  std::string_view manager;                // ours
  const std::vector<std::string>& former;  // by name

  // The managedFields entry is of a former manager, and one that passes to us when `applied` is: the object itself (""),
  // or this subresource of it.
  bool Follows(std::string_view name, std::string_view operation, std::string_view subresource,
               std::string_view applied) const;
};

// Something is to be folded, as far as the reduced entries of a store show.
bool HasFormerManager(const json::ObjectMeta& object, const Successor& successor, std::string_view applied = {});

}  // namespace capstan::plan
