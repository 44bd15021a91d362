#include "doctor/causes.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/common.h"
#include "api/conditions.h"
#include "api/kinds.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/pods.h"

namespace capstan::doctor {
namespace {

using Findings = std::vector<Finding>;

constexpr Duration kPatience = 5min;          // what has not come to rest by then will not by itself
constexpr Duration kLeaseTimeout = 60s;       // since the last renewal; a holder renews every two seconds
constexpr Duration kLostPodTimeout = 5min;    // since the deletion of a pod on a node that does not answer
constexpr Duration kPendingTimeout = 1min;    // until a pod that is not placed is told
constexpr Duration kUnknownTimeout = 1min;    // since the worker was ready
constexpr Duration kMostSkew = 5s;            // tokens are valid from ten seconds ago
constexpr Duration kDeletionTimeout = 10min;  // until a deletion counts as blocked
constexpr Duration kTokenNotice = 5min;       // a token that is not renewed is told so long before its end
constexpr size_t kNamed = 3;                  // so many are named in a sentence, the rest counted
constexpr size_t kLongest = 300;              // bytes of what others wrote

std::string Several(const std::vector<std::string>& texts) {
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kNamed); ++i) text += (i == 0 ? "" : "; ") + texts[i];
  if (texts.size() > kNamed) text += "; and " + std::to_string(texts.size() - kNamed) + " more";
  return text;
}

std::string KeyText(const json::ObjectMeta& meta) { return kube::Key{meta.namespace_, meta.name}.ToString(); }

bool Older(const std::optional<Time>& then, Time now, Duration than) { return then && now - *then > than; }

// The kind of custom resource that a pod's component label stands for.
std::string KindOf(const op::Pod& pod) {
  const std::string& component = pod.metadata.Label(std::string(op::kLabelComponent));
  if (component == op::kController.component) return "Controller";
  if (component == op::kRestApi.component) return "RestApi";
  if (component == op::kAccounting.component) return "Accounting";
  if (component == op::kWorker.component) return "NodeSet";
  if (component == op::kLogin.component) return "LoginSet";
  return "Pod";
}

std::string OwnerOf(const op::Pod& pod) {
  const std::string& instance = pod.metadata.Label(std::string(op::kLabelInstance));
  const std::string kind = KindOf(pod);
  if (kind == "Pod" || instance.empty()) return "Pod " + KeyText(pod.metadata);
  return kind + " " + pod.metadata.namespace_ + "/" + instance;
}

bool IsWorker(const op::Pod& pod) { return KindOf(pod) == "NodeSet"; }

// --- The API -----------------------------------------------------------------------------------------------------------

std::string DefinitionName(const api::KindInfo& kind) {
  return std::string(kind.plural) + "." + std::string(kind.group);
}

const json::Value* FindDefinition(const Cluster& cluster, std::string_view name) {
  const auto found = std::ranges::find_if(cluster.definitions.items, [&](const json::Value& definition) {
    return json::FindText(definition, {"metadata", "name"}) == name;
  });
  return found == cluster.definitions.items.end() ? nullptr : &*found;
}

Findings CrdsMissing(const Cluster& cluster) {
  if (!cluster.definitions.known()) return {};
  std::vector<std::string> missing;
  for (const api::KindInfo& kind : api::Kinds()) {
    // Who does not use SlurmClusters needs no definition of them.
    if (kind.group == api::kGroup && FindDefinition(cluster, DefinitionName(kind)) == nullptr)
      missing.push_back(DefinitionName(kind));
  }
  if (missing.empty()) return {};
  return {{.object = "CustomResourceDefinition " + missing.front(),
           .what = "the API server does not know " + Join(missing, ", ") + ", without which nothing can be asked for",
           .todo = "helm install slurm-operator-crds charts/slurm-operator-crds, or kubectl apply -f of what `capstan "
                   "crds` prints"}};
}

// The schema of the version that this program reads; nullptr: the definition has none.
const json::Value* SchemaOf(const json::Value& definition, std::string_view version) {
  const json::Value* versions = json::Find(definition, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array()) return nullptr;
  for (const json::Value& each : versions->get_array()) {
    if (json::FindText(each, {"name"}) == version) return json::Find(each, {"schema", "openAPIV3Schema"});
  }
  return nullptr;
}

// Names the fields that `ours` has and `theirs` lacks, by their paths; below one that is missing nothing more.
void Lacking(const json::Value& ours, const json::Value* theirs, const std::string& path,
             std::vector<std::string>& lacking) {
  if (const json::Value* items = json::Find(ours, {"items"}); items != nullptr && theirs != nullptr)
    Lacking(*items, json::Find(*theirs, {"items"}), path, lacking);
  const json::Value* fields = json::Find(ours, {"properties"});
  if (fields == nullptr || !fields->is_object()) return;
  for (const auto& field : fields->get_object()) {
    const std::string name = path.empty() ? std::string(field.key()) : path + "." + std::string(field.key());
    const json::Value* found = theirs == nullptr ? nullptr : json::Find(*theirs, {"properties", field.key()});
    if (found == nullptr)
      lacking.push_back(name);
    else
      Lacking(field.value(), found, name, lacking);
  }
}

Findings CrdsOutdated(const Cluster& cluster) {
  Findings findings;
  for (const api::KindInfo& kind : api::Kinds()) {
    const json::Value* definition = FindDefinition(cluster, DefinitionName(kind));
    const auto own = json::Parse(api::CrdJson(kind));
    if (definition == nullptr || !own) continue;
    const json::Value* ours = SchemaOf(*own, kind.version);
    const json::Value* theirs = SchemaOf(*definition, kind.version);
    std::vector<std::string> lacking;
    if (ours != nullptr) Lacking(*ours, theirs, "", lacking);
    if (lacking.empty()) continue;
    findings.push_back({.severity = theirs == nullptr ? Severity::kError : Severity::kWarning,
                        .object = "CustomResourceDefinition " + DefinitionName(kind),
                        .what = theirs == nullptr
                                    ? "it does not have the version " + std::string(kind.version)
                                    : "it is older than this program: the API server drops " + Several(lacking),
                        .todo = "helm upgrade slurm-operator-crds, which Helm does not do with the operator's chart"});
  }
  return findings;
}

Findings StoredVersions(const Cluster& cluster) {
  Findings findings;
  for (const api::KindInfo& kind : api::Kinds()) {
    const json::Value* definition = FindDefinition(cluster, DefinitionName(kind));
    const json::Value* stored = definition == nullptr ? nullptr : json::Find(*definition, {"status", "storedVersions"});
    if (stored == nullptr || !stored->is_array()) continue;
    std::vector<std::string> old;
    for (const json::Value& version : stored->get_array()) {
      if (version.is_string() && version.get_string() != kind.version) old.emplace_back(version.get_string());
    }
    if (old.empty()) continue;
    findings.push_back({.severity = Severity::kWarning,
                        .object = "CustomResourceDefinition " + DefinitionName(kind),
                        .what = "objects may still be stored as " + Join(old, ", ") +
                                ", which a later definition cannot leave out before they are rewritten",
                        .todo =
                            "rewrite each (kubectl get -A -o json | kubectl replace -f -), then take the version out "
                            "of status.storedVersions"});
  }
  return findings;
}

// --- The operator --------------------------------------------------------------------------------------------------------

Findings OperatorMissing(const Cluster& cluster) {
  if (!cluster.operators.known() || !cluster.operators.items.empty() || cluster.resources.items.empty()) return {};
  // One that somebody starts by hand renews a Lease all the same.
  for (const kube::LeaseRecord& lease : cluster.leases.items) {
    if (!Older(ParseRfc3339(lease.spec.renew_time), cluster.now, kLeaseTimeout)) return {};
  }
  return {{.object = "Deployment slurm-operator",
           .what = "no operator is installed: nothing that custom resources ask for is made or kept",
           .todo = "helm install slurm-operator charts/slurm-operator --namespace slinky --create-namespace"}};
}

// The namespaces in question: those looked at, and those with custom resources.
std::set<std::string> Namespaces(const Cluster& cluster) {
  std::set<std::string> namespaces(cluster.scope.begin(), cluster.scope.end());
  for (const CustomResource& resource : cluster.resources.items) namespaces.insert(resource.metadata.namespace_);
  return namespaces;
}

bool WatchesAny(const OperatorDeployment& deployment, const std::set<std::string>& namespaces) {
  return namespaces.empty() ||
         std::ranges::any_of(namespaces, [&](const std::string& ns) { return deployment.Watches(ns); });
}

Findings OperatorNotReady(const Cluster& cluster) {
  Findings findings;
  for (const OperatorDeployment& deployment : cluster.operators.items) {
    if (!WatchesAny(deployment, Namespaces(cluster))) continue;
    const int wanted = deployment.spec.replicas.value_or(1);
    if (wanted > 0 && deployment.status.ready_replicas > 0) continue;
    std::string what = wanted == 0 ? "it is scaled to 0" : "none of its pods is ready";
    for (const op::Pod& pod : cluster.operator_pods.items) {
      if (pod.metadata.namespace_ != deployment.metadata.namespace_) continue;
      if (const std::string trouble = op::PodTrouble(pod); !trouble.empty()) what += ": " + trouble;
    }
    findings.push_back({.object = "Deployment " + KeyText(deployment.metadata),
                        .what = what + ". What runs goes on; nothing is changed or repaired",
                        .todo = wanted == 0 ? "kubectl scale --namespace " + deployment.metadata.namespace_ +
                                                  " deployment/" + deployment.metadata.name + " --replicas=1"
                                            : "kubectl describe pods and kubectl logs in namespace " +
                                                  deployment.metadata.namespace_ + " say more"});
  }
  return findings;
}

Findings LeaseStale(const Cluster& cluster) {
  Findings findings;
  for (const OperatorDeployment& deployment : cluster.operators.items) {
    if (deployment.Flag("leader-elect") != "true" || deployment.status.ready_replicas == 0) continue;
    if (!WatchesAny(deployment, Namespaces(cluster))) continue;
    const auto lease = std::ranges::find_if(cluster.leases.items, [&](const kube::LeaseRecord& record) {
      return record.metadata.namespace_ == deployment.metadata.namespace_;
    });
    if (lease == cluster.leases.items.end()) continue;
    if (!Older(ParseRfc3339(lease->spec.renew_time), cluster.now, kLeaseTimeout)) continue;
    findings.push_back({.object = "Lease " + KeyText(lease->metadata),
                        .what = "nobody has renewed it since " + lease->spec.renew_time +
                                ": no operator leads, though its pods are ready",
                        .todo = "kubectl logs --namespace " + deployment.metadata.namespace_ + " deployment/" +
                                deployment.metadata.name + " says why it does not get the lease"});
  }
  return findings;
}

Findings TwoOperators(const Cluster& cluster) {
  const auto& all = cluster.operators.items;
  const std::set<std::string> namespaces = Namespaces(cluster);
  const auto overlap = [&](const OperatorDeployment& a, const OperatorDeployment& b) {
    return std::ranges::any_of(namespaces, [&](const std::string& ns) { return a.Watches(ns) && b.Watches(ns); });
  };
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      const bool run = all[i].spec.replicas.value_or(1) > 0 && all[j].spec.replicas.value_or(1) > 0;
      if (!run || !overlap(all[i], all[j])) continue;
      return {{.object = "Deployment " + KeyText(all[j].metadata),
               .what = "two operators look after the same namespaces, this one and " + KeyText(all[i].metadata) +
                       ": each undoes what the other does",
               .todo = "remove one, or give them different operator.namespaces"}};
    }
  }
  return {};
}

Findings NamespaceNotWatched(const Cluster& cluster) {
  if (cluster.operators.items.empty()) return {};
  std::set<std::string> namespaces;
  for (const CustomResource& resource : cluster.resources.items) {
    const bool watched = std::ranges::any_of(
        cluster.operators.items, [&](const OperatorDeployment& o) { return o.Watches(resource.metadata.namespace_); });
    if (!watched) namespaces.insert(resource.metadata.namespace_);
  }
  Findings findings;
  for (const std::string& ns : namespaces) {
    findings.push_back(
        {.object = "Namespace " + ns,
         .what = "it has custom resources, and no operator looks there: it was told others (--namespaces)",
         .todo = "add " + ns + " to operator.namespaces of the operator's chart"});
  }
  return findings;
}

// --- Daemons ---------------------------------------------------------------------------------------------------------

// What the last line of a container that ended says, where it was read.
std::string LastLine(const Cluster& cluster, const op::Pod& pod) {
  for (const op::ContainerStatus& status : pod.status.container_statuses) {
    const auto found = cluster.last_lines.find(KeyText(pod.metadata) + "/" + status.name);
    if (found != cluster.last_lines.end() && !found->second.empty())
      return "; its last line: " + OneLine(found->second, kLongest);
  }
  return "";
}

std::string WhatToDo(const op::Pod& pod, const std::string& trouble) {
  const std::string of = " --namespace " + pod.metadata.namespace_ + " ";
  if (trouble.contains("No space left on device") || trouble.contains("Disk quota"))
    return "the volume is full: let its claim grow (kubectl edit" + of +
           "pvc, where the storage class allows it), or remove what is not needed there";
  if (trouble.contains("ImagePull") || trouble.contains("InvalidImageName"))
    return "correct the image in the custom resource, or give its nodes what they need to pull it (imagePullSecrets)";
  if (trouble.contains("CreateContainerConfigError"))
    return "make the Secret or ConfigMap that it names; kubectl describe" + of + "pod/" + pod.metadata.name +
           " names it";
  if (trouble.contains("cannot be placed"))
    return "make room or nodes that fit, or ask for less (nodeSelector, tolerations, resources of the template)";
  return "kubectl logs" + of + pod.metadata.name + " --all-containers --previous says why";
}

// Of slurmctld, slurmrestd, slurmdbd, its database and logins; workers are many, and told together.
Findings DaemonFails(const Cluster& cluster) {
  Findings findings;
  for (const op::Pod& pod : cluster.pods.items) {
    if (IsWorker(pod) || pod.metadata.deleting()) continue;
    std::string trouble = op::PodTrouble(pod);
    if (trouble.empty() || trouble.contains("unbound immediate PersistentVolumeClaims")) continue;
    if (!trouble.contains("it said:")) trouble += LastLine(cluster, pod);
    std::string todo = WhatToDo(pod, trouble);
    findings.push_back({.object = OwnerOf(pod), .what = std::move(trouble), .todo = std::move(todo)});
  }
  return findings;
}

Findings ClaimUnbound(const Cluster& cluster) {
  Findings findings;
  for (const Claim& claim : cluster.claims.items) {
    if (claim.status.phase != "Pending" && claim.status.phase != "Lost") continue;
    if (!Older(claim.metadata.creation_timestamp, cluster.now, kPendingTimeout)) continue;
    std::string why;
    for (const Event& event : cluster.events.items) {
      const Event::Regarding& of = event.regarding;
      if (of.kind == "PersistentVolumeClaim" && of.name == claim.metadata.name &&
          of.namespace_ == claim.metadata.namespace_)
        why = ": " + OneLine(event.note, kLongest);
    }
    findings.push_back({.object = "PersistentVolumeClaim " + KeyText(claim.metadata),
                        .what = "it has no volume (" + claim.status.phase + ")" + why,
                        .todo =
                            "give it a storage class that the cluster has (kubectl get storageclasses), or a volume; "
                            "what waits for it starts then"});
  }
  return findings;
}

Findings NodeLost(const Cluster& cluster) {
  if (!cluster.nodes.known()) return {};
  Findings findings;
  for (const op::Pod& pod : cluster.pods.items) {
    if (!Older(pod.metadata.deletion_timestamp, cluster.now, kLostPodTimeout) || pod.spec.node_name.empty()) continue;
    const Node* node = cluster.FindNode(pod.spec.node_name);
    if (node != nullptr && node->Ready()) continue;
    findings.push_back({.object = OwnerOf(pod),
                        .what = "pod " + pod.metadata.name + " is Terminating for ever: its node " +
                                pod.spec.node_name + (node == nullptr ? " is gone" : " does not answer") +
                                ", and nobody else may say that it has stopped",
                        .todo = "once that machine is off for certain: kubectl taint node " + pod.spec.node_name +
                                " node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"});
  }
  return findings;
}

// The API server may be kept from slurmrestd where the operator is not: what conditions say counts more.
bool IsSaidToAnswer(const Cluster& cluster, const kube::Key& rest_api) {
  const CustomResource* resource = cluster.Find("RestApi", rest_api);
  if (resource == nullptr || json::ConditionStatus(resource->status.conditions, api::kReady) != "True") return false;
  return std::ranges::none_of(cluster.resources.items, [&](const CustomResource& other) {
    const json::Condition* degraded = json::FindCondition(other.status.conditions, api::kDegraded);
    return other.metadata.namespace_ == rest_api.ns && degraded != nullptr && degraded->status == "True" &&
           degraded->message.contains("Slurm does not answer");
  });
}

Findings RestApiSilent(const Cluster& cluster) {
  Findings findings;
  for (const RestApiSeen& seen : cluster.rest_apis) {
    if (seen.answers || IsSaidToAnswer(cluster, seen.rest_api)) continue;
    findings.push_back({.object = "RestApi " + seen.rest_api.ToString(),
                        .what = "slurmrestd does not answer (" + OneLine(seen.error, kLongest) +
                                "): the operator cannot ask Slurm, so no worker is taken away",
                        .todo = "kubectl get pods --namespace " + seen.rest_api.ns +
                                " -l app.kubernetes.io/component=restapi; it answers once slurmctld does"});
  }
  return findings;
}

// A key is made for a new cluster alone: one that runs has its own already.
bool IsMade(const Cluster& cluster, const NamedSecret& named) {
  return named.made_when_missing && std::ranges::none_of(cluster.pods.items, [&](const op::Pod& pod) {
           return KindOf(pod) == "Controller" && pod.metadata.namespace_ == named.secret.ns;
         });
}

Findings KeyMissing(const Cluster& cluster) {
  Findings findings;
  for (const NamedSecret& named : cluster.secrets) {
    const bool no_key = named.state == NamedSecret::State::kNoKey;
    if (!no_key && (named.state != NamedSecret::State::kNoSecret || IsMade(cluster, named))) continue;
    findings.push_back(
        {.object = named.by,
         .what = "Secret " + named.secret.ToString() + ", named in spec." + named.field +
                 (no_key ? ", has no key \"" + named.key + "\"" : ", is missing"),
         .todo = "put it back as it was: another key cuts off whatever has the former one. Of a new cluster: "
                 "kubectl create secret generic " +
                 named.secret.name + " --namespace " + named.secret.ns + " --from-file=" + named.key});
  }
  return findings;
}

// --- What conditions say ----------------------------------------------------------------------------------------------

// Those of a reason; a condition's reasons stand side by side in its message only, the first gives the word.
template <class Make>
Findings OfReason(const Cluster& cluster, std::initializer_list<std::string_view> reasons, Make make) {
  Findings findings;
  for (const CustomResource& resource : cluster.resources.items) {
    for (const json::Condition& condition : resource.status.conditions) {
      const bool told = condition.type == api::kDegraded ? condition.status == "True" : condition.status == "False";
      if (condition.type == api::kProgressing || !told) continue;
      if (std::ranges::find(reasons, condition.reason) == reasons.end()) continue;
      if (auto finding = make(resource, condition)) findings.push_back(*std::move(finding));
      break;
    }
  }
  return findings;
}

Findings DatabaseAway(const Cluster& cluster) {
  return OfReason(cluster, {"WaitingForDatabase", "AccountingQueueFills"},
                  [&](const CustomResource& resource, const json::Condition& condition) -> std::optional<Finding> {
                    const bool queue = condition.reason == "AccountingQueueFills";
                    if (!queue && cluster.now - condition.last_transition_time < kPatience) return std::nullopt;
                    return Finding{.object = resource.ToString(),
                                   .what = condition.message,
                                   .todo = queue
                                               ? "look at the Accounting that it names; records wait there"
                                               : "see that the database runs, is reached, and knows user and password"};
                  });
}

Findings NodesUnread(const Cluster& cluster) {
  return OfReason(cluster, {"NodesUnread"},
                  [](const CustomResource& resource, const json::Condition& condition) -> std::optional<Finding> {
                    return Finding{.object = resource.ToString(),
                                   .what = condition.message,
                                   .todo =
                                       "mend the file that slurmctld's log names, then run `scontrol reconfigure` in "
                                       "its pod"};
                  });
}

Findings FieldUnheeded(const Cluster& cluster) {
  return OfReason(cluster, {"NotSupported", "UnknownFields"},
                  [](const CustomResource& resource, const json::Condition& condition) -> std::optional<Finding> {
                    return Finding{.severity = Severity::kWarning,
                                   .object = resource.ToString(),
                                   .what = condition.message,
                                   .todo = "take what is named out of the spec: it has no effect"};
                  });
}

Findings ConditionTold(const Cluster& cluster) {
  Findings findings;
  for (const CustomResource& resource : cluster.resources.items) {
    if (resource.metadata.deleting()) continue;
    const json::Condition* ready = json::FindCondition(resource.status.conditions, api::kReady);
    const json::Condition* degraded = json::FindCondition(resource.status.conditions, api::kDegraded);
    const bool is_degraded = degraded != nullptr && degraded->status == "True";
    const bool waits =
        ready != nullptr && ready->status == "False" && cluster.now - ready->last_transition_time > kPatience;
    if (!is_degraded && !waits) continue;
    const json::Condition& told = is_degraded ? *degraded : *ready;
    if (told.reason == "NotSupported" || told.reason == "UnknownFields") continue;  // FieldUnheeded
    const bool works = ready != nullptr && ready->status == "True";
    findings.push_back(
        {.severity = works ? Severity::kWarning : Severity::kError,
         .object = resource.ToString(),
         .what = told.message + " (" + told.reason + ", since " + FormatRfc3339(told.last_transition_time) + ")",
         .todo = "the condition's own words say what is needed; docs/reference.md explains " + told.reason});
  }
  return findings;
}

Findings NeverDecided(const Cluster& cluster) {
  Findings findings;
  for (const CustomResource& resource : cluster.resources.items) {
    if (!resource.status.conditions.empty()) continue;
    if (!Older(resource.metadata.creation_timestamp, cluster.now, kPendingTimeout)) continue;
    findings.push_back(
        {.object = resource.ToString(),
         .what = "no operator has looked at it since it was made",
         .todo = "see that an operator runs, and looks after namespace " + resource.metadata.namespace_});
  }
  return findings;
}

// --- Workers -----------------------------------------------------------------------------------------------------------

Findings WorkersPending(const Cluster& cluster) {
  std::map<std::string, std::map<std::string, int>> sets;  // how many are refused for which reason
  for (const op::Pod& pod : cluster.pods.items) {
    if (!IsWorker(pod) || pod.metadata.deleting() || !pod.spec.node_name.empty()) continue;
    const op::PodCondition* scheduled = pod.Condition("PodScheduled");
    if (scheduled == nullptr || scheduled->status != "False") continue;
    if (!Older(pod.metadata.creation_timestamp, cluster.now, kPendingTimeout)) continue;
    ++sets[OwnerOf(pod)][OneLine(scheduled->message, kLongest)];
  }
  Findings findings;
  for (const auto& [set, reasons] : sets) {
    std::vector<std::string> texts;
    int all = 0;
    for (const auto& [reason, count] : reasons) {
      texts.push_back(std::to_string(count) + ": " + reason);
      all += count;
    }
    findings.push_back({.object = set,
                        .what = std::to_string(all) + (all == 1 ? " worker finds" : " workers find") +
                                " no Kubernetes node; " + Several(texts),
                        .todo = "make room or nodes that fit, scale in, or ask for less in spec.slurmd.resources and "
                                "spec.template"});
  }
  return findings;
}

Findings WorkersFail(const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> sets;
  std::map<std::string, std::string> todo;
  for (const op::Pod& pod : cluster.pods.items) {
    if (!IsWorker(pod) || pod.metadata.deleting() || pod.spec.node_name.empty()) continue;
    std::string trouble = op::PodTrouble(pod);
    if (trouble.empty()) continue;
    if (!trouble.contains("it said:")) trouble += LastLine(cluster, pod);
    todo.try_emplace(OwnerOf(pod), WhatToDo(pod, trouble));
    sets[OwnerOf(pod)].push_back(std::move(trouble));
  }
  Findings findings;
  for (const auto& [set, troubles] : sets)
    findings.push_back({.object = set, .what = Several(troubles), .todo = todo[set]});
  return findings;
}

// By whatever it may be called there: its pod's name or host name, its machine's, or its address.
bool IsKnown(const SlurmSeen& slurm, const op::Pod& pod) {
  return std::ranges::any_of(slurm.nodes, [&](const slurm::Node& node) {
    for (const std::string_view name : {node.name, node.hostname, node.address}) {
      if (name.empty()) continue;
      if (name == pod.metadata.name || name == pod.spec.hostname || name == pod.spec.node_name) return true;
      if (name == pod.status.pod_ip) return true;
    }
    return false;
  });
}

Findings WorkersUnknown(const Cluster& cluster) {
  Findings findings;
  for (const SlurmSeen& slurm : cluster.slurm) {
    if (!slurm.error.empty()) continue;
    std::vector<std::string> unknown;
    for (const op::Pod& pod : cluster.pods.items) {
      if (!IsWorker(pod) || pod.metadata.deleting() || pod.metadata.namespace_ != slurm.controller.ns) continue;
      if (pod.metadata.Label(std::string(op::kLabelCluster)) != slurm.controller.name) continue;
      const op::PodCondition* ready = pod.Condition("Ready");
      if (ready == nullptr || ready->status != "True") continue;
      if (Older(ready->last_transition_time, cluster.now, kUnknownTimeout) && !IsKnown(slurm, pod))
        unknown.push_back(pod.metadata.name);
    }
    if (unknown.empty()) continue;
    const bool none = slurm.nodes.empty();
    const std::string in = " --namespace " + slurm.controller.ns + " ";
    findings.push_back({.object = "Controller " + slurm.controller.ToString(),
                        .what = "Slurm has no record of workers that are ready: " + Several(unknown) +
                                (none ? "; nor of any other node, as if slurmctld had come up without its state" : ""),
                        .todo = none ? "see which volume slurmctld has: kubectl describe" + in + "pod/" +
                                           op::ControllerName(slurm.controller.name) +
                                           "-0. With the right one its jobs are back; without, workers without job "
                                           "steps register anew by themselves"
                                     : "kubectl logs" + in + unknown.front() +
                                           " says what its slurmd is called; one without jobs is replaced by itself, "
                                           "else delete its pod once no job runs there"});
  }
  return findings;
}

// "root@slurmctld" and the like are of Slurm's own.
std::string By(const slurm::Node& node) {
  const std::string who = node.reason_set_by.empty() ? "" : " by " + node.reason_set_by;
  const std::string since = node.reason_changed_at ? " since " + FormatRfc3339(*node.reason_changed_at) : "";
  return (node.reason.empty() ? "without a reason" : "\"" + OneLine(node.reason, kLongest) + "\"") + who + since;
}

Findings OfSlurmNodes(const Cluster& cluster, bool (*is)(const slurm::Node&), std::string_view what,
                      std::string_view todo) {
  Findings findings;
  for (const SlurmSeen& seen : cluster.slurm) {
    std::vector<std::string> names;
    for (const slurm::Node& node : seen.nodes) {
      if (is(node)) names.push_back(node.name + " " + By(node));
    }
    if (names.empty()) continue;
    findings.push_back({.severity = Severity::kWarning,
                        .object = "Controller " + seen.controller.ToString(),
                        .what = std::to_string(names.size()) + " " + std::string(what) + ": " + Several(names),
                        .todo = std::string(todo)});
  }
  return findings;
}

bool IsInvalidReg(const slurm::Node& node) { return node.state.Has(slurm::NodeFlag::kInvalidReg); }

Findings WorkersDown(const Cluster& cluster) {
  return OfSlurmNodes(
      cluster, [](const slurm::Node& node) { return node.state.IsDown() && !IsInvalidReg(node); },
      "of Slurm's nodes are DOWN",
      "look at their pods; one that is back and answers is resumed by the operator unless a person set it DOWN: "
      "scontrol "
      "update nodename=NAME state=resume");
}

Findings WorkersDrained(const Cluster& cluster) {
  return OfSlurmNodes(
      cluster,
      [](const slurm::Node& node) {
        return node.state.IsDraining() && !node.state.IsDown() && !IsInvalidReg(node) &&
               !node.reason.starts_with(op::kReasonPrefix);
      },
      "of Slurm's nodes take no jobs, as somebody drained them",
      "scontrol update nodename=NAME state=resume when that is over; the operator lifts no drain but its own");
}

Findings InvalidRegistration(const Cluster& cluster) {
  return OfSlurmNodes(cluster, &IsInvalidReg, "of Slurm's nodes registered with less than Slurm was told (INVALID_REG)",
                      "what the node says (slurmd -C in its pod) must be no less than what extraConf or slurm.conf "
                      "claims; correct that and renew the worker");
}

// --- Deletion ----------------------------------------------------------------------------------------------------------

Findings DeletionBlocked(const Cluster& cluster) {
  Findings findings;
  for (const CustomResource& resource : cluster.resources.items) {
    if (!Older(resource.metadata.deletion_timestamp, cluster.now, kDeletionTimeout)) continue;
    const json::Condition* progressing = json::FindCondition(resource.status.conditions, api::kProgressing);
    const bool ours =
        std::ranges::find(resource.metadata.finalizers, op::kFinalizerDrain) != resource.metadata.finalizers.end();
    std::string what = "it is being deleted since " + FormatRfc3339(*resource.metadata.deletion_timestamp) +
                       ", held by " + Join(resource.metadata.finalizers, ", ");
    if (progressing != nullptr && progressing->status == "True") what += ": " + progressing->message;
    findings.push_back({.severity = Severity::kWarning,
                        .object = resource.ToString(),
                        .what = std::move(what),
                        .todo = ours
                                    ? "wait for its jobs; or, not to wait, jobs or not: kubectl annotate nodeset " +
                                          resource.metadata.name + " --namespace " + resource.metadata.namespace_ +
                                          " " + std::string(op::kAnnotationForceDelete) + "=true"
                                    : "whoever set that finalizer has to take it off; if that program is gone: kubectl "
                                      "patch --type=merge --patch='{\"metadata\":{\"finalizers\":null}}'"});
  }
  return findings;
}

// kubectl drain waits for workers that may run jobs; that is meant so, and looks like something that hangs.
Findings DrainWaits(const Cluster& cluster) {
  Findings findings;
  for (const Node& node : cluster.nodes.items) {
    if (!node.spec.unschedulable) continue;
    std::vector<std::string> pods;
    for (const op::Pod& pod : cluster.pods.items) {
      const bool protects = pod.metadata.Label(std::string(op::kLabelPodProtect)) == "true";
      if (IsWorker(pod) && protects && pod.spec.node_name == node.metadata.name) pods.push_back(pod.metadata.name);
    }
    if (pods.empty()) continue;
    findings.push_back(
        {.severity = Severity::kWarning,
         .object = "Node " + node.metadata.name,
         .what =
             "it is cordoned, and may not be emptied while jobs run: a PodDisruptionBudget protects " + Several(pods),
         .todo = "wait for their jobs (squeue -w NAME), or end those"});
  }
  return findings;
}

// --- Machines ----------------------------------------------------------------------------------------------------------

Findings CgroupV1(const Cluster& cluster) {
  std::map<std::string, std::vector<std::string>> old;  // nodes with workers, by Controller
  for (const op::Pod& pod : cluster.pods.items) {
    const auto version = cluster.cgroup_versions.find(pod.spec.node_name);
    if (!IsWorker(pod) || version == cluster.cgroup_versions.end() || version->second >= 2) continue;
    const std::string controller = pod.metadata.namespace_ + "/" + pod.metadata.Label(std::string(op::kLabelCluster));
    const auto conf = cluster.cgroup_confs.find(controller);
    if (conf == cluster.cgroup_confs.end()) continue;
    // slurmd finds the version by itself, and Slurm's cgroup/v1 cannot be used in a container of its own.
    if (ToLower(conf->second).contains("cgroupplugin=disabled")) continue;
    auto& nodes = old[controller];
    if (std::ranges::find(nodes, pod.spec.node_name) == nodes.end()) nodes.push_back(pod.spec.node_name);
  }
  Findings findings;
  for (const auto& [controller, nodes] : old) {
    findings.push_back({.object = "Controller " + controller,
                        .what = "the kubelets of " + Several(nodes) +
                                " use cgroup v1, and Slurm is to confine jobs by cgroups, which needs v2",
                        .todo = "boot these machines with cgroup v2; or give Slurm a cgroup.conf with "
                                "CgroupPlugin=disabled, as examples/demo/values.yaml does"});
  }
  return findings;
}

Findings ClockSkew(const Cluster& cluster) {
  if (!cluster.skew || std::chrono::abs(*cluster.skew) <= kMostSkew) return {};
  return {{.severity = Severity::kWarning,
           .object = "this machine",
           .what = "its clock is " + FormatDuration(std::chrono::abs(*cluster.skew)) +
                   (*cluster.skew > Duration(0) ? " ahead of" : " behind") + " that of the API server",
           .todo = "synchronise clocks (NTP): tokens and certificates are valid for a time, by each one's own clock"}};
}

Findings TokenEnds(const Cluster& cluster) {
  Findings findings;
  for (const CustomResource& resource : cluster.resources.items) {
    if (resource.kind != "Token" || !resource.status.issued_at) continue;
    const auto spec = json::ParseObject(resource.spec, "spec");
    if (!spec) continue;
    const std::string_view text = json::FindText(*spec, {"lifetime"});
    const Duration lifetime = text.empty() ? Duration(15min) : api::ParseGoDuration(text).value_or(Duration(0));
    const json::Value* refresh = json::Find(*spec, {"refresh"});
    const bool renewed = refresh == nullptr || !refresh->is_bool() || refresh->get_bool();
    const Duration left = Later(*resource.status.issued_at, lifetime) - cluster.now;
    if (left > (renewed ? Duration(0) : kTokenNotice)) continue;
    const bool over = left <= Duration(0);
    findings.push_back({.severity = over ? Severity::kError : Severity::kWarning,
                        .object = resource.ToString(),
                        .what = over ? "its token ended " + FormatDuration(-left) + " ago"
                                     : "its token ends in " + FormatDuration(left),
                        .todo = renewed ? "an operator renews it: see that one runs and can read the signing key"
                                        : "set spec.refresh, or delete its Secret to have it issued once more"});
  }
  return findings;
}

constexpr auto kCauses = std::to_array<Cause>({
    {"CrdsMissing", "Custom resource definitions are not installed.", &CrdsMissing},
    {"CrdsOutdated", "Custom resource definitions are older than this program.", &CrdsOutdated},
    {"OperatorMissing", "No operator is installed.", &OperatorMissing},
    {"OperatorNotReady", "The operator does not run, or is not ready.", &OperatorNotReady},
    {"LeaseStale", "The operator runs, and nobody leads.", &LeaseStale},
    {"TwoOperators", "Two operators look after one namespace.", &TwoOperators},
    {"NamespaceNotWatched", "Custom resources are where no operator looks.", &NamespaceNotWatched},
    {"KeyMissing", "A Secret that is named, or the key in it, is missing.", &KeyMissing},
    {"ClaimUnbound", "A volume claim has no volume.", &ClaimUnbound},
    {"NodeLost", "A pod cannot end, as its node is lost.", &NodeLost},
    {"DaemonFails", "slurmctld, slurmdbd, slurmrestd, a database or a login does not run.", &DaemonFails},
    {"DatabaseAway", "slurmdbd or its database is away.", &DatabaseAway},
    {"RestApiSilent", "slurmrestd does not answer.", &RestApiSilent},
    {"NodesUnread", "slurmctld has left nodes out of what its files say.", &NodesUnread},
    {"WorkersPending", "Workers find no Kubernetes node.", &WorkersPending},
    {"WorkersFail", "Workers' pods do not run.", &WorkersFail},
    {"WorkersUnknown", "Workers are ready, and Slurm has no record of them.", &WorkersUnknown},
    {"CgroupV1", "Machines have cgroup v1 where Slurm needs v2.", &CgroupV1},
    {"InvalidRegistration", "Workers registered with less than Slurm was told.", &InvalidRegistration},
    {"WorkersDown", "Slurm has nodes DOWN.", &WorkersDown},
    {"WorkersDrained", "Somebody drained nodes in Slurm.", &WorkersDrained},
    {"DeletionBlocked", "A deletion waits.", &DeletionBlocked},
    {"DrainWaits", "A Kubernetes node that is to be emptied is held by workers.", &DrainWaits},
    {"TokenEnds", "A token has ended, or ends soon.", &TokenEnds},
    {"ClockSkew", "This machine's clock and the API server's differ.", &ClockSkew},
    {"StoredVersions", "Objects may be stored in an old version.", &StoredVersions},
    {"FieldUnheeded", "A spec asks for what has no effect.", &FieldUnheeded},
    {"NeverDecided", "No operator has looked at a custom resource.", &NeverDecided},
    {"ConditionTold", "A custom resource says that something is wrong.", &ConditionTold},
});

}  // namespace

std::span<const Cause> Causes() { return kCauses; }

std::vector<Finding> Diagnose(const Cluster& cluster) {
  std::vector<Finding> all;
  std::set<std::string> explained;
  for (const Cause& cause : kCauses) {
    for (Finding& finding : cause.find(cluster)) {
      finding.cause = cause.name;
      const bool own_words = cause.find == &ConditionTold || cause.find == &NeverDecided;
      if (own_words && explained.contains(finding.object)) continue;
      if (finding.severity == Severity::kError) explained.insert(finding.object);
      all.push_back(std::move(finding));
    }
  }
  Findings sorted;
  for (const Severity severity : {Severity::kError, Severity::kWarning}) {
    for (Finding& finding : all) {
      if (finding.severity == severity) sorted.push_back(std::move(finding));
    }
  }
  return sorted;
}

}  // namespace capstan::doctor
