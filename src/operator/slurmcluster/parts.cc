#include "operator/slurmcluster/parts.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/sharedroot.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/strategic_merge.h"
#include "kube/merge_keys.h"
#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"
#include "operator/sharedroot/jobs.h"
#include "operator/slurmcluster/slurm_conf.h"

namespace capstan::op::slurmcluster {
namespace {

using namespace render;  // NOLINT: this file is made of its parts
using api::SlurmCluster;

constexpr std::string_view kReplicas = "spec/replicas";

// --- Laying a part's own spec over what the SlurmCluster says ----------------------------------------------------------

constexpr json::MergeField kServiceFields[] = {{.name = "spec", .shape = &kube::kServiceSpecShape}};
constexpr json::MergeShape kServiceShape{.fields = kServiceFields};
constexpr json::MergeField kPartFields[] = {
    {.name = "template", .shape = &kube::kPodTemplateShape}, {.name = "service", .shape = &kServiceShape},
    {.name = "slurmctld", .shape = &kube::kContainerShape},  {.name = "reconfigure", .shape = &kube::kContainerShape},
    {.name = "logfile", .shape = &kube::kContainerShape},    {.name = "slurmrestd", .shape = &kube::kContainerShape},
    {.name = "slurmdbd", .shape = &kube::kContainerShape},   {.name = "slurmd", .shape = &kube::kContainerShape},
    {.name = "login", .shape = &kube::kContainerShape},      {.name = "initconf", .shape = &kube::kContainerShape},
};
constexpr json::MergeShape kPartShape{.fields = kPartFields};

// One of them, as far as the SlurmCluster says it.
struct Part {
  const kube::Resource& resource;
  std::string name;
  JsonObject spec;
  std::string where;                   // "spec.controller.spec"
  Json user;                           // what stands there: an object
  std::vector<std::string_view> ours;  // members that it must leave out
  StringMap annotations = {};
  bool scales = false;  // others may set spec.replicas
};

Result<Json> UserSpec(const json::Raw& user, std::string_view where) {
  CAPSTAN_TRY(Json spec, json::ParseObject(user, where));
  (void)json::Normalize(spec, kPartShape);
  return spec;
}

// The label of an object that somebody gives to the cluster.
std::map<std::string, std::string> GivenAway(const SlurmCluster& cluster) {
  return {{std::string(kLabelAdopt), cluster.metadata.name}};
}

Result<plan::Child> AsPart(const SlurmCluster& cluster, Part part) {
  for (const std::string_view member : part.ours) {
    if (part.user.get_object().contains(member))
      return Fail(Code::kInvalid, part.where + "." + std::string(member) +
                                      " is not for a part: the SlurmCluster says it elsewhere, or of itself");
  }
  Json merged(std::move(part.spec));
  CAPSTAN_CHECK_OK(json::StrategicMerge(merged, part.user, kPartShape), part.where);
  JsonObject body = OwnedObject(part.resource, part.name, Metadata{{}, std::move(part.annotations)}, OwnerOf(cluster));
  body["spec"] = std::move(merged);
  plan::Child child{.resource = &part.resource,
                    .key = {cluster.metadata.namespace_, part.name},
                    .body = json::SerializeCanonical(Json(std::move(body))),
                    .reason = "the SlurmCluster is made of it",
                    .after = {}};
  child.adoption.labels = GivenAway(cluster);
  if (part.scales) child.keeps = {std::string(kReplicas)};
  return child;
}

// Takes a text of the user's out of his spec, to be put behind ours.
Result<std::string> TakeText(Json& user, std::string_view member, const std::string& where) {
  std::string text;
  if (const Json* value = json::Find(user, {member}); value != nullptr && !value->is_null()) {
    if (!value->is_string()) return Fail(Code::kInvalid, where + "." + std::string(member) + " must be text");
    text = value->get_string();
  }
  user.get_object().erase(member);
  return text;
}

// --- What several parts have in common ---------------------------------------------------------------------------------

JsonObject Named(std::string_view name) { return {{"name", name}}; }
JsonObject KeyOfSecret(std::string_view name, std::string_view key) { return {{"name", name}, {"key", key}}; }

// The container of a daemon, with the image that the SlurmCluster asks for.
JsonObject Daemon(const SlurmCluster& cluster, std::string_view daemon, const Settings& settings) {
  const api::ClusterImages& images = cluster.spec.images;
  if (images.prefix.empty() && images.version.empty()) return {};
  Settings wanted = settings;
  if (!images.prefix.empty()) wanted.image_prefix = images.prefix;
  if (!images.version.empty()) wanted.image_tag = images.version;
  return {{"image", wanted.Image(daemon)}};
}

// The pod spec of a part; `where` is the part's place.
Result<JsonObject> PodOf(const SlurmCluster& cluster, const std::string& placement, std::string_view where) {
  JsonObject pod;
  if (!cluster.spec.images.pull_secrets.empty()) {
    JsonArray secrets;
    for (const api::LocalObjectReference& secret : cluster.spec.images.pull_secrets)
      secrets.push_back(Named(secret.name));
    pod["imagePullSecrets"] = std::move(secrets);
  }
  if (placement.empty()) return pod;
  const auto found = std::ranges::find(cluster.spec.placements, placement, &api::ClusterPlacement::name);
  if (found == cluster.spec.placements.end())
    return Fail(Code::kInvalid, std::string(where) + ".placement is " + JsonQuoted(placement) +
                                    ", which spec.placements does not name");
  const std::string place = "spec.placements[" + placement + "]";
  if (!found->node_selector.empty()) pod["nodeSelector"] = ToJson(found->node_selector);
  if (!found->tolerations.empty()) {
    CAPSTAN_TRY(pod["tolerations"], json::Parse(found->tolerations.text));
  }
  if (!found->affinity.empty()) {
    CAPSTAN_TRY(pod["affinity"], json::ParseObject(found->affinity, place + ".affinity"));
  }
  return pod;
}

// A member is written where it says something.
void SetUnlessEmpty(JsonObject& object, std::string_view member, JsonObject value) {
  if (!value.empty()) object[member] = std::move(value);
}
void SetUnlessEmpty(JsonObject& object, std::string_view member, std::string_view value) {
  if (!value.empty()) object[member] = value;
}

JsonObject Template(JsonObject pod) {
  if (pod.empty()) return {};
  return {{"spec", std::move(pod)}};
}

// The shared root's volume, for a pod whose container of this name looks after it.
void AddSharedRoot(const SlurmCluster& cluster, JsonObject& container, JsonObject& pod) {
  constexpr std::string_view kVolume = "shared-root";
  container["env"] =
      JsonArray{FieldVariable("CAPSTAN_POD_UID", "metadata.uid"), Variable(kRootVariable, sharedroot::kVolumePath)};
  JsonArray mounts{Mount(kVolume, sharedroot::kVolumePath)};
  JsonArray volumes{ClaimVolume(kVolume, RootClaimName(cluster))};
  std::map<std::string, bool> claims;  // by the name of their volumes: whether nobody writes to it
  for (const api::RootMount& mount : cluster.spec.shared_root->mounts) {
    constexpr size_t kLetters = 8;
    const bool read_only = mount.read_only.value_or(false);
    const std::string name = std::string(kVolume) + "-" + Sha256Hex(mount.claim).substr(0, kLetters);
    const auto [claim, is_new] = claims.try_emplace(name, true);
    claim->second = claim->second && read_only;
    if (is_new) volumes.push_back(ClaimVolume(name, mount.claim));
    mounts.push_back(Mount(name, mount.path, read_only));
  }
  for (size_t i = 1; i < volumes.size(); ++i) {
    const std::string name(json::FindText(volumes[i], {"name"}));
    if (claims[name]) volumes[i].as_object()["persistentVolumeClaim"].as_object()["readOnly"] = true;
  }
  container["volumeMounts"] = std::move(mounts);
  pod["volumes"] = std::move(volumes);
}

// A list in a part of a person's takes the place of ours: what a login cannot do without is put to his.
void KeepSysAdmin(Json& user) {
  Json* added = json::Find(user, {"login", "securityContext", "capabilities", "add"});
  if (added == nullptr || !added->is_array()) return;
  JsonArray& list = added->get_array();
  if (std::ranges::find(list, Json("SYS_ADMIN")) == list.end()) list.emplace_back("SYS_ADMIN");
}

// The keys of the cluster, which all daemons share: the SlurmCluster's own, made once, or those of the user's.
struct Keys {
  JsonObject slurm, jwt;
  std::string make;  // of the annotation generate-keys
};

Keys KeysOf(const SlurmCluster& cluster, const Json& controller) {
  const std::string& name = cluster.metadata.name;
  Keys keys{KeyOfSecret(name + "-auth-slurm", "slurm.key"), KeyOfSecret(name + "-auth-jwt", "jwt.key"), "true"};
  const Json* slurm = json::Find(controller, {"slurmKeyRef"});
  const Json* jwt = json::Find(controller, {"jwtKeyRef"});
  if (jwt == nullptr || jwt->is_null()) jwt = json::Find(controller, {"jwtHs256KeyRef"});
  const bool has_slurm = slurm != nullptr && slurm->is_object(), has_jwt = jwt != nullptr && jwt->is_object();
  if (has_slurm) keys.slurm = slurm->get_object();
  if (has_jwt) keys.jwt = jwt->get_object();
  if (has_slurm || has_jwt) keys.make = has_slurm && has_jwt ? "" : has_slurm ? "jwt" : "slurm";
  return keys;
}

// --- Files -------------------------------------------------------------------------------------------------------------

struct FileGroup {
  std::string_view field;   // of spec.config
  std::string_view suffix;  // of the ConfigMap's name
  std::string_view refs;    // of the Controller's spec
  std::map<std::string, std::string> api::ClusterConfig::* files;
};

constexpr auto kFileGroups = std::to_array<FileGroup>({
    {"files", "-files", "configFileRefs", &api::ClusterConfig::files},
    {"prolog", "-prolog", "prologScriptRefs", &api::ClusterConfig::prolog},
    {"epilog", "-epilog", "epilogScriptRefs", &api::ClusterConfig::epilog},
    {"prologSlurmctld", "-prolog-slurmctld", "prologSlurmctldScriptRefs", &api::ClusterConfig::prolog_slurmctld},
    {"epilogSlurmctld", "-epilog-slurmctld", "epilogSlurmctldScriptRefs", &api::ClusterConfig::epilog_slurmctld},
});

bool IsFileName(std::string_view name) {
  constexpr size_t kLongest = 253;
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= kLongest && name != "." && !name.starts_with("..") &&
         std::ranges::all_of(name, allowed);
}

// The SlurmCluster's own ConfigMap of each group, and behind it those of the user's.
Result<void> AddFileRefs(JsonObject& spec, const SlurmCluster& cluster, Json& user, const std::string& where) {
  for (const FileGroup& group : kFileGroups) {
    JsonArray refs;
    if (!(cluster.spec.config.*group.files).empty())
      refs.push_back(Named(cluster.metadata.name + std::string(group.suffix)));
    if (const Json* more = json::Find(user, {group.refs}); more != nullptr && !more->is_null()) {
      if (!more->is_array()) return Fail(Code::kInvalid, where + "." + std::string(group.refs) + " must be a list");
      refs.insert(refs.end(), more->get_array().begin(), more->get_array().end());
    }
    user.get_object().erase(group.refs);
    if (!refs.empty()) spec[group.refs] = std::move(refs);
  }
  return {};
}

template <class Refs>
bool Names(const Refs& refs, const std::string& name) {
  return std::ranges::find(refs, name, &api::LocalObjectReference::name) != refs.end();
}

std::string StoppedText(const SlurmCluster& cluster) { return cluster.spec.mode == api::kModeStopped ? "true" : ""; }

// As nodeset/power.h reads it; "": they run all the time.
std::string PowerText(const api::ClusterNodeSet& set) {
  if (!set.power || set.power->mode != "OnDemand") return "";
  return set.power->mode + (set.power->idle.empty() ? "" : " idle=" + set.power->idle);
}

void SetUnlessEmpty(StringMap& map, std::string_view key, std::string value) {
  if (!value.empty()) map.emplace(key, std::move(value));
}

}  // namespace

std::string NodeSetName(std::string_view cluster, std::string_view name) {
  return std::string(cluster) + "-worker-" + std::string(name);
}
std::string LoginSetName(std::string_view cluster) { return std::string(cluster) + "-login"; }
std::string RootClaimName(const SlurmCluster& cluster) {
  api::SharedRoot root;
  root.metadata.name = cluster.metadata.name;
  root.spec = *cluster.spec.shared_root;
  return sharedroot::ClaimName(root);
}
std::string SssdSecretName(std::string_view cluster) { return std::string(cluster) + "-sssd-conf"; }

Result<plan::Child> ControllerPart(const SlurmCluster& cluster, const Settings& settings) {
  const std::string where = "spec.controller.spec";
  CAPSTAN_TRY(Json user, UserSpec(cluster.spec.controller.spec, where));
  Keys keys = KeysOf(cluster, user);
  for (const std::string_view key : {"slurmKeyRef", "jwtKeyRef", "jwtHs256KeyRef"}) user.get_object().erase(key);
  const std::string& name = cluster.metadata.name;
  JsonObject spec{{"slurmKeyRef", std::move(keys.slurm)}, {"jwtKeyRef", std::move(keys.jwt)}};
  const std::string& called = cluster.spec.cluster_name.empty() ? name : cluster.spec.cluster_name;
  // A Controller without it, as the chart's, is called so, and refuses another word for it.
  if (called != cluster.metadata.namespace_ + "_" + name) spec["clusterName"] = called;
  if (cluster.spec.accounting) spec["accountingRef"] = Named(name);
  SetUnlessEmpty(spec, "slurmctld", Daemon(cluster, kController.app, settings));
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, cluster.spec.controller.placement, "spec.controller"));
  SetUnlessEmpty(spec, "template", Template(std::move(pod)));
  CAPSTAN_TRY(const std::string lines, TakeText(user, "extraConf", where));
  CAPSTAN_TRY(const std::string extra_conf, SlurmConf(cluster, lines, settings));
  SetUnlessEmpty(spec, "extraConf", extra_conf);
  CAPSTAN_CHECK_OK(AddFileRefs(spec, cluster, user, where));
  Part part{.resource = api::Controller::kResource,
            .name = name,
            .spec = std::move(spec),
            .where = where,
            .user = std::move(user),
            .ours = {"accountingRef", "clusterName"}};
  SetUnlessEmpty(part.annotations, kAnnotationGenerateKeys, std::move(keys.make));
  if (cluster.spec.topology)
    part.annotations.emplace(kAnnotationTopologyLabels, Join(cluster.spec.topology->labels, ","));
  return AsPart(cluster, std::move(part));
}

Result<plan::Child> RestApiPart(const SlurmCluster& cluster, const Settings& settings) {
  const api::ClusterRestApi& rest_api = cluster.spec.rest_api;
  const std::string& name = cluster.metadata.name;
  JsonObject spec{{"controllerRef", Named(name)}};
  if (rest_api.replicas) spec["replicas"] = *rest_api.replicas;
  SetUnlessEmpty(spec, "slurmrestd", Daemon(cluster, kRestApi.app, settings));
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, rest_api.placement, "spec.restApi"));
  SetUnlessEmpty(spec, "template", Template(std::move(pod)));
  const std::string where = "spec.restApi.spec";
  CAPSTAN_TRY(Json user, UserSpec(rest_api.spec, where));
  return AsPart(cluster, {.resource = api::RestApi::kResource,
                          .name = name,
                          .spec = std::move(spec),
                          .where = where,
                          .user = std::move(user),
                          .ours = {"controllerRef", "replicas"},
                          .scales = true});
}

Result<plan::Child> AccountingPart(const SlurmCluster& cluster, const Settings& settings) {
  const api::ClusterAccounting& accounting = *cluster.spec.accounting;
  CAPSTAN_TRY(const Json controller, UserSpec(cluster.spec.controller.spec, "spec.controller.spec"));
  Keys keys = KeysOf(cluster, controller);
  JsonObject spec{{"slurmKeyRef", std::move(keys.slurm)}, {"jwtKeyRef", std::move(keys.jwt)}};
  StringMap annotations;
  if (accounting.database.external) {
    CAPSTAN_TRY(spec["storageConfig"], json::Parse(json::Encode(*accounting.database.external)));
  } else if (accounting.database.embedded) {
    annotations.emplace(kAnnotationEmbeddedDatabase, accounting.database.embedded->size);
  }
  SetUnlessEmpty(spec, "slurmdbd", Daemon(cluster, kAccounting.app, settings));
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, accounting.placement, "spec.accounting"));
  SetUnlessEmpty(spec, "template", Template(std::move(pod)));
  const std::string where = "spec.accounting.spec";
  CAPSTAN_TRY(Json user, UserSpec(accounting.spec, where));
  return AsPart(cluster, {.resource = api::Accounting::kResource,
                          .name = cluster.metadata.name,
                          .spec = std::move(spec),
                          .where = where,
                          .user = std::move(user),
                          .ours = {"slurmKeyRef", "jwtKeyRef", "jwtHs256KeyRef", "storageConfig"},
                          .annotations = std::move(annotations)});
}

Result<plan::Child> LoginSetPart(const SlurmCluster& cluster, const Settings& settings) {
  const api::ClusterLogin& login = *cluster.spec.login;
  const std::string& name = cluster.metadata.name;
  JsonObject spec{{"controllerRef", Named(name)}};
  if (login.replicas) spec["replicas"] = *login.replicas;
  SetUnlessEmpty(spec, "rootSshAuthorizedKeys", login.authorized_keys);
  const api::SecretKeySelector& sssd = login.sssd_conf_ref;
  spec["sssdConfRef"] =
      sssd.name.empty() ? KeyOfSecret(SssdSecretName(name), kSssdKey) : KeyOfSecret(sssd.name, sssd.key);
  JsonObject container = Daemon(cluster, kLogin.app, settings);
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, login.placement, "spec.login"));
  if (cluster.spec.shared_root) {
    AddSharedRoot(cluster, container, pod);
    // To make the tree of mounts; its sessions give it up (pam/capstan_root.cc).
    container["securityContext"] = JsonObject{{"capabilities", JsonObject{{"add", JsonArray{"SYS_ADMIN"}}}},
                                              {"appArmorProfile", JsonObject{{"type", "Unconfined"}}}};
  }
  SetUnlessEmpty(spec, "login", std::move(container));
  SetUnlessEmpty(spec, "template", Template(std::move(pod)));
  const api::ClusterService& wanted = login.service;
  JsonObject service, service_spec;
  SetUnlessEmpty(service_spec, "type", wanted.type);
  if (wanted.type.empty() && wanted.node_port) service_spec["type"] = "NodePort";
  if (!wanted.load_balancer_source_ranges.empty()) {
    JsonArray& ranges = service_spec["loadBalancerSourceRanges"].emplace_array();
    for (const std::string& range : wanted.load_balancer_source_ranges) ranges.push_back(Json(range));
  }
  SetUnlessEmpty(service, "spec", std::move(service_spec));
  if (wanted.port) service["port"] = *wanted.port;
  if (wanted.node_port) service["nodePort"] = *wanted.node_port;
  if (!wanted.annotations.empty()) service["metadata"] = JsonObject{{"annotations", ToJson(wanted.annotations)}};
  SetUnlessEmpty(spec, "service", std::move(service));
  const std::string where = "spec.login.spec";
  CAPSTAN_TRY(Json user, UserSpec(login.spec, where));
  if (cluster.spec.shared_root) KeepSysAdmin(user);
  Part part{.resource = api::LoginSet::kResource,
            .name = LoginSetName(name),
            .spec = std::move(spec),
            .where = where,
            .user = std::move(user),
            .ours = {"controllerRef", "replicas", "sssdConfRef", "rootSshAuthorizedKeys"},
            .scales = true};
  SetUnlessEmpty(part.annotations, kAnnotationImagePrefix, cluster.spec.images.prefix);
  SetUnlessEmpty(part.annotations, kAnnotationLoginDrainCap, login.drain_cap);
  SetUnlessEmpty(part.annotations, kAnnotationStopped, StoppedText(cluster));
  return AsPart(cluster, std::move(part));
}

Result<plan::Child> NodeSetPart(const SlurmCluster& cluster, const api::ClusterNodeSet& set, const Settings& settings) {
  const std::string place = "spec.nodeSets[" + set.name + "]";
  const std::string where = place + ".spec";
  CAPSTAN_TRY(Json user, UserSpec(set.spec, where));
  JsonObject spec{{"controllerRef", Named(cluster.metadata.name)}};
  if (set.replicas) spec["replicas"] = *set.replicas;
  JsonObject slurmd = Daemon(cluster, kWorker.app, settings);
  if (!set.resources.empty()) {
    JsonObject limits;
    for (const auto& [name, amount] : set.resources) limits[name] = amount.ToString();
    slurmd["resources"] = JsonObject{{"limits", std::move(limits)}};
  }
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, set.placement, place));
  if (cluster.spec.shared_root && *set.shared_root) AddSharedRoot(cluster, slurmd, pod);
  SetUnlessEmpty(spec, "slurmd", std::move(slurmd));
  pod["hostname"] = set.name + "-";
  spec["template"] = Template(std::move(pod));
  std::vector<std::string> words;
  if (!set.features.empty()) words.push_back("Features=" + Join(set.features, ","));
  if (!set.gres.empty()) words.push_back("Gres=" + set.gres);
  CAPSTAN_TRY(std::string more, TakeText(user, "extraConf", where));
  if (!more.empty()) words.push_back(std::move(more));
  SetUnlessEmpty(spec, "extraConf", Join(words, " "));
  if (set.partition) {
    JsonObject partition{{"enabled", true}};
    SetUnlessEmpty(partition, "config", set.partition->config);
    spec["partition"] = std::move(partition);
  }
  Part part{.resource = api::NodeSet::kResource,
            .name = NodeSetName(cluster.metadata.name, set.name),
            .spec = std::move(spec),
            .where = where,
            .user = std::move(user),
            .ours = {"controllerRef", "replicas", "partition"},
            .scales = true};
  SetUnlessEmpty(part.annotations, kAnnotationStopped, StoppedText(cluster));
  SetUnlessEmpty(part.annotations, kAnnotationImagePrefix, cluster.spec.images.prefix);
  SetUnlessEmpty(part.annotations, kAnnotationPower, PowerText(set));
  return AsPart(cluster, std::move(part));
}

// Its Jobs are of the images that the SlurmCluster asks for, and may pull them.
Result<plan::Child> SharedRootPart(const SlurmCluster& cluster, const Settings& settings) {
  CAPSTAN_TRY(Json user, json::Parse(json::Encode(*cluster.spec.shared_root)));
  JsonObject spec;
  if (JsonObject daemon = Daemon(cluster, kWorker.app, settings); !daemon.empty()) spec["jobImage"] = daemon["image"];
  CAPSTAN_TRY(JsonObject pod, PodOf(cluster, "", "spec.sharedRoot"));
  SetUnlessEmpty(spec, "template", Template(std::move(pod)));
  return AsPart(cluster, {.resource = api::SharedRoot::kResource,
                          .name = cluster.metadata.name,
                          .spec = std::move(spec),
                          .where = "spec.sharedRoot",
                          .user = std::move(user),
                          .ours = {}});
}

bool NamesWhatIsNotWanted(const api::Controller& controller, const SlurmCluster& cluster) {
  const api::ControllerSpec& spec = controller.spec;
  if (!cluster.spec.accounting && spec.accounting_ref) return true;
  return std::ranges::any_of(kFileGroups, [&](const FileGroup& group) {
    const std::string name = cluster.metadata.name + std::string(group.suffix);
    return (cluster.spec.config.*group.files).empty() &&
           (Names(spec.config_file_refs, name) || Names(spec.prolog_script_refs, name) ||
            Names(spec.epilog_script_refs, name) || Names(spec.prolog_slurmctld_script_refs, name) ||
            Names(spec.epilog_slurmctld_script_refs, name));
  });
}

Result<std::vector<plan::Child>> FileParts(const SlurmCluster& cluster) {
  std::vector<plan::Child> children;
  for (const FileGroup& group : kFileGroups) {
    const auto& files = cluster.spec.config.*group.files;
    if (files.empty()) continue;
    for (const auto& [name, text] : files) {
      if (!IsFileName(name))
        return Fail(Code::kInvalid, "spec.config." + std::string(group.field) + ": " + JsonQuoted(name) +
                                        " is not the name of a file: letters, digits, '-', '_' and '.'");
    }
    const std::string name = cluster.metadata.name + std::string(group.suffix);
    JsonObject body = OwnedObject(kube::kConfigMaps, name,
                                  Metadata{ComponentLabels(kCluster, cluster.metadata.name), {}}, OwnerOf(cluster));
    body["data"] = ToJson(files);
    children.push_back(AsChild(kube::kConfigMaps, std::move(body), "its files are Slurm's"));
    children.back().adoption.labels = GivenAway(cluster);
  }
  return children;
}

}  // namespace capstan::op::slurmcluster
