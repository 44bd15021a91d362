// What the effects on Kubernetes objects have in common. For the files of this folder only.
#pragma once

#include <string_view>

#include "json/object_meta.h"
#include "plan/objects/effects.h"
#include "plan/services.h"

namespace capstan::plan {

// Any object, as far as ownership and the memo are concerned.
struct AnyObject {
  json::ObjectMeta metadata;
  static const json::Schema& Schema();
};

// The object as its store shows it; nullptr: it shows none, or there is no store.
const json::ObjectMeta* Seen(const Services& services, const ObjectRef& ref);

// For Effect::Seen: a digest of the object as its store shows it, but for what is written through a subresource (its
// status); 0 when it shows none.
uint64_t MetadataDigest(const Services& services, const ObjectRef& ref);

// What the API server answered to our write shows at once in the store. True when it is what the store shows now; false
// when the store knows newer, or there is none.
bool Remember(Services& services, const ObjectRef& ref, std::string_view answer);

// An object of that name is there and not ours.
std::unexpected<Error> NameConflict(const ObjectRef& ref);

}  // namespace capstan::plan
