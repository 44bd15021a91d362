// Controller: one Slurm cluster, by its slurmctld. Other kinds name it with controllerRef.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

// Part of a core/v1 PersistentVolumeClaimSpec, with the two switches around it.
struct Persistence {
  std::optional<bool> enabled;
  std::string existing_claim;
  std::vector<std::string> access_modes;
  json::Raw data_source;                          // core/v1 TypedLocalObjectReference
  json::Raw data_source_ref;                      // core/v1 TypedObjectReference
  json::Raw resources;                            // core/v1 VolumeResourceRequirements
  json::Raw selector;                             // metav1.LabelSelector
  std::optional<std::string> storage_class_name;  // "" asks for no class, absent for the default one
  std::optional<std::string> volume_attributes_class_name;
  std::optional<std::string> volume_mode;
  std::string volume_name;

  bool operator==(const Persistence&) const = default;
  static const json::Schema& Schema();

  // The claim's spec as JSON: everything but the two switches.
  std::string ClaimSpec() const;
};

// More than that counts as that, in an object that is older than the maximum in its definition.
inline constexpr int32_t kMostBackups = 9;

struct HighAvailability {
  std::optional<bool> enabled;
  std::optional<int32_t> backups;

  bool operator==(const HighAvailability&) const = default;
  static const json::Schema& Schema();
};

struct MetricsEndpoint {
  std::string path;
  std::string interval;
  std::string scrape_timeout;

  bool operator==(const MetricsEndpoint&) const = default;
  static const json::Schema& Schema();
};

struct ServiceMonitor {
  std::optional<bool> enabled;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string interval;
  std::string scrape_timeout;
  std::vector<MetricsEndpoint> endpoints;

  bool operator==(const ServiceMonitor&) const = default;
  static const json::Schema& Schema();
};

struct Metrics {
  std::optional<bool> enabled;
  std::optional<ServiceMonitor> service_monitor;

  bool operator==(const Metrics&) const = default;
  static const json::Schema& Schema();
};

struct ControllerSpec {
  std::string cluster_name;
  std::optional<SecretKeySelector> slurm_key_ref;
  std::optional<SecretKeySelector> jwt_hs256_key_ref;
  std::optional<SecretKeySelector> jwt_key_ref;
  std::optional<ConfigMapKeySelector> jwks_key_ref;
  std::optional<LocalObjectReference> accounting_ref;
  std::optional<bool> external;
  std::optional<ExternalConfig> external_config;
  std::optional<HighAvailability> ha;
  json::Raw slurmctld, reconfigure, logfile;  // parts of core/v1 Containers
  std::optional<bool> inplace_reconfigure;
  PodTemplate pod_template;
  std::string extra_conf;
  std::vector<LocalObjectReference> config_file_refs;
  std::vector<LocalObjectReference> prolog_script_refs;
  std::vector<LocalObjectReference> epilog_script_refs;
  std::vector<LocalObjectReference> prolog_slurmctld_script_refs;
  std::vector<LocalObjectReference> epilog_slurmctld_script_refs;
  std::optional<Persistence> persistence;
  ServiceSpec service;
  std::optional<Metrics> metrics;

  bool operator==(const ControllerSpec&) const = default;
  static const json::Schema& Schema();

  // How many slurmctld run: 1 and the backups. REQUIRES: defaults are applied.
  int32_t Replicas() const;
};

struct ControllerStatus {
  Conditions conditions;

  bool operator==(const ControllerStatus&) const = default;
  static const json::Schema& Schema();
};

struct Controller {
  static constexpr kube::Resource kResource{kGroup, kVersion, "controllers", "Controller", true};

  json::ObjectMeta metadata;
  ControllerSpec spec;
  ControllerStatus status;

  bool operator==(const Controller&) const = default;
  static const json::Schema& Schema();

  // Slurm's ClusterName: spec.clusterName or "<namespace>_<name>".
  std::string ClusterName() const;
};

}  // namespace capstan::api
