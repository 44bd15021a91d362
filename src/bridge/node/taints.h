// The taints that the bridge puts on Kubernetes nodes. The list has many writers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/objects.h"
#include "json/merge.h"

namespace capstan::bridge::node {

struct Taint {
  std::string key, value, effect;
};

// Of those that the bridge writes, `wanted` and no others afterwards; everybody else's stay. It tests that the list is as it was
// seen. nullopt: it is so already, or the list cannot be read.
std::optional<json::JsonPatch> TaintsPatch(const Node& node, const std::vector<Taint>& wanted,
                                           std::string_view scheduler_name);

}  // namespace capstan::bridge::node
