// Which kind of object, which object, and where the API server keeps it.
//
//   ObjectPath(kPods, {"slurm", "w-0"}, "eviction")  ->  "/api/v1/namespaces/slurm/pods/w-0/eviction"
//
// Everything here is a value; nothing waits or fails.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace capstan::kube {

// A kind of object in one API version. The texts live as long as the program: Resources are constants. A service adds
// its own, in the struct of the kind: `static constexpr kube::Resource kResource{"web.example.com", "v1", ...};`
struct Resource {
  std::string_view group;    // "" for the core group
  std::string_view version;  // "v1"
  std::string_view plural;   // as in paths: "pods"
  std::string_view kind;     // as in objects: "Pod"
  bool namespaced;

  // What objects carry as apiVersion: "v1", "apps/v1".
  std::string ApiVersion() const;

  friend bool operator==(const Resource&, const Resource&) = default;
};

inline constexpr Resource kPods{"", "v1", "pods", "Pod", true};
inline constexpr Resource kServices{"", "v1", "services", "Service", true};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret", true};
inline constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
inline constexpr Resource kPersistentVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true};
inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kEvents{"events.k8s.io", "v1", "events", "Event", true};
inline constexpr Resource kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet", true};
inline constexpr Resource kDeployments{"apps", "v1", "deployments", "Deployment", true};
inline constexpr Resource kJobs{"batch", "v1", "jobs", "Job", true};
inline constexpr Resource kControllerRevisions{"apps", "v1", "controllerrevisions", "ControllerRevision", true};
inline constexpr Resource kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true};
inline constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
inline constexpr Resource kCustomResourceDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                                     "CustomResourceDefinition", false};

// Names one object among those of its kind. Ordered by namespace, then name. Two objects that lived one after
// the other under one name have the same Key and different UIDs.
struct Key {
  std::string ns;  // empty for kinds without namespaces
  std::string name;

  std::string ToString() const;  // "ns/name", or "name" without a namespace

  friend auto operator<=>(const Key&, const Key&) = default;
};

// The path of a collection; an empty `ns` of a namespaced kind means all namespaces. All path functions
// percent-encode what they are given.
std::string CollectionPath(const Resource& resource, std::string_view ns = {});

// The path of one object, or of one of its subresources ("status", "scale", "eviction", "binding", "log").
std::string ObjectPath(const Resource& resource, const Key& key, std::string_view subresource = {});

// Whether an object of most kinds can have this name (RFC 1123: lower case letters, digits, '-' and '.', at most 253).
bool IsDnsSubdomain(std::string_view text);

// The part of a request target behind "?", built pair by pair.
class Query {
 public:
  // Adds name=value; nothing when `value` is empty. `name` is plain text of ours and not encoded.
  Query& Add(std::string_view name, std::string_view value);
  Query& Add(std::string_view name, int64_t value);
  Query& AddIf(bool condition, std::string_view name, std::string_view value);

  // `path`, with "?a=b&c=d" behind it when there is anything.
  std::string On(std::string path) const;

 private:
  std::string text_;
};

}  // namespace capstan::kube

template <>
struct std::hash<capstan::kube::Key> {
  size_t operator()(const capstan::kube::Key& key) const noexcept {
    return std::hash<std::string>{}(key.ns) * 31 + std::hash<std::string>{}(key.name);
  }
};
