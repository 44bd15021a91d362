// The Kubernetes kinds that the bridge watches, each reduced to the fields in use.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "json/object_meta.h"
#include "json/types.h"
#include "kube/resource.h"

namespace capstan::bridge {

// Quantities as they are written: "500m", "1Gi".
struct Resources {
  std::map<std::string, std::string> requests, limits;
  bool operator==(const Resources&) const = default;
  static const json::Schema& Schema();
};

struct Container {
  Resources resources;
  std::string restart_policy;  // of an init container: "Always" makes a sidecar of it
  bool operator==(const Container&) const = default;
  static const json::Schema& Schema();
};

struct SchedulingGate {
  std::string name;
  bool operator==(const SchedulingGate&) const = default;
  static const json::Schema& Schema();
};

struct PodCondition {
  std::string type, status, reason, message;
  std::optional<Time> last_transition = {};  // of the status
  bool operator==(const PodCondition&) const = default;
  static const json::Schema& Schema();
};

struct Pod {
  static constexpr const kube::Resource& kResource = kube::kPods;
  struct Spec {
    std::string node_name;  // "": not bound
    std::string scheduler_name;
    std::vector<SchedulingGate> scheduling_gates;
    std::map<std::string, std::string> node_selector;
    json::Raw affinity, tolerations;
    std::vector<Container> init_containers, containers;
    Resources resources;  // of the pod as a whole
    std::map<std::string, std::string> overhead;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    std::string phase;               // Pending, Running, Succeeded, Failed, Unknown
    std::optional<Time> start_time;  // when its kubelet first saw it
    std::vector<PodCondition> conditions;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;

  kube::Key key() const { return {metadata.namespace_, metadata.name}; }
  bool HasEnded() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
  bool IsBound() const { return !spec.node_name.empty(); }
  bool HasGate(std::string_view name) const;
  // It has been let go: our gate is away, and nobody but its scheduler keeps it from running. One that was made for Slinky's
  // slurm-bridge (`scheduler_name`: Settings') has no scheduler any more, and is let go once it is on a node.
  bool IsReleased(std::string_view scheduler_name) const;
  const PodCondition* Condition(std::string_view type) const;  // nullptr: not there

  bool operator==(const Pod&) const = default;
  static const json::Schema& Schema();
};

struct NodeCondition {
  std::string type, status, reason = {}, message = {};
  bool operator==(const NodeCondition&) const = default;
  static const json::Schema& Schema();
};

struct NodeAddress {
  std::string type, address;
  bool operator==(const NodeAddress&) const = default;
  static const json::Schema& Schema();
};

// A Kubernetes node. A kubelet's heartbeat changes nothing here.
struct Node {
  static constexpr const kube::Resource& kResource = kube::kNodes;
  struct Spec {
    bool unschedulable = false;  // cordoned
    json::Raw taints;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    std::vector<NodeCondition> conditions;
    std::map<std::string, std::string> allocatable;  // quantities
    std::vector<NodeAddress> addresses;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;

  bool IsReady() const;
  bool TakesWork() const { return IsReady() && !spec.unschedulable && !metadata.deleting(); }
  bool IsExternal() const;                                      // Slurm is to know it (kExternalNode)
  const std::string& SlurmName() const;                         // as its label says, or its own
  std::string InternalAddress() const;                          // "": none is known
  const NodeCondition* Condition(std::string_view type) const;  // nullptr: not there
  bool operator==(const Node&) const = default;
  static const json::Schema& Schema();
};

// batch/v1, as far as its pods are a gang and its annotations are theirs.
struct Job {
  static constexpr kube::Resource kResource{"batch", "v1", "jobs", "Job", true};
  struct Spec {
    std::optional<int64_t> parallelism, completions, active_deadline_seconds;
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

  // It makes no more pods.
  bool HasFinished() const;
  bool operator==(const Job&) const = default;
  static const json::Schema& Schema();
};

// Of scheduler-plugins.
struct PodGroup {
  static constexpr kube::Resource kResource{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", true};
  struct Spec {
    std::optional<int64_t> min_member;
    std::map<std::string, std::string> min_resources;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  bool operator==(const PodGroup&) const = default;
  static const json::Schema& Schema();
};

struct LeaderWorkerSet {
  static constexpr kube::Resource kResource{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet",
                                            true};
  struct Template {
    std::optional<int64_t> size;  // pods of one replica, the leader among them
    bool operator==(const Template&) const = default;
    static const json::Schema& Schema();
  };
  struct Spec {
    Template leader_worker_template;
    std::string startup_policy;  // "LeaderReady": the workers are made once the leader is ready
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  bool operator==(const LeaderWorkerSet&) const = default;
  static const json::Schema& Schema();
};

struct JobSet {
  static constexpr kube::Resource kResource{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};
  struct PodTemplate {
    json::ObjectMeta metadata;
    bool operator==(const PodTemplate&) const = default;
    static const json::Schema& Schema();
  };
  struct JobSpec {
    std::optional<int64_t> parallelism, completions, active_deadline_seconds;
    PodTemplate pod_template;
    bool operator==(const JobSpec&) const = default;
    static const json::Schema& Schema();
  };
  struct Template {
    json::ObjectMeta metadata;
    JobSpec spec;
    bool operator==(const Template&) const = default;
    static const json::Schema& Schema();
  };
  struct DependsOn {
    std::string name;
    bool operator==(const DependsOn&) const = default;
    static const json::Schema& Schema();
  };
  struct ReplicatedJob {
    std::string name;
    std::optional<int64_t> replicas;  // Jobs that are made of the template; 1
    Template job_template;
    std::vector<DependsOn> depends_on;  // others of the JobSet, before which it is not made
    bool operator==(const ReplicatedJob&) const = default;
    static const json::Schema& Schema();
  };
  struct StartupPolicy {
    std::string startup_policy_order;  // "InOrder": each is made once those before it are ready
    bool operator==(const StartupPolicy&) const = default;
    static const json::Schema& Schema();
  };
  struct Spec {
    std::vector<ReplicatedJob> replicated_jobs;
    StartupPolicy startup_policy;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Job::Status status;

  // It makes no more Jobs.
  bool HasFinished() const;
  bool operator==(const JobSet&) const = default;
  static const json::Schema& Schema();
};

struct Namespace {
  static constexpr const kube::Resource& kResource = kube::kNamespaces;
  json::ObjectMeta metadata;
  bool operator==(const Namespace&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::bridge
