#include "operator/accounting/children.h"

#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/immutable.h"
#include "operator/render/merge.h"
#include "operator/render/parts.h"
#include "operator/render/workload.h"

namespace capstan::op::accounting {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kOwnerOnly = 0600;

Result<JsonObject> Slurmdbd(const api::Accounting& accounting, const Settings& settings) {
  JsonObject container{{"name", kAccounting.app}};
  container["ports"] = JsonArray{ContainerPort(kAccounting.app, kSlurmdbdPort)};
  // No liveness: slurmdbd listens when it has its database, and to be killed while it waits would not bring it closer.
  container["readinessProbe"] = TcpProbe(kSlurmdbdPort);
  container["securityContext"] = RunAs(kSlurmUser);
  container["volumeMounts"] = JsonArray{Mount("slurm-etc", "/etc/slurm", true), Mount("run", "/run")};
  // Why it ended, as of a database of a newer Slurm, is in the pod's status then.
  container["terminationMessagePolicy"] = "FallbackToLogsOnError";
  CAPSTAN_TRY(JsonObject merged, MergeContainer(std::move(container), accounting.spec.slurmdbd, "spec.slurmdbd"));
  DefaultImage(merged, settings.Image(kAccounting.app));
  return merged;
}

Result<JsonObject> PodSpec(const api::Accounting& accounting, const Settings& settings) {
  CAPSTAN_TRY(JsonObject slurmdbd, Slurmdbd(accounting, settings));
  const api::AccountingSpec& spec = accounting.spec;
  JsonArray sources{SecretFile(AccountingName(accounting.metadata.name), "slurmdbd.conf", "slurmdbd.conf")};
  if (const auto& key = spec.slurm_key_ref) sources.push_back(SlurmKeyFile(*key));
  if (const auto* key = api::JwtKey(spec)) sources.push_back(SecretFile(key->name, key->key, "jwt.key"));
  if (const auto& key = spec.jwks_key_ref) sources.push_back(ConfigMapFile(key->name, key->key, "jwks.json"));
  JsonObject pod{{"automountServiceAccountToken", false}};
  pod["securityContext"] = PodRunAs(kSlurmUser);
  pod["containers"] = JsonArray{std::move(slurmdbd)};
  pod["volumes"] = JsonArray{ProjectedVolume("slurm-etc", kOwnerOnly, std::move(sources)), MemoryDir("run")};
  return pod;
}

}  // namespace

Result<plan::Child> ServiceObject(const api::Accounting& accounting) {
  const api::ServiceSpec& user = accounting.spec.service;
  const std::string& name = accounting.metadata.name;
  const std::string app(kAccounting.app);
  return Render({.owner = OwnerOf(accounting),
                 .name = AccountingName(name),
                 .inherited = Inherited(accounting.metadata),
                 .labels = ComponentLabels(kAccounting, name),
                 .ports = {{app, AccountingPort(accounting), user.node_port.value_or(0), app}},
                 .selector = SelectorLabels(kAccounting, name),
                 .user = &user},
                "slurmctld reaches slurmdbd through it");
}

Result<plan::Child> SlurmdbdSet(const api::Accounting& accounting, const PodHashes& hashes, const Settings& settings,
                                const StatefulSet* present) {
  CAPSTAN_TRY(JsonObject pod, PodSpec(accounting, settings));
  const std::string name = AccountingName(accounting.metadata.name);
  CAPSTAN_TRY(JsonObject set, ObjectOf({.resource = kube::kStatefulSets,
                                        .owner = OwnerOf(accounting),
                                        .component = kAccounting,
                                        .name = name,
                                        .replicas = 1,
                                        .user = accounting.spec.pod_template,
                                        .pod = std::move(pod),
                                        .hashes = {{std::string(kHashSlurmKey), hashes.slurm_key},
                                                   {std::string(kHashJwtKey), hashes.jwt_key},
                                                   {std::string(kHashSlurmdbdConfig), hashes.config}},
                                        // A slurmdbd that is not ready is replaced by one with a mended template.
                                        .more = {{"serviceName", name}, {"podManagementPolicy", "Parallel"}}}));
  if (present != nullptr) KeepImmutable(*present, set["spec"].as_object());
  return AsChild(kube::kStatefulSets, std::move(set), "slurmdbd runs in it");
}

}  // namespace capstan::op::accounting
