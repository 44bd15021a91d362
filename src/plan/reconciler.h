// One kind of keys: which they are, what decides them, and what belongs to them.
#pragma once

#include <string>
#include <vector>

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/rights.h"
#include "plan/world.h"

namespace capstan::plan {

// A plain function: no captures, no members, nowhere to keep anything. The same World and key give the same Plan.
// (test/nocompile/ tries a capture.)
using Decide = Plan (*)(const World& world, const kube::Key& key);

struct Reconciler {
  std::string kind;  // "nodeset"; in keys, logs and metrics
  // Each object of it is a key; or, with `index`, each entry of that index of its store is one, whose values are "ns/name": a
  // group of objects. A group has no children, no status and no object of its own, and its Plan says whom its Events
  // regard (Plan::about). It is decided, too, as long as its Plan has actions or follows jobs, though no object is left.
  // Of a kind without namespaces: its children may be in any, so that every kind is watched
  // everywhere (watches.h), for which the program needs the right.
  const kube::Resource* resource;
  Decide decide;
  // The kinds of its Plans' children. Objects of these kinds that the key's object controls and that are not among the
  // Plan's children are removed, and an Event "Pruned" on the key's object tells of each. They are deleted only as they
  // were last seen (DeleteUnchanged), and only while the key's object asks for what was seen (SameGeneration).
  // REQUIRES: there is a store of each.
  std::vector<const kube::Resource*> children;
  std::vector<Right> uses = {};  // for its own actions, guards, questions and reads of other kinds
  std::string index = {};
  bool has_status = true;  // false: its Plans have none, and no right to write one is needed
};

}  // namespace capstan::plan
