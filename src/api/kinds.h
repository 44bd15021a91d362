// The list of custom resources, and what is printed of it: the CustomResourceDefinitions and the reference
// page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/schema.h"

namespace capstan::api {

// A column of `kubectl get`.
struct Column {
  std::string_view name;
  std::string_view type;  // "integer", "string", "date"
  std::string_view path;  // JSONPath
  std::string_view doc;
  int priority = 0;  // above 0: only with -o wide
};

struct KindInfo {
  std::string_view kind;
  std::string_view plural;
  std::string_view singular;
  std::vector<std::string_view> short_names;
  const json::Schema& (*schema)();
  std::vector<Column> columns;
  bool scalable = false;  // has the scale subresource on spec.replicas
};

// All six, by kind.
std::span<const KindInfo> Kinds();

// The CustomResourceDefinition as YAML, or as one line of JSON.
std::string CrdYaml(const KindInfo& kind);
std::string CrdJson(const KindInfo& kind);

// "slinky.slurm.net_nodesets.yaml": where the chart keeps it.
std::string CrdFileName(const KindInfo& kind);

// docs/reference.md: every kind, field, default and check.
std::string ReferencePage();

}  // namespace capstan::api
