// The tree in which children of custom resources are put together (json/value.h), under short names.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <map>
#include <string>

#include "json/value.h"

namespace capstan::op::render {

using Json = json::Value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;
using StringMap = std::map<std::string, std::string>;

inline JsonObject ToJson(const StringMap& map) {
  JsonObject object;
  for (const auto& [key, value] : map) object.emplace(key, value);
  return object;
}

}  // namespace capstan::op::render
