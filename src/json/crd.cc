#include "json/crd.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.h"
#include "json/openapi.h"

namespace capstan::json {
namespace {

using boost::json::array;
using boost::json::object;

object ColumnOf(const Column& column) {
  object entry;
  entry["name"] = column.name;
  entry["type"] = column.type;
  entry["jsonPath"] = column.path;
  entry["description"] = column.doc;
  if (column.priority > 0) entry["priority"] = column.priority;
  return entry;
}

object NamesOf(const CustomResource& kind) {
  object names;
  names["kind"] = kind.kind;
  names["listKind"] = std::string(kind.kind) + "List";
  names["plural"] = kind.plural;
  names["singular"] = ToLower(kind.kind);
  auto& short_names = names["shortNames"].emplace_array();
  for (const std::string_view name : kind.short_names) short_names.emplace_back(name);
  return names;
}

object SubresourcesOf(const CustomResource& kind) {
  object subresources;
  subresources["status"].emplace_object();
  if (kind.scalable) {
    subresources["scale"] = object{{"specReplicasPath", ".spec.replicas"},
                                   {"statusReplicasPath", ".status.replicas"},
                                   {"labelSelectorPath", ".status.selector"}};
  }
  return subresources;
}

object VersionOf(const CustomResource& kind) {
  object schema = OpenApiSchema(kind.schema()).as_object();
  auto& properties = schema["properties"].as_object();
  properties["apiVersion"] = object{{"type", "string"}, {"description", "Version of this form of the object."}};
  properties["kind"] = object{{"type", "string"}, {"description", "Kind of the object."}};

  object version;
  version["name"] = kind.version;
  version["served"] = true;
  version["storage"] = true;
  version["schema"] = object{{"openAPIV3Schema", std::move(schema)}};
  auto& columns = version["additionalPrinterColumns"].emplace_array();
  for (const Column& column : kind.columns) columns.push_back(ColumnOf(column));
  version["subresources"] = SubresourcesOf(kind);
  return version;
}

}  // namespace

Value CrdOf(const CustomResource& kind) {
  object spec;
  spec["group"] = kind.group;
  spec["scope"] = "Namespaced";
  spec["names"] = NamesOf(kind);
  spec["versions"] = array{VersionOf(kind)};
  object crd;
  crd["apiVersion"] = "apiextensions.k8s.io/v1";
  crd["kind"] = "CustomResourceDefinition";
  crd["metadata"] = object{{"name", std::string(kind.plural) + "." + std::string(kind.group)}};
  crd["spec"] = std::move(spec);
  return crd;
}

}  // namespace capstan::json
