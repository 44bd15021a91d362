// What most kinds are made of: a StatefulSet or Deployment of one of Slurm's daemons, and Services that lead to it.
#pragma once

#include <string>
#include <vector>

#include "api/common.h"
#include "base/result.h"
#include "operator/names.h"
#include "operator/render/json.h"
#include "operator/render/merge.h"
#include "operator/render/metadata.h"
#include "plan/plan.h"

namespace capstan::op::render {

struct Workload {
  const kube::Resource& resource;  // kube::kStatefulSets or kube::kDeployments
  Owner owner;
  const Component& component;
  std::string name;
  int replicas = 1;
  const api::PodTemplate& user;  // laid over the pod; its labels and annotations stand on the workload, too
  JsonObject pod;                // our part of the pod's spec
  StringMap hashes;              // annotation to digest of what the pods depend on; empty ones are left out
  StringMap pod_labels = {};     // besides the component's
  JsonObject more = {};          // further members of the spec: serviceName, volumeClaimTemplates, strategy
};

// The object. kInvalid: the user's template cannot be merged.
Result<JsonObject> ObjectOf(Workload workload);
// The same as a child of a Plan.
Result<plan::Child> Render(Workload workload, std::string reason);

// Sets the workload's own annotation of the options for which its pods are started anew (operator/restarts.h).
void RememberOptions(JsonObject& workload, const std::string& digest);

// What a pod of the component carries: what it inherits, what the user gives, and ours over both.
Metadata PodMetadata(const json::ObjectMeta& owner, const Component& component, const api::Metadata& user);

struct ServiceWish {
  Owner owner;
  std::string name;
  Metadata inherited = {};  // gives way to the user's
  StringMap labels;         // over both
  std::vector<ServicePort> ports;
  StringMap selector;
  const api::ServiceSpec* user = nullptr;  // nullptr: nobody's but ours, a headless one that gives pods their names
  JsonObject more = {};                    // further members of the spec, where the user says nothing
};

// kInvalid: the user's spec cannot be merged.
Result<plan::Child> Render(ServiceWish service, std::string reason);

}  // namespace capstan::op::render
