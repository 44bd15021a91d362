#include "api/kinds.h"

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "json/openapi.h"
#include "json/yaml_text.h"

namespace capstan::api {
namespace {

using boost::json::array;
using boost::json::object;

constexpr Column kAge{"AGE", "date", ".metadata.creationTimestamp", "Time since it was created"};
constexpr Column kReadyColumn{"READY", "string", ".status.conditions[?(@.type==\"Ready\")].status",
                              "Whether it does what its spec says"};
constexpr Column kStatusColumn{"STATUS", "string", ".status.conditions[?(@.type==\"Ready\")].reason",
                               "Why it is ready or not"};

object ColumnOf(const Column& column) {
  object entry;
  entry["name"] = column.name;
  entry["type"] = column.type;
  entry["jsonPath"] = column.path;
  entry["description"] = column.doc;
  if (column.priority > 0) entry["priority"] = column.priority;
  return entry;
}

object NamesOf(const KindInfo& kind) {
  object names;
  names["kind"] = kind.kind;
  names["listKind"] = std::string(kind.kind) + "List";
  names["plural"] = kind.plural;
  names["singular"] = kind.singular;
  auto& short_names = names["shortNames"].emplace_array();
  for (const std::string_view name : kind.short_names) short_names.emplace_back(name);
  return names;
}

object VersionOf(const KindInfo& kind) {
  object schema = json::OpenApiSchema(kind.schema()).as_object();
  auto& properties = schema["properties"].as_object();
  properties["apiVersion"] = object{{"type", "string"}, {"description", "Version of this form of the object."}};
  properties["kind"] = object{{"type", "string"}, {"description", "Kind of the object."}};

  object version;
  version["name"] = kVersion;
  version["served"] = true;
  version["storage"] = true;
  version["schema"] = object{{"openAPIV3Schema", std::move(schema)}};
  auto& columns = version["additionalPrinterColumns"].emplace_array();
  for (const Column& column : kind.columns) columns.push_back(ColumnOf(column));
  auto& subresources = version["subresources"].emplace_object();
  subresources["status"].emplace_object();
  if (kind.scalable) {
    subresources["scale"] = object{{"specReplicasPath", ".spec.replicas"},
                                   {"statusReplicasPath", ".status.replicas"},
                                   {"labelSelectorPath", ".status.selector"}};
  }
  return version;
}

json::Value CrdOf(const KindInfo& kind) {
  object metadata;
  metadata["name"] = std::string(kind.plural) + "." + std::string(kGroup);
  // Deleting a definition deletes every cluster of its kind: too much for `helm uninstall`.
  metadata["annotations"] = object{{"helm.sh/resource-policy", "keep"}};
  object spec;
  spec["group"] = kGroup;
  spec["scope"] = "Namespaced";
  spec["names"] = NamesOf(kind);
  spec["versions"] = array{VersionOf(kind)};
  object crd;
  crd["apiVersion"] = "apiextensions.k8s.io/v1";
  crd["kind"] = "CustomResourceDefinition";
  crd["metadata"] = std::move(metadata);
  crd["spec"] = std::move(spec);
  return crd;
}

std::vector<KindInfo> MakeKinds() {
  const Column replicas{"REPLICAS", "integer", ".status.replicas", "Pods there are"};
  return {
      {"Accounting",
       "accountings",
       "accounting",
       {"slurmdbd"},
       &Accounting::Schema,
       {kReadyColumn, kStatusColumn, kAge}},
      {"Controller",
       "controllers",
       "controller",
       {"slurmctld"},
       &Controller::Schema,
       {kReadyColumn, kStatusColumn, kAge}},
      {"LoginSet",
       "loginsets",
       "loginset",
       {"lss", "sackd"},
       &LoginSet::Schema,
       {replicas, kReadyColumn, kStatusColumn, kAge},
       true},
      {"NodeSet",
       "nodesets",
       "nodeset",
       {"nss", "slurmd"},
       &NodeSet::Schema,
       {{"DESIRED", "integer", ".status.desired", "Pods there should be"},
        replicas,
        {"UPDATED", "integer", ".status.updatedReplicas", "Pods of the revision now wanted"},
        {"READY", "integer", ".status.readyReplicas", "Pods that are ready"},
        {"IDLE", "integer", ".status.slurmIdle", "Slurm nodes that are idle", 1},
        {"ALLOCATED", "integer", ".status.slurmAllocated", "Slurm nodes that run jobs", 1},
        {"DOWN", "integer", ".status.slurmDown", "Slurm nodes that are down", 1},
        {"DRAIN", "integer", ".status.slurmDrain", "Slurm nodes that drain or are drained", 1},
        kStatusColumn,
        kAge},
       true},
      {"RestApi", "restapis", "restapi", {"slurmrestd"}, &RestApi::Schema, {kReadyColumn, kStatusColumn, kAge}},
      {"Token",
       "tokens",
       "token",
       {"jwt"},
       &Token::Schema,
       {{"USER", "string", ".spec.username", "The Slurm user"},
        {"IAT", "date", ".status.issuedAt", "Time since the token was issued"},
        kReadyColumn,
        kStatusColumn,
        kAge}},
  };
}

// --- Reference -------------------------------------------------------------------------------------------------------

std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

// Markdown takes <name> for a tag.
std::string Prose(std::string_view text) {
  std::string prose;
  for (const char c : Cell(text)) {
    if (c == '<') {
      prose += "&lt;";
    } else {
      prose += c;
    }
  }
  return prose;
}

void AppendRows(std::string& page, const std::vector<json::ReferenceRow>& rows) {
  page += "| field | type | default | meaning |\n|---|---|---|---|\n";
  for (const json::ReferenceRow& row : rows) {
    page += "| `" + row.path + "` | " + row.type;
    if (row.required) page += ", required";
    page += " | ";
    if (!row.standard.empty()) page += "`" + Cell(row.standard) + "`";
    page += " | " + Prose(row.doc);
    for (const std::string& check : row.checks) page += " *" + Prose(check) + (check.ends_with('.') ? "*" : ".*");
    page += " |\n";
  }
}

// Rules of the tables on the way to every row, objects' own included.
void AppendRules(std::string& page, const json::Schema& schema, const std::string& place) {
  for (const json::Rule& rule : schema.rules()) page += "- `" + place + "`: " + Prose(rule.message) + "\n";
  for (const json::Member& member : schema.members()) {
    const json::Type* type = &member.type();
    while (type->kind == json::Kind::kOptional || type->kind == json::Kind::kList) type = type->element;
    if (type->kind == json::Kind::kObject) AppendRules(page, type->schema(), place + "." + member.name());
  }
}

void AppendKind(std::string& page, const KindInfo& kind) {
  page += "\n## " + std::string(kind.kind) + "\n\n" + kind.schema().doc() + "\n\n";
  page += "`kubectl get " + std::string(kind.plural) + "`";
  for (const std::string_view name : kind.short_names) page += ", `" + std::string(name) + "`";
  if (kind.scalable) page += "; `kubectl scale` works";
  page += "\n\n";
  for (const json::Member& member : kind.schema().members()) {
    if (member.name() == "metadata") continue;
    AppendRows(page, json::ReferenceRows(member.type().schema(), member.name()));
    page += '\n';
  }
  std::string rules;
  AppendRules(rules, kind.schema(), std::string(kind.kind));
  if (!rules.empty()) page += "The API server refuses what breaks one of these rules:\n\n" + rules;
}

}  // namespace

std::span<const KindInfo> Kinds() {
  static const std::vector<KindInfo> kinds = MakeKinds();
  return kinds;
}

std::string CrdYaml(const KindInfo& kind) { return json::ToYaml(CrdOf(kind)); }
std::string CrdJson(const KindInfo& kind) { return json::SerializeCanonical(CrdOf(kind)); }

std::string CrdFileName(const KindInfo& kind) { return std::string(kGroup) + "_" + std::string(kind.plural) + ".yaml"; }

std::string ReferencePage() {
  std::string page =
      "# Custom resources\n\nThe kinds of `" + std::string(kApiVersion) +
      "`. This page and the custom resource definitions are made from the same tables (`capstan crds "
      "--reference`); do not edit it.\n\nParts of pods, containers and Services that you give are laid over "
      "what "
      "Capstan builds, by the rules of Kubernetes' strategic merge; `false`, `0` and empty text count.\n";
  for (const KindInfo& kind : Kinds()) AppendKind(page, kind);
  return page;
}

}  // namespace capstan::api
