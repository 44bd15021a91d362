// Proofs about Kubernetes objects, for destructive effects on others.
#pragma once

#include <memory>
#include <string>

#include "plan/objects/effects.h"

namespace capstan::plan {

// The object is the one that was seen and asks for the same still (its generation), by a fresh read: for what is
// destroyed because of what it says. Gone counts as no. Kinds whose objects have no generation (ConfigMaps, Secrets) prove
// no more than that it is the same object.
std::shared_ptr<const Guard> SameGeneration(ObjectRef ref, std::string uid, int64_t generation);

// No pod of the namespace that matches the selector is left which could still run: each is gone, or its phase is Succeeded or
// Failed. By a fresh list, not from a cache.
std::shared_ptr<const Guard> PodsHaveEnded(std::string ns, std::string label_selector);

}  // namespace capstan::plan
