// Field tables as what others read: the structural schema of a CustomResourceDefinition, and rows of a
// reference page.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace capstan::json {

// The OpenAPI v3 schema of a table, as apiextensions.k8s.io/v1 wants it: structural, with defaults,
// constraints, CEL rules and list types. A member of type ObjectMeta becomes a plain object: the API server
// knows what is in it. A default or RawSchema that is not JSON ends the process: it is a mistake in a table.
Value OpenApiSchema(const Schema& schema);

// One member at any depth: "spec.persistence.enabled", "spec.endpoints[].path".
struct ReferenceRow {
  std::string path;
  std::string type;      // "integer", "text", "list of objects"
  std::string standard;  // the default as JSON, or empty
  bool required = false;
  std::string doc;
  std::vector<std::string> checks;  // what the value must satisfy, one phrase each
};

// All members of a table below `prefix`, in the order of the table, members of an object behind it.
std::vector<ReferenceRow> ReferenceRows(const Schema& schema, const std::string& prefix);

}  // namespace capstan::json
