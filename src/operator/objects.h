// The Kubernetes kinds that the operator watches, each reduced to the fields in use. Everything else of an object is
// skipped while decoding and never held.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/object_meta.h"
#include "kube/resource.h"

namespace capstan::op {

struct PodCondition {
  std::string type;    // "Ready", "PodScheduled"
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::optional<Time> last_transition_time;
  bool operator==(const PodCondition&) const = default;
  static const json::Schema& Schema();
};

// Why a container is not running, when it is not.
struct ContainerWaiting {
  std::string reason;  // "ImagePullBackOff", "CrashLoopBackOff"
  std::string message;
  bool operator==(const ContainerWaiting&) const = default;
  static const json::Schema& Schema();
};
// How a container ended.
struct ContainerTerminated {
  std::string message;  // what it said, where its pod asks for that (terminationMessagePolicy)
  int32_t exit_code = 0;
  bool operator==(const ContainerTerminated&) const = default;
  static const json::Schema& Schema();
};
struct ContainerState {
  std::optional<ContainerWaiting> waiting;
  std::optional<ContainerTerminated> terminated;
  bool operator==(const ContainerState&) const = default;
  static const json::Schema& Schema();
};
struct ContainerStatus {
  std::string name;
  std::string container_id;  // of the last one that was made; "" before the first
  int32_t restart_count = 0;
  ContainerState state;
  ContainerState last_state;  // before its last restart
  bool operator==(const ContainerStatus&) const = default;
  static const json::Schema& Schema();
};

struct Pod {
  static constexpr const kube::Resource& kResource = kube::kPods;
  struct Spec {
    std::string node_name;
    std::string hostname;
    bool host_network = false;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    std::string phase;  // Pending, Running, Succeeded, Failed, Unknown; "" before the kubelet spoke
    std::string pod_ip;
    std::vector<PodCondition> conditions;
    std::vector<ContainerStatus> init_container_statuses;
    std::vector<ContainerStatus> container_statuses;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;

  const PodCondition* Condition(std::string_view type) const;  // nullptr: not there
  bool Ready() const;                                          // the Ready condition is True
  bool Ended() const;                                          // no container of it runs, and none will again

  bool operator==(const Pod&) const = default;
  static const json::Schema& Schema();
};

struct Taint {
  std::string key, value;
  std::string effect;  // "NoSchedule", "PreferNoSchedule", "NoExecute"
  bool operator==(const Taint&) const = default;
  static const json::Schema& Schema();
};

struct NodeCondition {
  std::string type;    // "Ready", "MemoryPressure", or somebody's own
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  bool operator==(const NodeCondition&) const = default;
  static const json::Schema& Schema();
};
// A Kubernetes node. A kubelet's heartbeat changes nothing here, and wakes nobody.
struct Node {
  static constexpr const kube::Resource& kResource = kube::kNodes;
  struct Spec {
    bool unschedulable = false;  // cordoned
    std::vector<Taint> taints;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    std::vector<NodeCondition> conditions;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;
  bool operator==(const Node&) const = default;
  static const json::Schema& Schema();
};

// A StatefulSet or a Deployment, as far as its owner reports on it.
struct WorkloadCondition {
  std::string type, status, reason, message;
  bool operator==(const WorkloadCondition&) const = default;
  static const json::Schema& Schema();
};
struct WorkloadStatus {
  int64_t observed_generation = 0;
  int32_t replicas = 0;
  int32_t ready_replicas = 0;
  int32_t updated_replicas = 0;
  std::string update_revision;  // of a StatefulSet: the label controller-revision-hash of pods of its template
  std::vector<WorkloadCondition> conditions;
  bool operator==(const WorkloadStatus&) const = default;
  static const json::Schema& Schema();
};
struct PodTemplateMeta {
  std::map<std::string, std::string> labels, annotations;
  bool operator==(const PodTemplateMeta&) const = default;
  static const json::Schema& Schema();
};
struct ContainerImage {
  std::string name;
  std::string image;
  bool operator==(const ContainerImage&) const = default;
  static const json::Schema& Schema();
};
struct PodTemplateSpec {
  std::vector<ContainerImage> init_containers, containers;
  bool operator==(const PodTemplateSpec&) const = default;
  static const json::Schema& Schema();
};
struct WorkloadTemplate {
  PodTemplateMeta metadata;
  PodTemplateSpec spec;
  bool operator==(const WorkloadTemplate&) const = default;
  static const json::Schema& Schema();
};
struct LabelSelector {
  std::map<std::string, std::string> match_labels;
  bool operator==(const LabelSelector&) const = default;
  static const json::Schema& Schema();
};
// Also what Kubernetes lets nobody change, as the server has it.
struct StatefulSetSpec {
  std::string service_name;
  std::string pod_management_policy;
  LabelSelector selector;
  json::Raw claim_templates;
  WorkloadTemplate pod_template;
  bool operator==(const StatefulSetSpec&) const = default;
  static const json::Schema& Schema();
};
struct StatefulSet {
  static constexpr const kube::Resource& kResource = kube::kStatefulSets;
  json::ObjectMeta metadata;
  StatefulSetSpec spec;
  WorkloadStatus status;
  bool operator==(const StatefulSet&) const = default;
  static const json::Schema& Schema();
};
struct DeploymentSpec {
  WorkloadTemplate pod_template;
  bool operator==(const DeploymentSpec&) const = default;
  static const json::Schema& Schema();
};
struct Deployment {
  static constexpr const kube::Resource& kResource = kube::kDeployments;
  json::ObjectMeta metadata;
  DeploymentSpec spec;
  WorkloadStatus status;
  bool operator==(const Deployment&) const = default;
  static const json::Schema& Schema();
};

// Where it leads. All else of what we apply is kept by the memo.
struct Service {
  static constexpr const kube::Resource& kResource = kube::kServices;
  struct Spec {
    std::string type;
    std::map<std::string, std::string> selector;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  bool operator==(const Service&) const = default;
  static const json::Schema& Schema();
};
// Of a cluster's configuration also what it says, so that a text that was published can be kept when its successor is
// refused.
struct PublishedConfig {
  std::string slurm_conf;
  std::string cgroup_conf;
  std::string topology_yaml;  // of topology by labels (topology.h); "": none
  bool operator==(const PublishedConfig&) const = default;
  static const json::Schema& Schema();
};
struct ConfigMap {
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  json::ObjectMeta metadata;
  PublishedConfig data;
  bool operator==(const ConfigMap&) const = default;
  static const json::Schema& Schema();
};
// Of what the pods of a revision are made from only what running pods can follow.
struct RevisionData {
  struct Spec {
    std::string extra_conf;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  Spec spec;
  bool operator==(const RevisionData&) const = default;
  static const json::Schema& Schema();
};
struct ControllerRevision {
  static constexpr const kube::Resource& kResource = kube::kControllerRevisions;
  json::ObjectMeta metadata;
  RevisionData data;
  int64_t revision = 0;
  bool operator==(const ControllerRevision&) const = default;
  static const json::Schema& Schema();
};
// Of the Prometheus operator; where it is not installed, nobody asks for one.
inline constexpr kube::Resource kServiceMonitors{"monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor",
                                                 true};
struct ServiceMonitor {
  static constexpr const kube::Resource& kResource = kServiceMonitors;
  json::ObjectMeta metadata;
  bool operator==(const ServiceMonitor&) const = default;
  static const json::Schema& Schema();
};
struct JobStatus {
  std::vector<WorkloadCondition> conditions;  // "Complete", "Failed"
  bool operator==(const JobStatus&) const = default;
  static const json::Schema& Schema();
};
struct Job {
  static constexpr const kube::Resource& kResource = kube::kJobs;
  json::ObjectMeta metadata;
  JobStatus status;

  bool Is(std::string_view condition) const;                // that condition is True
  std::string MessageOf(std::string_view condition) const;  // ""

  bool operator==(const Job&) const = default;
  static const json::Schema& Schema();
};
struct PodDisruptionBudget {
  static constexpr const kube::Resource& kResource = kube::kPodDisruptionBudgets;
  json::ObjectMeta metadata;
  bool operator==(const PodDisruptionBudget&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::op
