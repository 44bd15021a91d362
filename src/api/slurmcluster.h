// SlurmCluster: a whole Slurm cluster as one object. The operator makes the other kinds of it, which stay usable alone.
//
// Members called `spec` are parts of the spec of the kind that is made: they are laid over what the SlurmCluster says, by the
// rules of templates.
#pragma once

#include "api/accounting.h"
#include "api/common.h"
#include "api/conditions.h"
#include "api/sharedroot.h"
#include "kube/resource.h"

namespace capstan::api {

inline constexpr std::string_view kModeRun = "Run";
inline constexpr std::string_view kModeMaintenance = "Maintenance";
inline constexpr std::string_view kModeStopped = "Stopped";
inline constexpr std::string_view kDeleteNow = "Now";
inline constexpr std::string_view kDeleteDrained = "Drain";

struct ClusterImages {
  std::string prefix;   // "registry.example.org/hpc"
  std::string version;  // "26.05"
  std::vector<LocalObjectReference> pull_secrets;

  bool operator==(const ClusterImages&) const = default;
  static const json::Schema& Schema();
};

// Where pods may run, by a name that parts refer to.
struct ClusterPlacement {
  std::string name;
  std::map<std::string, std::string> node_selector;
  json::Raw tolerations;  // list of core/v1 Tolerations
  json::Raw affinity;     // core/v1 Affinity

  bool operator==(const ClusterPlacement&) const = default;
  static const json::Schema& Schema();
};

struct ClusterConfig {
  std::map<std::string, json::Raw> slurm_conf;  // text, number, true or false, or a list of these, by option
  std::string extra_conf;
  std::map<std::string, std::string> files, prolog, epilog, prolog_slurmctld, epilog_slurmctld;  // texts by file name

  bool operator==(const ClusterConfig&) const = default;
  static const json::Schema& Schema();
};

struct ClusterPartition {
  std::string name;
  std::vector<std::string> node_sets;  // by name; empty: all nodes
  std::string config;

  bool operator==(const ClusterPartition&) const = default;
  static const json::Schema& Schema();
};

struct ClusterController {
  std::string placement;
  json::Raw spec;  // part of a ControllerSpec

  bool operator==(const ClusterController&) const = default;
  static const json::Schema& Schema();
};

struct ClusterRestApi {
  std::optional<int32_t> replicas;
  std::string placement;
  json::Raw spec;  // part of a RestApiSpec

  bool operator==(const ClusterRestApi&) const = default;
  static const json::Schema& Schema();
};

struct EmbeddedDatabase {
  std::string size;  // of its claim: "20Gi"

  bool operator==(const EmbeddedDatabase&) const = default;
  static const json::Schema& Schema();
};

// One of the two.
struct ClusterDatabase {
  std::optional<EmbeddedDatabase> embedded;
  std::optional<StorageConfig> external;

  bool operator==(const ClusterDatabase&) const = default;
  static const json::Schema& Schema();
};

struct ClusterAccounting {
  ClusterDatabase database;
  std::string placement;
  json::Raw spec;  // part of an AccountingSpec

  bool operator==(const ClusterAccounting&) const = default;
  static const json::Schema& Schema();
};

struct ClusterService {
  std::string type;
  std::optional<int32_t> port, node_port;
  std::vector<std::string> load_balancer_source_ranges;
  std::map<std::string, std::string> annotations;

  bool operator==(const ClusterService&) const = default;
  static const json::Schema& Schema();
};

struct ClusterLogin {
  std::optional<int32_t> replicas;
  std::string authorized_keys;
  SecretKeySelector sssd_conf_ref;  // without a name: nobody but root logs in
  ClusterService service;
  std::string drain_cap;  // Go duration
  std::string placement;
  json::Raw spec;  // part of a LoginSetSpec

  bool operator==(const ClusterLogin&) const = default;
  static const json::Schema& Schema();
};

struct ClusterNodeSetPartition {
  std::string config;

  bool operator==(const ClusterNodeSetPartition&) const = default;
  static const json::Schema& Schema();
};

// Which of its Slurm nodes have a worker.
struct ClusterPower {
  std::string mode;  // "Always", "OnDemand"
  std::string idle;  // Go duration

  bool operator==(const ClusterPower&) const = default;
  static const json::Schema& Schema();
};

struct ClusterNodeSet {
  std::string name;
  std::optional<int32_t> replicas;  // absent: kubectl scale or an autoscaler decides
  std::string placement;
  std::map<std::string, json::IntOrString> resources;
  std::vector<std::string> features;
  std::string gres;
  std::optional<ClusterNodeSetPartition> partition;
  std::optional<ClusterPower> power;
  std::optional<bool> shared_root;  // false: its jobs have the image's root
  json::Raw spec;                   // part of a NodeSetSpec

  bool operator==(const ClusterNodeSet&) const = default;
  static const json::Schema& Schema();
};

// A tree of switches.
struct ClusterTopology {
  std::vector<std::string> labels;  // of Kubernetes nodes, from root to leaf

  bool operator==(const ClusterTopology&) const = default;
  static const json::Schema& Schema();
};

struct SlurmClusterSpec {
  std::optional<std::string> mode, deletion_policy;
  std::optional<bool> paused;
  std::string cluster_name;
  ClusterImages images;
  std::vector<ClusterPlacement> placements;
  ClusterConfig config;
  std::vector<ClusterPartition> partitions;
  ClusterController controller;
  ClusterRestApi rest_api;
  std::optional<ClusterAccounting> accounting;
  std::optional<ClusterLogin> login;
  std::vector<ClusterNodeSet> node_sets;
  std::optional<SharedRootSpec> shared_root;
  std::optional<ClusterTopology> topology;

  bool operator==(const SlurmClusterSpec&) const = default;
  static const json::Schema& Schema();
};

// An object that the SlurmCluster is made of.
struct ClusterPart {
  std::string kind, name;
  bool ready = false;
  std::string message;  // what it says of itself

  bool operator==(const ClusterPart&) const = default;
  static const json::Schema& Schema();
};

// Of all its NodeSets.
struct ClusterNodes {
  int32_t desired = 0, ready = 0, idle = 0, allocated = 0, drained = 0, down = 0;

  bool operator==(const ClusterNodes&) const = default;
  static const json::Schema& Schema();
};

struct ClusterLogins {
  int32_t desired = 0, ready = 0;

  bool operator==(const ClusterLogins&) const = default;
  static const json::Schema& Schema();
};

struct ClusterRoot {
  std::string generation;  // that new sessions and steps have

  bool operator==(const ClusterRoot&) const = default;
  static const json::Schema& Schema();
};

struct ClusterEndpoints {
  std::string ssh, rest;  // "main-login.slurm:22", "http://main-restapi.slurm.svc.cluster.local.:6820"

  bool operator==(const ClusterEndpoints&) const = default;
  static const json::Schema& Schema();
};

struct SlurmClusterStatus {
  std::string phase;
  int64_t observed_generation = 0;
  Conditions conditions;
  std::vector<ClusterPart> parts;
  ClusterNodes nodes;
  ClusterLogins logins;
  ClusterRoot shared_root;
  ClusterEndpoints endpoints;

  bool operator==(const SlurmClusterStatus&) const = default;
  static const json::Schema& Schema();
};

struct SlurmCluster {
  static constexpr kube::Resource kResource{kOwnGroup, kOwnVersion, "slurmclusters", "SlurmCluster", true};

  json::ObjectMeta metadata;
  SlurmClusterSpec spec;
  SlurmClusterStatus status;

  bool operator==(const SlurmCluster&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
