// A SlurmCluster main in the namespace slurm with one NodeSet, and its parts as their own keys leave them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "api/slurmcluster.h"
#include "json/value.h"
#include "operator/names.h"
#include "operator/slurmcluster/decide.h"
#include "operator/testing/world.h"

namespace capstan::op::slurmcluster {

using test::BodyOf;

class SlurmClusterTest : public ::testing::Test {
 protected:
  SlurmClusterTest() {
    cluster.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-cluster", .generation = 2};
    cluster.spec.node_sets = {{.name = "cpu", .partition = {{.config = "Default=YES"}}}};
    world.Secret("main-sssd-conf", {"sssd.conf"});
  }

  plan::Plan Look() {
    world.Put(cluster);
    return world.Decide(&Decide, "main");
  }
  std::string Body(std::string_view kind, std::string_view name) {
    return BodyOf(Look(), std::string(kind), std::string(name));
  }
  static std::string Phase(const plan::Plan& plan) {
    return std::string(json::FindText(*json::Parse(*plan.status), {"phase"}));
  }
  // A part as its own key leaves it.
  template <class T>
  T Part(const std::string& name, std::string_view ready = "True", std::string_view progressing = "False") {
    T part;
    part.metadata = {.name = name, .namespace_ = "slurm", .uid = "uid-" + name, .generation = 3};
    part.metadata.owner_references = {
        {.kind = "SlurmCluster", .name = "main", .uid = "uid-cluster", .controller = true}};
    for (const auto& [type, status] : {std::pair{api::kReady, ready}, std::pair{api::kProgressing, progressing},
                                       std::pair{api::kDegraded, std::string_view("False")}})
      api::SetCondition(part.status.conditions,
                        {.type = std::string(type),
                         .status = std::string(status),
                         .observed_generation = 3,
                         .reason = "Word",
                         .message = name + " says " + std::string(type)},
                        world.now);
    return part;
  }
  void HaveParts() {
    world.Put(Part<api::Controller>("main"));
    world.Put(Part<api::RestApi>("main"));
    api::NodeSet set = Part<api::NodeSet>("main-worker-cpu");
    set.spec.replicas = 3;
    set.status.desired = set.status.ready_replicas = set.status.replicas = set.status.slurm_idle = 3;
    world.Put(set);
  }

  void PutLoginPod(bool of_logins = true) {
    op::Pod pod;
    pod.metadata = {.name = "main-login-5c-1", .namespace_ = "slurm", .uid = "uid-pod"};
    if (of_logins)
      pod.metadata.owner_references = {
          {.kind = "ReplicaSet", .name = "main-login-5c", .uid = "uid-rs", .controller = true}};
    world.Put(pod);
  }

  test::TestWorld world;
  api::SlurmCluster cluster;
};

}  // namespace capstan::op::slurmcluster
