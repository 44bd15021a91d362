// LoginSet: hosts that users log in to by SSH, with Slurm's commands and sackd.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

struct RollingDeployment {
  std::optional<json::IntOrString> max_surge;
  std::optional<json::IntOrString> max_unavailable;

  bool operator==(const RollingDeployment&) const = default;
  static const json::Schema& Schema();
};

struct DeploymentStrategy {
  std::string type;
  std::optional<RollingDeployment> rolling_update;

  bool operator==(const DeploymentStrategy&) const = default;
  static const json::Schema& Schema();
};

struct LoginSetSpec {
  LocalObjectReference controller_ref;
  std::optional<int32_t> replicas;
  json::Raw login, initconf;  // parts of core/v1 Containers
  PodTemplate pod_template;
  std::string root_ssh_authorized_keys;
  std::string extra_sshd_config;
  SecretKeySelector sssd_conf_ref;
  std::optional<DeploymentStrategy> strategy;
  ServiceSpec service;

  bool operator==(const LoginSetSpec&) const = default;
  static const json::Schema& Schema();
};

struct LoginSetStatus {
  int32_t replicas = 0;
  std::string selector;
  Conditions conditions;

  bool operator==(const LoginSetStatus&) const = default;
  static const json::Schema& Schema();
};

struct LoginSet {
  static constexpr kube::Resource kResource{kGroup, kVersion, "loginsets", "LoginSet", true};

  json::ObjectMeta metadata;
  LoginSetSpec spec;
  LoginSetStatus status;

  bool operator==(const LoginSet&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
