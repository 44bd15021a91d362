// JSON patches (RFC 6902) and strategic merge patches, run as the API server runs them. For the modelled server.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace capstan::kube::testing {

// `target` after all operations. kInvalid: a path is missing, a test fails, or it is not a patch; says which.
Result<json::Value> ApplyJsonPatch(json::Value target, const json::Value& operations);

// `target` after a strategic merge patch: a merge patch, but in a list of the name `conditions` elements are merged by
// their `type`, and taken away where one says {"$patch":"delete"}. Of the lists that the API server merges so only this one
// is known; any other takes the place of its predecessor.
json::Value ApplyStrategicPatch(json::Value target, const json::Value& patch);

}  // namespace capstan::kube::testing
