// Proofs about Kubernetes objects, for destructive effects on others.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "plan/objects/effects.h"

namespace capstan::plan {

// The object is the one that was seen and asks for the same still (its generation), by a fresh read: for what is
// destroyed because of what it says. Gone counts as no. Kinds whose objects have no generation (ConfigMaps, Secrets) prove
// no more than that it is the same object. `annotation` (key, value) must be there still, as annotations have no generation;
// with an empty key none.
std::shared_ptr<const Guard> SameGeneration(ObjectRef ref, std::string uid, int64_t generation,
                                            std::pair<std::string, std::string> annotation = {});

// No pod of the namespace that matches the selector is left which could still run: each is gone, or its phase is Succeeded or
// Failed. By a fresh list, not from a cache.
std::shared_ptr<const Guard> PodsHaveEnded(std::string ns, std::string label_selector);

// No object of this kind in the namespace is left that the one with `owner_uid` controls. By a fresh list.
std::shared_ptr<const Guard> NothingControlled(const kube::Resource& resource, std::string ns, std::string owner_uid);

}  // namespace capstan::plan
