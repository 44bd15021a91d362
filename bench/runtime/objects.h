// What the reference program keeps of each kind: the fields that a program like slurm-operator or its bridge has a use
// for. Of Pods, Secrets and Nodes there are thousands, so their structs are small ones.
#pragma once

#include <optional>
#include <string>

#include "json/object_meta.h"
#include "json/text.h"
#include "json/types.h"
#include "kube/resource.h"

namespace capstan::bench {

inline constexpr kube::Resource kSources{"bench.example.com", "v1", "sources", "Source", true};

// Metadata without labels, owners and managedFields.
struct Metadata {
  json::SharedText namespace_;
  json::Text name;
  json::Text uid;
  uint64_t resource_version = 0;
  std::optional<Time> deletion_timestamp;

  friend bool operator==(const Metadata& a, const Metadata& b);
  static const json::Schema& Schema();
};

struct Pod {
  static constexpr const kube::Resource& kResource = kube::kPods;
  struct Spec {
    json::SharedText node_name;
    json::SharedText scheduler_name;
    int32_t priority = 0;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  struct Status {
    json::SharedText phase;
    json::SharedText host_ip;
    bool operator==(const Status&) const = default;
    static const json::Schema& Schema();
  };
  Metadata metadata;
  Spec spec;
  Status status;

  bool operator==(const Pod&) const = default;
  static const json::Schema& Schema();
};

// The bytes are not kept: their digest tells whether they changed.
struct Secret {
  static constexpr const kube::Resource& kResource = kube::kSecrets;
  Metadata metadata;
  json::SharedText type;
  json::Digest data;

  bool operator==(const Secret&) const = default;
  static const json::Schema& Schema();
};

struct Node {
  static constexpr const kube::Resource& kResource = kube::kNodes;
  struct Spec {
    bool unschedulable = false;
    json::Text provider_id;
    json::Digest taints;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  Metadata metadata;
  Spec spec;

  bool operator==(const Node&) const = default;
  static const json::Schema& Schema();
};

// What the program reconciles, and what it makes of it: whole metadata, since the engine writes them.
struct Source {
  static constexpr const kube::Resource& kResource = kSources;
  struct Spec {
    std::string text;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;

  bool operator==(const Source&) const = default;
  static const json::Schema& Schema();
};

struct ConfigMap {
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  json::ObjectMeta metadata;

  bool operator==(const ConfigMap&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::bench
