// A kind of custom resource, and the CustomResourceDefinition that makes the API server serve it.
//
//   const json::CustomResource kind{.group = "web.example.com", .version = "v1", .kind = "Website", .plural = "websites",
//                                   .schema = &Website::Schema};
//   std::fputs(json::ToYaml(json::CrdOf(kind)).c_str(), stdout);
#pragma once

#include <string_view>
#include <vector>

#include "json/schema.h"
#include "json/value.h"

namespace capstan::json {

// A column of `kubectl get`.
struct Column {
  std::string_view name;
  std::string_view type;  // "integer", "string", "date"
  std::string_view path;  // JSONPath
  std::string_view doc;
  int priority = 0;  // above 0: only with -o wide
};

struct CustomResource {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::vector<std::string_view> short_names = {};
  const json::Schema& (*schema)();  // of the whole object: metadata, spec, status
  std::vector<Column> columns = {};
  bool scalable = false;  // has the scale subresource: spec.replicas, status.replicas, status.selector
};

// One version, which is served and stored; namespaced; with the status subresource.
Value CrdOf(const CustomResource& kind);

}  // namespace capstan::json
