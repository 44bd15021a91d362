// RestApi: slurmrestd, through which Capstan itself speaks to Slurm.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

struct RestApiSpec {
  LocalObjectReference controller_ref;
  std::optional<int32_t> replicas;
  json::Raw slurmrestd;  // part of a core/v1 Container
  PodTemplate pod_template;
  ServiceSpec service;

  bool operator==(const RestApiSpec&) const = default;
  static const json::Schema& Schema();
};

struct RestApiStatus {
  Conditions conditions;

  bool operator==(const RestApiStatus&) const = default;
  static const json::Schema& Schema();
};

struct RestApi {
  static constexpr kube::Resource kResource{kGroup, kVersion, "restapis", "RestApi", true};

  json::ObjectMeta metadata;
  RestApiSpec spec;
  RestApiStatus status;

  bool operator==(const RestApi&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
