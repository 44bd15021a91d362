// JSON patch (RFC 6902), run as the API server runs it. For the modelled server.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace capstan::kube::testing {

// `target` after all operations. kInvalid: a path is missing, a test fails, or it is not a patch; says which.
Result<json::Value> ApplyJsonPatch(json::Value target, const json::Value& operations);

}  // namespace capstan::kube::testing
