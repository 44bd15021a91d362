// A ConfigMap with what is in it, for the tests of stores that are to hold its metadata alone.
#pragma once

#include <map>
#include <string>

#include "json/object_meta.h"
#include "json/schema.h"
#include "kube/resource.h"

namespace capstan::plan {

struct Filled {
  json::ObjectMeta metadata;
  std::map<std::string, std::string> data;
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  friend bool operator==(const Filled&, const Filled&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Filled>({json::Field<&Filled::metadata>("metadata"), json::Field<&Filled::data>("data")});
    return schema;
  }
};

}  // namespace capstan::plan
