#include "operator/accounting/database.h"

#include "kube/quantity.h"
#include "operator/names.h"
#include "operator/reasons.h"
#include "operator/render/immutable.h"
#include "operator/render/parts.h"
#include "operator/render/workload.h"
#include "plan/objects/secrets.h"

namespace capstan::op::accounting {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kDatabaseUser = 402;  // user and group in the image
constexpr int kOwnerReads = 0400;
constexpr size_t kPasswordBytes = 24;
constexpr int kGraceSeconds = 60;  // to write down what is in memory
constexpr std::string_view kVolume = "data";
constexpr std::string_view kPasswordKey = "password";

JsonObject DatabasePodSpec(const api::Accounting& accounting, const Settings& settings) {
  const std::string name = DatabaseName(accounting.metadata.name);
  JsonObject container{{"name", kDatabase.app}, {"image", settings.OwnImage(kDatabase.app)}};
  container["ports"] = JsonArray{ContainerPort(kDatabase.app, kDatabasePort)};
  container["startupProbe"] = Patient(TcpProbe(kDatabasePort));
  container["livenessProbe"] = Patient(TcpProbe(kDatabasePort));
  container["readinessProbe"] = TcpProbe(kDatabasePort);
  container["securityContext"] = RunAs(kDatabaseUser);
  container["volumeMounts"] =
      JsonArray{Mount(kVolume, "/var/lib/mysql"), Mount("password", "/run/secrets/database", true)};
  JsonObject pod{{"automountServiceAccountToken", false}, {"terminationGracePeriodSeconds", kGraceSeconds}};
  pod["securityContext"] = PodRunAs(kDatabaseUser);
  pod["containers"] = JsonArray{std::move(container)};
  pod["volumes"] =
      JsonArray{ProjectedVolume("password", kOwnerReads, JsonArray{SecretFile(name, kPasswordKey, kPasswordKey)})};
  return pod;
}

}  // namespace

const std::string& EmbeddedDatabase(const api::Accounting& accounting) {
  return accounting.metadata.Annotation(std::string(kAnnotationEmbeddedDatabase));
}

api::StorageConfig StorageOfDatabase(const api::Accounting& accounting) {
  const std::string name = DatabaseName(accounting.metadata.name);
  return {.host = name,
          .port = kDatabasePort,
          .database = "slurm_acct_db",
          .username = "slurm",
          .password_key_ref = {.name = name, .key = std::string(kPasswordKey), .optional = {}}};
}

Result<std::vector<plan::Child>> DatabaseObjects(const api::Accounting& accounting, const Settings& settings,
                                                 const StatefulSet* present) {
  const std::string& size = EmbeddedDatabase(accounting);
  const auto quantity = kube::Quantity::Parse(size);
  if (!quantity || quantity->is_zero()) {
    return Fail(Code::kInvalid, "annotation " + std::string(kAnnotationEmbeddedDatabase) + " is \"" + size +
                                    "\", must be the size of a volume, such as 2Gi");
  }
  const std::string name = DatabaseName(accounting.metadata.name);
  JsonObject claim{{"metadata", JsonObject{{"name", kVolume}}}};
  claim["spec"] = JsonObject{{"accessModes", JsonArray{"ReadWriteOnce"}},
                             {"resources", JsonObject{{"requests", JsonObject{{"storage", size}}}}}};
  const api::PodTemplate nothing;
  CAPSTAN_TRY(JsonObject set, ObjectOf({.resource = kube::kStatefulSets,
                                        .owner = OwnerOf(accounting),
                                        .component = kDatabase,
                                        .name = name,
                                        .replicas = 1,
                                        .user = nothing,
                                        .pod = DatabasePodSpec(accounting, settings),
                                        .hashes = {},
                                        .more = {{"serviceName", name}, {"volumeClaimTemplates", JsonArray{claim}}}}));
  if (present != nullptr) KeepImmutable(*present, set["spec"].as_object());
  const std::string app(kDatabase.app);
  CAPSTAN_TRY(plan::Child service, Render({.owner = OwnerOf(accounting),
                                           .name = name,
                                           .labels = ComponentLabels(kDatabase, accounting.metadata.name),
                                           .ports = {{app, kDatabasePort, 0, app}},
                                           .selector = SelectorLabels(kDatabase, accounting.metadata.name)},
                                          "slurmdbd reaches its database through it"));
  std::vector<plan::Child> children;
  children.push_back(std::move(service));
  children.push_back(AsChild(kube::kStatefulSets, std::move(set), "slurmdbd's database runs in it"));
  return children;
}

plan::Action MakePassword(const api::Accounting& accounting) {
  render::Metadata metadata;
  metadata.Add(ComponentLabels(kDatabase, accounting.metadata.name), {});
  JsonObject body = metadata.ToJson();
  body["ownerReferences"] = OwnerReferences(OwnerOf(accounting));
  const kube::Key secret{accounting.metadata.namespace_, DatabaseName(accounting.metadata.name)};
  return {.effect = plan::CreateSecret({.key = secret, .metadata = json::SerializeCanonical(body), .immutable = true},
                                       plan::RandomDigits(std::string(kPasswordKey), kPasswordBytes)),
          .reason = "the database for trials has no password yet",
          .guards = {},
          .after = {},
          .event = {{.reason = EventWord("KeyCreated"), .action = "Create"}}};
}

}  // namespace capstan::op::accounting
