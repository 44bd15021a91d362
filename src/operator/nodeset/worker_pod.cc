#include "operator/nodeset/worker_pod.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "kube/quantity.h"
#include "operator/names.h"
#include "operator/nodeset/gres.h"
#include "operator/nodeset/placement.h"
#include "operator/nodeset/revision.h"
#include "operator/render/cluster.h"
#include "operator/render/merge.h"
#include "operator/render/own_words.h"
#include "operator/render/parts.h"
#include "operator/render/scripts.h"
#include "operator/render/ssh.h"
#include "operator/render/workload.h"
#include "slurm/cloud_node.h"
#include "slurm/conf.h"
#include "slurm/node_conf.h"

namespace capstan::op::nodeset {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr std::string_view kLog = "/var/log/slurm/slurmd.log";
constexpr std::string_view kStateKept = "CAPSTAN_STATE_KEPT";
constexpr int kOwnerOnly = 0600;

std::string Padded(const api::NodeSet& set, int ordinal) {
  std::string digits = std::to_string(ordinal);
  const size_t width = size_t(std::clamp(set.spec.ordinal_padding.value_or(0), 0, api::kMostOrdinalDigits));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::string SshdText(const api::NodeSet& set) {
  return SshdConfig("Subsystem sftp internal-sftp\n", set.spec.ssh->extra_sshd_config, false);
}

// --- How much of the machine the pod may use -------------------------------------------------------------------------

// The limit of `resource`: the container's, or else the pod's; null when there is none.
const Json* LimitOf(const Json& container, const Json& pod_spec, std::string_view resource) {
  for (const Json* from : {&container, &pod_spec}) {
    const Json* limit = json::Find(*from, {"resources", "limits", resource});
    if (limit == nullptr) continue;
    const auto quantity =
        kube::Quantity::Parse(limit->is_string() ? std::string(limit->get_string()) : json::Serialize(*limit));
    if (!quantity || !quantity->is_zero()) return limit;
  }
  return nullptr;
}

// The limit in whole units; "0" stands for none.
Result<int64_t> WholeLimit(const Json& container, const Json& pod_spec, std::string_view resource, int64_t unit) {
  const Json* limit = LimitOf(container, pod_spec, resource);
  if (limit == nullptr) return 0;
  const std::string text = limit->is_string() ? std::string(limit->get_string()) : json::Serialize(*limit);
  const auto quantity = kube::Quantity::Parse(text);
  if (!quantity) return Fail(quantity.error().WithContext("resources.limits." + std::string(resource)));
  return quantity->Ceiling() / unit;
}

// The machine's network, and with it its host name.
Result<bool> HasHostNetwork(const api::NodeSet& set) {
  CAPSTAN_TRY(const Json spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  const Json* host_network = json::Find(spec, {"hostNetwork"});
  return host_network != nullptr && host_network->is_bool() && host_network->get_bool();
}

// The name of the Slurm node: that of the machine, or what the pod's label has.
JsonObject NameVariable(std::string_view variable, bool by_machine) {
  const std::string field = by_machine ? "spec.nodeName" : "metadata.labels['" + std::string(kLabelPodHostname) + "']";
  return FieldVariable(variable, field);
}

// With ssh, which daemons run beside slurmd: capstan-entry's word, which means nothing to others' images. `share`: what of the machine is to be
// Slurm's, by what is held back (entry/sizing.h); nothing of it where slurmd is told itself.
Result<JsonArray> Environment(const api::NodeSet& set, const WorkerShare& share) {
  CAPSTAN_TRY(const bool by_machine, AreNamedByMachine(set));
  const std::string field = "metadata.annotations['" + std::string(kAnnotationTopology) + "']";
  JsonArray environment{FieldVariable("SLINKY_TOPOLOGY", field), Variable("POD_CPUS", std::to_string(share.cpus)),
                        Variable("POD_MEMORY", std::to_string(share.memory_mib)),
                        NameVariable("CAPSTAN_NODE_NAME", by_machine)};
  if (HasSsh(set)) environment.push_back(Variable("CAPSTAN_BESIDE", "sssd sshd"));
  return environment;
}

// --- Containers and volumes ------------------------------------------------------------------------------------------

JsonArray Mounts(const api::NodeSet& set, bool live) {
  JsonArray mounts{Mount("slurm-etc", "/etc/slurm", true), Mount("slurm-logfile", "/var/log/slurm")};
  if (!HasSsh(set)) return mounts;
  if (live) {
    AddLiveMounts(mounts);
  } else {
    mounts.push_back(FileMount("ssh-config", "/etc/ssh/sshd_config", "sshd_config"));
    mounts.push_back(FileMount("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf"));
  }
  return mounts;
}

// Only as the template asks for them, and it may leave out all that is as usual. Else the kubelet would end the jobs with
// a slurmd that is starved or stopped for a minute, where slurmctld waits for SlurmdTimeout, and one that starts slowly.
Result<void> AddProbesOfTemplate(const api::NodeSet& set, JsonObject& slurmd) {
  CAPSTAN_TRY(const Json given, json::ParseObject(set.spec.slurmd, "spec.slurmd"));
  for (const std::string_view probe : {"startupProbe", "livenessProbe"}) {
    const Json* wanted = json::Find(given, {probe});
    if (wanted != nullptr && wanted->is_object()) slurmd[probe] = Patient(HttpProbe("/livez", kWorker.app));
  }
  return {};
}

// slurmd takes its host's name for that of its Slurm node unless it is told one. capstan-entry knows it anyway.
void TellName(JsonObject& slurmd, bool by_machine) {
  slurmd["env"].get_array().push_back(NameVariable("POD_HOSTNAME", by_machine));
  for (const char* word : {"-N", "$(POD_HOSTNAME)"}) slurmd["args"].get_array().emplace_back(word);
}

// A user's variable of such a name would make another node of it.
void InsistOnName(JsonObject& slurmd, bool by_machine) {
  Json& env = slurmd["env"];
  if (!env.is_array()) return;
  for (Json& variable : env.get_array()) {
    const std::string name(json::FindText(variable, {"name"}));
    if (name == "CAPSTAN_NODE_NAME" || name == "POD_HOSTNAME") variable = NameVariable(name, by_machine);
  }
}

// Whatever a user's variable of that name says: job steps end by it (entry/registration.h).
void TellState(JsonObject& slurmd, bool kept) {
  Json& env = slurmd["env"];
  if (!env.is_array()) return;
  JsonArray others;
  for (Json& variable : env.get_array()) {
    if (json::FindText(variable, {"name"}) != kStateKept) others.push_back(std::move(variable));
  }
  if (!kept) others.push_back(Variable(kStateKept, "false"));
  env = std::move(others);
}

Result<JsonObject> Slurmd(const api::NodeSet& set, const api::Controller& controller, bool live, bool boots) {
  CAPSTAN_TRY(std::string conf, RegistersWith(set, controller));
  CAPSTAN_TRY(const WorkerShare share, ShareOf(set));
  if (boots) conf = slurm::SizedConf(conf, share.cpus, share.memory_mib);
  JsonObject slurmd{{"name", kWorker.app}};
  // In quotes of its own: the Slinky projects' images, and sites' that are made from them, give their arguments to a shell
  // and would cut this one at its blanks. capstan-entry takes the quotes off. There is none within (slurm::NodeConf).
  slurmd["args"] = JsonArray{"-Z", "--conf-server", ConfServer(controller), "--conf", "'" + conf + "'"};
  // With -b a machine was booted when its slurmd began; capstan-entry sees to it that it was not again when slurmd crashes.
  if (boots) slurmd["args"].get_array().emplace_back("-b");
  CAPSTAN_TRY(JsonArray environment, Environment(set, boots ? WorkerShare() : share));
  slurmd["env"] = std::move(environment);
  CAPSTAN_TRY(const bool host_network, HasHostNetwork(set));
  CAPSTAN_TRY(const bool by_machine, AreNamedByMachine(set));
  if (host_network) TellName(slurmd, by_machine);
  JsonArray ports{ContainerPort(kWorker.app, kSlurmdPort)};
  if (HasSsh(set)) ports.push_back(ContainerPort("ssh", kSshPort));
  slurmd["ports"] = std::move(ports);
  CAPSTAN_CHECK_OK(AddProbesOfTemplate(set, slurmd));
  slurmd["readinessProbe"] = HttpProbe("/readyz", kWorker.app);
  JsonObject capabilities;
  capabilities["add"] = JsonArray{"BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"};
  slurmd["securityContext"] = JsonObject{{"privileged", true}, {"capabilities", std::move(capabilities)}};
  JsonObject stop;
  stop["command"] = JsonArray{"/usr/bin/sh", "-c", kWorkerStopScript};
  slurmd["lifecycle"] = JsonObject{{"preStop", JsonObject{{"exec", std::move(stop)}}}};
  slurmd["volumeMounts"] = Mounts(set, live);
  CAPSTAN_TRY(const json::Raw users, WithoutOwnWords(set.spec.slurmd, kSlurmdOwnWords));
  CAPSTAN_TRY(JsonObject merged, MergeContainer(std::move(slurmd), users, "spec.slurmd"));
  InsistOnName(merged, by_machine);
  TellState(merged, controller.spec.external.value_or(false) || KeepsState(controller.spec));
  return merged;
}

JsonArray Volumes(const api::NodeSet& set, const api::Controller& controller, bool live) {
  JsonArray volumes;
  JsonArray keys;
  if (const auto& key = controller.spec.slurm_key_ref) keys.push_back(SlurmKeyFile(*key));
  volumes.push_back(ProjectedVolume("slurm-etc", kOwnerOnly, std::move(keys)));
  volumes.push_back(MemoryDir("slurm-logfile", kLogfileSize));
  if (HasSsh(set)) {
    const std::string& name = set.metadata.name;
    if (live) volumes.push_back(HostKeysVolume(SshHostKeysName(name)));
    volumes.push_back(SshConfigVolume(SshConfigName(name), {"sshd_config"}));
    volumes.push_back(SssdVolume(set.spec.ssh->sssd_conf_ref));
  }
  return volumes;
}

Result<JsonObject> BaseSpec(const api::NodeSet& set, const api::Controller& controller, const Settings& settings,
                            bool boots) {
  CAPSTAN_TRY(const bool live, ReadsFilesLive(set, settings));
  CAPSTAN_TRY(JsonObject slurmd, Slurmd(set, controller, live, boots));
  DefaultImage(slurmd, settings.Image(kWorker.app));
  CAPSTAN_TRY(JsonObject logfile, MergeContainer(LogfileSidecar(kLog, "600"), set.spec.logfile, "spec.logfile"));
  DefaultImage(logfile, ImageOf(slurmd));
  const std::string service = WorkerServiceName(controller.metadata.name);

  JsonObject spec{{"automountServiceAccountToken", false}, {"enableServiceLinks", false}, {"subdomain", service}};
  CAPSTAN_TRY(const bool host_network, HasHostNetwork(set));
  if (host_network) spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  spec["dnsConfig"] = JsonObject{{"searches", JsonArray{settings.Fqdn(service, set.metadata.namespace_)}}};
  spec["initContainers"] = JsonArray{std::move(logfile)};
  spec["containers"] = JsonArray{std::move(slurmd)};
  spec["tolerations"] =
      JsonArray{JsonObject{{"key", kTolerationWorker}, {"operator", "Equal"}, {"effect", "NoExecute"}}};
  spec["volumes"] = Volumes(set, controller, live);
  return spec;
}

// --- The pod ---------------------------------------------------------------------------------------------------------

// At most one worker on a Kubernetes node: two slurmd would both offer all of it.
void KeepApart(Json& spec) {
  JsonObject expression{{"key", kLabelName}, {"operator", "In"}, {"values", JsonArray{kWorker.app}}};
  JsonObject term{{"topologyKey", "kubernetes.io/hostname"}};
  term["labelSelector"] = JsonObject{{"matchExpressions", JsonArray{std::move(expression)}}};
  JsonObject& rules = json::MakeObject(spec, {"affinity", "podAntiAffinity"});
  Json& terms = rules["requiredDuringSchedulingIgnoredDuringExecution"];
  if (!terms.is_array()) terms.emplace_array();
  terms.get_array().push_back(std::move(term));
}

// Claims come first; one takes the place of a volume of the same name.
void MakeRoomForClaims(JsonObject& spec, const std::vector<ClaimTemplate>& claims) {
  Json* present = spec.if_contains("volumes");
  JsonArray volumes(claims.size());
  if (present != nullptr && present->is_array()) {
    for (Json& volume : present->get_array()) {
      const std::string_view name = json::FindText(volume, {"name"});
      if (std::ranges::none_of(claims, [&](const ClaimTemplate& claim) { return claim.volume == name; }))
        volumes.push_back(std::move(volume));
    }
  }
  spec["volumes"] = std::move(volumes);
}

Result<std::vector<ClaimTemplate>> ClaimTemplates(const api::NodeSet& set) {
  std::vector<ClaimTemplate> claims;
  if (set.spec.volume_claim_templates.empty()) return claims;
  CAPSTAN_TRY(const Json templates, json::Parse(set.spec.volume_claim_templates.text));
  if (templates.is_null()) return claims;
  if (!templates.is_array()) return Fail(Code::kInvalid, "spec.volumeClaimTemplates must be a list of claims");
  for (const Json& one : templates.get_array()) {
    const std::string volume(json::FindText(one, {"metadata", "name"}));
    const Json* spec = json::Find(one, {"spec"});
    if (volume.empty() || spec == nullptr || !spec->is_object()) {
      return Fail(Code::kInvalid, "each of spec.volumeClaimTemplates needs metadata.name and spec");
    }
    Metadata metadata;
    for (const auto& [part, into] :
         {std::pair("labels", &metadata.labels), std::pair("annotations", &metadata.annotations)}) {
      const Json* given = json::Find(one, {"metadata", part});
      if (given == nullptr || !given->is_object()) continue;
      for (const auto& member : given->get_object()) {
        if (member.value().is_string()) (*into)[std::string(member.key())] = std::string(member.value().get_string());
      }
    }
    metadata.Add(SelectorLabels(kWorker, set.metadata.name), {});
    JsonObject meta = metadata.ToJson();
    meta["namespace"] = set.metadata.namespace_;
    Json claim(JsonObject{
        {"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}, {"metadata", std::move(meta)}, {"spec", *spec}});
    json::DropNulls(claim);
    claims.push_back({volume, std::move(claim)});
  }
  return claims;
}

void Tolerate(Json& spec, JsonArray more) {
  Json& tolerations = spec.get_object()["tolerations"];
  if (!tolerations.is_array()) tolerations.emplace_array();
  for (Json& one : more) tolerations.get_array().push_back(std::move(one));
}

// All but what Stamp adds.
Metadata WorkerMetadata(const api::NodeSet& set, const std::string& revision, bool live, bool host_network) {
  Metadata metadata = PodMetadata(set.metadata, kWorker, set.spec.pod_template.metadata);
  metadata.Add({{std::string(kLabelCluster), set.spec.controller_ref.name},
                {std::string(kLabelScalingMode),
                 std::string(set.spec.IsDaemonSet() ? api::kScalingDaemonSet : api::kScalingStatefulSet)},
                {std::string(kLabelRevision), revision}},
               {});
  if (set.spec.workload_disruption_protection.value_or(true))
    metadata.Add({{std::string(kLabelPodProtect), "true"}}, {});
  if (host_network)
    metadata.annotations.insert_or_assign(std::string(kAnnotationNamed),
                                          std::string(set.spec.IsDaemonSet() ? "true" : kNamedByMachine));
  if (HasSsh(set) && !live)
    metadata.annotations.insert_or_assign(std::string(kHashSshdConfig), Sha256Hex(SshdText(set)));
  return metadata;
}

}  // namespace

std::string WorkerPodName(const api::NodeSet& set, int ordinal) {
  return set.metadata.name + "-" + Padded(set, ordinal);
}

std::string WorkerHost(const api::NodeSet& set, int ordinal) {
  return render::HostPrefixOf(set).value_or(set.metadata.name + "-") + Padded(set, ordinal);
}

Result<bool> AreNamedByMachine(const api::NodeSet& set) {
  if (set.spec.IsDaemonSet()) return false;
  return HasHostNetwork(set);
}

Result<WorkerShare> ShareOf(const api::NodeSet& set) {
  CAPSTAN_TRY(const Json container, json::ParseObject(set.spec.slurmd, "spec.slurmd"));
  CAPSTAN_TRY(const Json pod_spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  WorkerShare share;
  CAPSTAN_TRY(share.cpus, WholeLimit(container, pod_spec, "cpu", 1));
  CAPSTAN_TRY(share.memory_mib, WholeLimit(container, pod_spec, "memory", int64_t{1} << 20));
  return share;
}

Result<std::string> RegistersWith(const api::NodeSet& set, const api::Controller& controller) {
  CAPSTAN_TRY(const std::string feature, SlurmNameOf(set));
  CAPSTAN_TRY(const std::string extra_conf, ConfWithGres(set, controller));
  return slurm::NodeConf(extra_conf, std::array{feature}, "");
}

Result<void> CheckTemplate(const api::NodeSet& set) {
  CAPSTAN_TRY(const std::string name, SlurmNameOf(set));
  if (slurm::IsReservedName(name)) {
    return Fail(Code::kInvalid, "the NodeSet's name in Slurm, " + name +
                                    ", stands for something else there; give it another name, or another "
                                    "spec.template.spec.hostname");
  }
  CAPSTAN_TRY(const bool host_network, HasHostNetwork(set));
  if (!host_network || !HasSsh(set)) return {};
  return Fail(
      Code::kInvalid,
      "spec.ssh.enabled and spec.template.spec.hostNetwork do not go together: port 22 is that of the machine's "
      "own sshd; turn off either");
}

Result<WorkerTemplate> WorkerTemplate::Of(const api::NodeSet& set, const api::Controller& controller,
                                          const Settings& settings, bool boots) {
  CAPSTAN_CHECK_OK(CheckTemplate(set));
  WorkerTemplate made;
  made.set_ = &set;
  CAPSTAN_TRY(made.revision_, Revision(set));
  CAPSTAN_TRY(JsonObject base, BaseSpec(set, controller, settings, boots));
  CAPSTAN_TRY(const json::Raw user, PodWithoutOwnWords(set.spec.pod_template.spec, kSlurmdOwnWords));
  CAPSTAN_TRY(JsonObject merged, MergePodSpec(std::move(base), user, "spec.template.spec"));
  Json spec(std::move(merged));
  spec.get_object().erase("nodeName");
  made.host_prefix_ = json::FindText(spec, {"hostname"});
  CAPSTAN_TRY(made.named_by_machine_, AreNamedByMachine(set));
  if (!set.spec.oversubscribe_node.value_or(false)) KeepApart(spec);
  CAPSTAN_TRY(const bool host_network, HasHostNetwork(set));
  if (set.spec.IsDaemonSet()) Tolerate(spec, DaemonTolerations(host_network));
  CAPSTAN_TRY(made.claims_, ClaimTemplates(set));
  if (!made.claims_.empty()) MakeRoomForClaims(spec.get_object(), made.claims_);
  CAPSTAN_TRY(const bool live, ReadsFilesLive(set, settings));
  JsonObject pod = OwnedObject(kube::kPods, "", WorkerMetadata(set, made.revision_, live, host_network), OwnerOf(set));
  pod["spec"] = std::move(spec);
  made.pod_ = std::move(pod);
  return made;
}

// In place of all that the template requires of nodes, which was judged before (placement.h). The scheduler binds it.
void WorkerTemplate::BindTo(const std::string& node) {
  if (!std::exchange(bound_, true)) free_spec_ = json::MakeObject(pod_, {"spec"});
  JsonObject requirement{{"key", "metadata.name"}, {"operator", "In"}, {"values", JsonArray{Json(node)}}};
  JsonObject term{{"matchFields", JsonArray{std::move(requirement)}}};
  JsonObject& affinity = json::MakeObject(pod_, {"spec", "affinity", "nodeAffinity"});
  affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
      JsonObject{{"nodeSelectorTerms", JsonArray{std::move(term)}}};
  json::MakeObject(pod_, {"spec"}).erase("nodeSelector");
}

void WorkerTemplate::Unbind() {
  if (std::exchange(bound_, false)) json::MakeObject(pod_, {"spec"}) = free_spec_.get_object();
}

void WorkerTemplate::StampClaims(const std::string& ending, NewWorker& worker) {
  JsonObject& spec = json::MakeObject(pod_, {"spec"});
  for (size_t i = 0; i < claims_.size(); ++i) {
    const std::string name = claims_[i].volume + "-" + set_->metadata.name + "-" + ending;
    spec["volumes"].get_array()[i] = ClaimVolume(claims_[i].volume, name);
    json::MakeObject(claims_[i].object, {"metadata"})["name"] = name;
    worker.claims.push_back({name, json::SerializeCanonical(claims_[i].object)});
  }
}

NewWorker WorkerTemplate::Stamp(const Place& place) {
  NewWorker worker;
  worker.revision = revision_;
  JsonObject& labels = json::MakeObject(pod_, {"metadata", "labels"});
  if (place.node.empty())
    Unbind();
  else
    BindTo(place.node);
  if (place.ordinal >= 0) {
    const std::string digits = Padded(*set_, place.ordinal);
    worker.name = WorkerPodName(*set_, place.ordinal);
    worker.host = host_prefix_.empty() ? worker.name : host_prefix_ + digits;
    labels[kLabelPodIndex] = digits;
    StampClaims(digits, worker);
  } else {
    worker.name = DaemonPodName(*set_, place.node);
    worker.host = place.host;
    StampClaims(place.host, worker);
  }
  labels[kLabelPodName] = worker.name;
  json::MakeObject(pod_, {"metadata"})["name"] = worker.name;
  json::MakeObject(pod_, {"spec"})["hostname"] = worker.host;
  if (named_by_machine_)
    worker.host.clear();
  else
    labels[kLabelPodHostname] = worker.host;
  worker.body = json::SerializeCanonical(pod_);
  return worker;
}

bool HasSsh(const api::NodeSet& set) { return set.spec.ssh && set.spec.ssh->enabled.value_or(false); }

Result<bool> ReadsFilesLive(const api::NodeSet& set, const Settings& settings) {
  return render::ReadsFilesLive(set.metadata, set.spec.slurmd, "spec.slurmd", kWorker, settings);
}

plan::Child SshConfig(const api::NodeSet& set) {
  const Metadata metadata = Inherited(set.metadata).Add(ComponentLabels(kWorker, set.metadata.name), {});
  JsonObject body = OwnedObject(kube::kConfigMaps, SshConfigName(set.metadata.name), metadata, OwnerOf(set));
  body["data"] = JsonObject{{"sshd_config", SshdText(set)}};
  return AsChild(kube::kConfigMaps, std::move(body), "the workers' sshd reads it");
}

}  // namespace capstan::op::nodeset
