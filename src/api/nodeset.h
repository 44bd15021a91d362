// NodeSet: a set of alike workers, each a pod with slurmd that registers as a dynamic Slurm node.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

inline constexpr std::string_view kScalingStatefulSet = "StatefulSet";
inline constexpr std::string_view kScalingDaemonSet = "DaemonSet";
inline constexpr std::string_view kUpdateRolling = "RollingUpdate";
inline constexpr std::string_view kUpdateOnDelete = "OnDelete";
inline constexpr std::string_view kUpdateScheduled = "ScheduledUpdate";
inline constexpr std::string_view kRetain = "Retain";
inline constexpr std::string_view kDelete = "Delete";
inline constexpr std::string_view kPruneNever = "Never";
inline constexpr std::string_view kPruneNodeNotFound = "NodeNotFound";

struct NodeSetSsh {
  std::optional<bool> enabled;
  std::string extra_sshd_config;
  SecretKeySelector sssd_conf_ref;

  bool operator==(const NodeSetSsh&) const = default;
  static const json::Schema& Schema();
};

// PodTemplate, whose spec.hostname is checked: it begins the Slurm node names.
struct WorkerTemplate {
  Metadata metadata;
  json::Raw spec;  // part of a core/v1 PodSpec

  bool operator==(const WorkerTemplate&) const = default;
  static const json::Schema& Schema();
};

struct NodeSetPartition {
  std::optional<bool> enabled;
  std::string config;

  bool operator==(const NodeSetPartition&) const = default;
  static const json::Schema& Schema();
};

struct NodeSetRollingUpdate {
  std::optional<json::IntOrString> max_unavailable;

  bool operator==(const NodeSetRollingUpdate&) const = default;
  static const json::Schema& Schema();
};

struct ScheduledUpdate {
  std::optional<Time> start_time;
  std::optional<std::string> duration;
  std::vector<std::string> flags;

  bool operator==(const ScheduledUpdate&) const = default;
  static const json::Schema& Schema();
};

struct NodeSetUpdateStrategy {
  std::optional<std::string> type;
  std::optional<NodeSetRollingUpdate> rolling_update;
  std::optional<ScheduledUpdate> scheduled_update;

  bool operator==(const NodeSetUpdateStrategy&) const = default;
  static const json::Schema& Schema();
};

struct ClaimRetentionPolicy {
  std::optional<std::string> when_deleted;
  std::optional<std::string> when_scaled;

  bool operator==(const ClaimRetentionPolicy&) const = default;
  static const json::Schema& Schema();
};

// More than that counts as that, in an object that is older than the maximum in its definition.
inline constexpr int32_t kMostWorkers = 65'000;
inline constexpr int32_t kMostOrdinalDigits = 9;

struct NodeSetSpec {
  LocalObjectReference controller_ref;
  std::optional<int32_t> replicas;
  std::optional<std::string> scaling_mode;
  json::Raw slurmd, logfile;  // parts of core/v1 Containers
  std::optional<NodeSetSsh> ssh;
  WorkerTemplate pod_template;
  std::string extra_conf;
  std::optional<NodeSetPartition> partition;
  json::Raw volume_claim_templates;  // list of core/v1 PersistentVolumeClaims
  std::optional<NodeSetUpdateStrategy> update_strategy;
  std::optional<int32_t> revision_history_limit;
  std::optional<ClaimRetentionPolicy> claim_retention;
  int32_t min_ready_seconds = 0;
  std::optional<int32_t> ordinal_padding;
  std::optional<bool> pin_to_node;
  std::optional<bool> workload_disruption_protection;
  std::optional<std::string> prune_slurm_node_records;
  std::optional<bool> oversubscribe_node;

  bool IsDaemonSet() const { return scaling_mode == kScalingDaemonSet; }

  bool operator==(const NodeSetSpec&) const = default;
  static const json::Schema& Schema();
};

struct NodeSetStatus {
  int32_t replicas = 0;
  int32_t updated_replicas = 0;
  int32_t ready_replicas = 0;
  int32_t available_replicas = 0;
  int32_t unavailable_replicas = 0;
  int32_t desired = 0;
  int32_t slurm_idle = 0;
  int32_t slurm_allocated = 0;
  int32_t slurm_down = 0;
  int32_t slurm_drain = 0;
  int64_t observed_generation = 0;
  std::string node_set_hash;
  std::optional<int32_t> collision_count;
  Conditions conditions;
  std::map<std::string, std::string> ordinal_to_node;
  std::string selector;

  bool operator==(const NodeSetStatus&) const = default;
  static const json::Schema& Schema();
};

struct NodeSet {
  static constexpr kube::Resource kResource{kGroup, kVersion, "nodesets", "NodeSet", true};

  json::ObjectMeta metadata;
  NodeSetSpec spec;
  NodeSetStatus status;

  bool operator==(const NodeSet&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
