#include "api/kinds.h"

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/sharedroot.h"
#include "api/slurmcluster.h"
#include "api/token.h"
#include "json/openapi.h"
#include "json/value.h"
#include "json/yaml_text.h"

namespace capstan::api {
namespace {

using json::Column;

constexpr Column kAge{"AGE", "date", ".metadata.creationTimestamp", "Time since it was created"};
constexpr Column kReadyColumn{"READY", "string", ".status.conditions[?(@.type==\"Ready\")].status",
                              "Whether it does what its spec says"};
constexpr Column kStatusColumn{"STATUS", "string", ".status.conditions[?(@.type==\"Ready\")].reason",
                               "Why it is ready or not"};

json::Value DefinitionOf(const KindInfo& kind) {
  json::Value crd = json::CrdOf(kind);
  // Deleting a definition deletes every cluster of its kind: too much for `helm uninstall`.
  json::MakeObject(crd, {"metadata", "annotations"})["helm.sh/resource-policy"] = "keep";
  return crd;
}

template <class T>
KindInfo KindOf(std::vector<std::string_view> short_names, std::vector<Column> columns, bool scalable = false) {
  const kube::Resource& resource = T::kResource;
  return {.group = resource.group,
          .version = resource.version,
          .kind = resource.kind,
          .plural = resource.plural,
          .short_names = std::move(short_names),
          .schema = &T::Schema,
          .columns = std::move(columns),
          .scalable = scalable};
}

std::vector<KindInfo> MakeKinds() {
  const Column replicas{"REPLICAS", "integer", ".status.replicas", "Pods there are"};
  return {
      KindOf<Accounting>({"slurmdbd"}, {kReadyColumn, kStatusColumn, kAge}),
      KindOf<Controller>({"slurmctld"}, {kReadyColumn, kStatusColumn, kAge}),
      KindOf<LoginSet>({"lss", "sackd"}, {replicas, kReadyColumn, kStatusColumn, kAge}, true),
      KindOf<NodeSet>({"nss", "slurmd"},
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
                      true),
      KindOf<RestApi>({"slurmrestd"}, {kReadyColumn, kStatusColumn, kAge}),
      KindOf<SharedRoot>({"sroot"}, {{"CURRENT", "string", ".status.current.generation", "What new sessions have as /"},
                                     {"IMAGE", "string", ".spec.source.image", "Where the wanted one comes from"},
                                     kReadyColumn,
                                     kStatusColumn,
                                     kAge}),
      KindOf<SlurmCluster>({"slc"},
                           {{"PHASE", "string", ".status.phase", "What it is doing"},
                            {"NODES", "integer", ".status.nodes.ready", "Workers that are ready"},
                            {"IDLE", "integer", ".status.nodes.idle", "Slurm nodes that are idle"},
                            {"DOWN", "integer", ".status.nodes.down", "Slurm nodes that are down"},
                            {"LOGINS", "integer", ".status.logins.ready", "Logins that are ready"},
                            {"ROOT", "string", ".status.sharedRoot.generation", "What new sessions have as /", 1},
                            kAge}),
      KindOf<Token>({"jwt"}, {{"USER", "string", ".spec.username", "The Slurm user"},
                              {"IAT", "date", ".status.issuedAt", "Time since the token was issued"},
                              kReadyColumn,
                              kStatusColumn,
                              kAge}),
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

std::string CrdYaml(const KindInfo& kind) { return json::ToYaml(DefinitionOf(kind)); }
std::string CrdJson(const KindInfo& kind) { return json::SerializeCanonical(DefinitionOf(kind)); }

std::string CrdFileName(const KindInfo& kind) {
  return std::string(kind.group) + "_" + std::string(kind.plural) + ".yaml";
}

std::string ReferencePage() {
  std::string page =
      "# Custom resources\n\nThe kinds of `" + std::string(kApiVersion) + "`, and SharedRoot and SlurmCluster of `" +
      std::string(kOwnGroup) + "/" + std::string(kOwnVersion) +
      "`. This page and the custom resource definitions are made from the same tables (`capstan crds "
      "--reference`); do not edit it.\n\nParts of pods, containers and Services that you give are laid over "
      "what "
      "Capstan builds, by the rules of Kubernetes' strategic merge; `false`, `0` and empty text count.\n";
  for (const KindInfo& kind : Kinds()) AppendKind(page, kind);
  return page;
}

}  // namespace capstan::api
