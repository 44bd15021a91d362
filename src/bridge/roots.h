// What stands above a pod: the annotations of the controllers that made it.
#pragma once

#include <map>
#include <string>

#include "json/object_meta.h"
#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::bridge {

inline constexpr kube::Resource kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet", true};

// Of the highest controller that can be read, from `owner` up through Deployments, ReplicaSets and StatefulSets: those of its
// annotations that are about jobs. A controller that is gone ends the way up; any error is no answer.
class RootAnnotations final : public plan::Question {
 public:
  using Value = std::map<std::string, std::string>;
  RootAnnotations(std::string ns, json::OwnerReference owner) : ns_(std::move(ns)), owner_(std::move(owner)) {}

  // Whether a controller of this kind is read at all.
  static bool Knows(const json::OwnerReference& owner);

  std::string id() const override;
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

 private:
  std::string ns_;
  json::OwnerReference owner_;
};

}  // namespace capstan::bridge
