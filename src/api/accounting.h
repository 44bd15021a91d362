// Accounting: slurmdbd in front of a database that somebody else runs.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

struct StorageConfig {
  std::string host;
  std::optional<int32_t> port;
  std::optional<std::string> database;
  std::string username;
  SecretKeySelector password_key_ref;

  bool operator==(const StorageConfig&) const = default;
  static const json::Schema& Schema();
};

struct AccountingSpec {
  std::optional<SecretKeySelector> slurm_key_ref;
  std::optional<SecretKeySelector> jwt_hs256_key_ref;
  std::optional<SecretKeySelector> jwt_key_ref;
  std::optional<ConfigMapKeySelector> jwks_key_ref;
  std::optional<bool> external;
  std::optional<ExternalConfig> external_config;
  json::Raw slurmdbd;  // part of a core/v1 Container
  PodTemplate pod_template;
  std::optional<StorageConfig> storage_config;
  std::string extra_conf;
  ServiceSpec service;

  bool operator==(const AccountingSpec&) const = default;
  static const json::Schema& Schema();
};

struct AccountingStatus {
  Conditions conditions;

  bool operator==(const AccountingStatus&) const = default;
  static const json::Schema& Schema();
};

struct Accounting {
  static constexpr kube::Resource kResource{kGroup, kVersion, "accountings", "Accounting", true};

  json::ObjectMeta metadata;
  AccountingSpec spec;
  AccountingStatus status;

  bool operator==(const Accounting&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
