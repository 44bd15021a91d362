// Files of Kubernetes objects, as kubectl takes them: YAML in any number of documents, JSON, and Lists of either.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace capstan::render {

// The objects in `text`, in their order; empty documents are passed over. `name`, of the file, is for messages. kInvalid:
// not YAML, or a document that is no object of Kubernetes.
Result<std::vector<json::Value>> ReadManifests(std::string_view text, std::string_view name);

}  // namespace capstan::render
