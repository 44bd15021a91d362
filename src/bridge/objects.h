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
  bool operator==(const PodCondition&) const = default;
  static const json::Schema& Schema();
};

struct Pod {
  static constexpr const kube::Resource& kResource = kube::kPods;
  struct Spec {
    std::string node_name;  // "": not bound
    std::vector<SchedulingGate> scheduling_gates;
    json::Raw affinity, tolerations;
    std::vector<Container> init_containers, containers;
    Resources resources;  // of the pod as a whole
    std::map<std::string, std::string> overhead;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    std::string phase;  // Pending, Running, Succeeded, Failed, Unknown
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
  const PodCondition* Condition(std::string_view type) const;  // nullptr: not there

  bool operator==(const Pod&) const = default;
  static const json::Schema& Schema();
};

struct NodeCondition {
  std::string type, status;
  bool operator==(const NodeCondition&) const = default;
  static const json::Schema& Schema();
};

// A Kubernetes node. A kubelet's heartbeat changes nothing here.
struct Node {
  static constexpr const kube::Resource& kResource = kube::kNodes;
  struct Spec {
    bool unschedulable = false;  // cordoned
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

  bool IsReady() const;
  bool operator==(const Node&) const = default;
  static const json::Schema& Schema();
};

struct Namespace {
  static constexpr const kube::Resource& kResource = kube::kNamespaces;
  json::ObjectMeta metadata;
  bool operator==(const Namespace&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::bridge
