// What somebody can see of a cluster at one moment, with their own rights: what doctor judges.
//
// A list that could not be read is empty and has an error: nothing follows from its emptiness. Values; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/conditions.h"
#include "json/object_meta.h"
#include "json/types.h"
#include "json/value.h"
#include "kube/lease.h"
#include "kube/resource.h"
#include "operator/objects.h"
#include "slurm/snapshot.h"

namespace capstan::doctor {

template <class T>
struct Seen {
  std::vector<T> items;
  std::string error = "not looked at";  // why they are not known; "" when they are

  bool known() const { return error.empty(); }
};

// A custom resource, of any of our kinds.
struct CustomResource {
  struct Status {
    json::Conditions conditions;
    std::optional<Time> issued_at;  // of a Token
    static const json::Schema& Schema();
  };
  std::string kind;  // told by the list it was in
  json::ObjectMeta metadata;
  json::Raw spec;
  Status status;

  kube::Key key() const { return {metadata.namespace_, metadata.name}; }
  std::string ToString() const { return kind + " " + key().ToString(); }
  static const json::Schema& Schema();
};

struct Node {
  struct Taint {
    std::string key, effect;
    static const json::Schema& Schema();
  };
  struct Spec {
    bool unschedulable = false;
    std::vector<Taint> taints;
    static const json::Schema& Schema();
  };
  struct Status {
    std::vector<op::PodCondition> conditions;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  Status status;

  bool Ready() const;
  static const json::Schema& Schema();
};

struct Claim {
  struct Status {
    std::string phase;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Status status;
  static const json::Schema& Schema();
};

struct Event {
  struct Regarding {
    std::string kind, namespace_, name;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Regarding regarding;
  std::string type, reason, note;
  static const json::Schema& Schema();
};

// Finds the operator's Deployments, and their pods.
inline constexpr std::string_view kOperatorSelector = "app.kubernetes.io/name=slurm-operator";

struct OperatorDeployment {
  struct Container {
    std::string image;
    std::vector<std::string> args;
    static const json::Schema& Schema();
  };
  struct PodSpec {
    std::vector<Container> containers;
    static const json::Schema& Schema();
  };
  struct Template {
    PodSpec spec;
    static const json::Schema& Schema();
  };
  struct Spec {
    std::optional<int32_t> replicas;
    Template pod_template;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  op::WorkloadStatus status;

  // The value of "--flag=value"; "" when it is not given.
  std::string Flag(std::string_view flag) const;
  // It looks for custom resources there.
  bool Watches(std::string_view ns) const;
  static const json::Schema& Schema();
};

// What Slurm says, through slurmrestd.
struct SlurmSeen {
  kube::Key controller;
  std::vector<slurm::Node> nodes;
  std::string error;  // why they are not known
};

// A Secret that a custom resource names, and one key in it.
struct NamedSecret {
  std::string by;  // "Controller slurm/main"
  std::string field;
  kube::Key secret;
  std::string key;
  bool made_when_missing = false;  // the operator makes it
  enum class State : uint8_t { kUnknown, kThere, kNoSecret, kNoKey } state = State::kUnknown;
};

// How a RestApi answered when it was asked.
struct RestApiSeen {
  kube::Key rest_api;
  bool answers = false;
  std::string error;
};

struct Cluster {
  Time now{};                      // by the API server's clock, where it is known
  std::optional<Duration> skew;    // of this machine's clock: positive when it is ahead
  std::vector<std::string> scope;  // namespaces that were looked at; empty: all
  Seen<json::Value> definitions;   // CustomResourceDefinitions of our group
  Seen<CustomResource> resources;  // of all our kinds
  Seen<op::Pod> pods;              // of Slurm
  Seen<op::Pod> operator_pods;
  Seen<OperatorDeployment> operators;
  Seen<kube::LeaseRecord> leases;  // called as the operator's
  Seen<Node> nodes;
  Seen<Claim> claims;
  Seen<Event> events;  // warnings
  std::vector<NamedSecret> secrets;
  std::vector<RestApiSeen> rest_apis;
  std::vector<SlurmSeen> slurm;
  std::map<std::string, int> cgroup_versions;       // by Kubernetes node, where its kubelet told
  std::map<std::string, std::string> cgroup_confs;  // what was published, by "ns/controller"
  std::map<std::string, std::string> last_lines;    // what a container said before it ended, by "ns/pod/container"
  std::vector<std::string> not_seen;                // a sentence each: what could not be looked at, and what that needs

  const CustomResource* Find(std::string_view kind, const kube::Key& key) const;
  const Node* FindNode(std::string_view name) const;
};

}  // namespace capstan::doctor
