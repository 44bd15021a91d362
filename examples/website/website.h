// The kind Website: a page, and how many servers show it. And the kinds that a Website turns into, each reduced to what
// is read of it: everything else is skipped while decoding and never held.
#pragma once

#include <optional>
#include <string>

#include "json/conditions.h"
#include "json/crd.h"
#include "json/object_meta.h"
#include "kube/resource.h"

namespace website {

namespace json = capstan::json;
namespace kube = capstan::kube;

// --- Website ---------------------------------------------------------------------------------------------------------

struct WebsiteSpec {
  std::string html;
  std::optional<int32_t> replicas;  // 0 is a number like any other; absent is what the table says
  std::optional<int32_t> port;      // absent: there is no Service
  std::string footer_from;          // a ConfigMap of the user's; "": no footer

  bool operator==(const WebsiteSpec&) const = default;
  static const json::Schema& Schema();
};

struct WebsiteStatus {
  int64_t observed_generation = 0;
  int32_t ready_replicas = 0;
  std::string page;
  json::Conditions conditions;

  bool operator==(const WebsiteStatus&) const = default;
  static const json::Schema& Schema();
};

struct Website {
  static constexpr kube::Resource kResource{"web.example.com", "v1", "websites", "Website", true};

  json::ObjectMeta metadata;
  WebsiteSpec spec;
  WebsiteStatus status;

  bool operator==(const Website&) const = default;
  static const json::Schema& Schema();
};

// From which `website-operator crds` prints the CustomResourceDefinition.
json::CustomResource Definition();

// --- Its children ----------------------------------------------------------------------------------------------------

struct ConfigMap {
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  json::ObjectMeta metadata;
  bool operator==(const ConfigMap&) const = default;
  static const json::Schema& Schema();
};

struct Service {
  static constexpr const kube::Resource& kResource = kube::kServices;
  json::ObjectMeta metadata;
  bool operator==(const Service&) const = default;
  static const json::Schema& Schema();
};

struct DeploymentStatus {
  int64_t observed_generation = 0;
  int32_t ready_replicas = 0;
  bool operator==(const DeploymentStatus&) const = default;
  static const json::Schema& Schema();
};
struct Deployment {
  static constexpr const kube::Resource& kResource = kube::kDeployments;
  json::ObjectMeta metadata;
  DeploymentStatus status;
  bool operator==(const Deployment&) const = default;
  static const json::Schema& Schema();
};

}  // namespace website
