// Pods, nodes and jobs as the bridge's tests make them.
#pragma once

#include <string>

#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/objects.h"
#include "bridge/settings.h"

namespace capstan::bridge::testing {

inline constexpr auto kCluster = "uid-of-kube-system";

inline Settings TestSettings() {
  return {
      .bridge = "slinky.slurm-bridge", .slurm_rest_api = "http://rest", .token_file = "/token", .partition = "bridge"};
}

inline int64_t IdOf(const std::string& uid, int attempt = 1) {
  const Settings settings = TestSettings();
  return JobId(kCluster, uid, attempt, settings.first_id, settings.ids);
}

inline JobMark MarkOf(const std::string& uid, int attempt = 1, std::string outcome = {}) {
  return {kCluster, TestSettings().bridge, "ml/pod." + uid, attempt, 1, "", "", std::move(outcome)};
}

// A pod that waits at the gate. "ml/trainer", "uid-trainer".
inline Pod GatedPod() {
  Pod pod;
  pod.metadata.namespace_ = "ml";
  pod.metadata.name = "trainer";
  pod.metadata.uid = "uid-trainer";
  pod.metadata.labels = {{std::string(kBridged), TestSettings().bridge}};
  pod.spec.scheduling_gates = {{std::string(kGate)}};
  pod.spec.containers = {{.resources = {.requests = {{"cpu", "1"}, {"memory", "100Mi"}}, .limits = {}}}};
  pod.status.phase = "Pending";
  return pod;
}

inline slurm::Job JobOf(const std::string& uid, slurm::JobState state, std::string nodes = {}, int attempt = 1) {
  return {.id = IdOf(uid, attempt),
          .state = state,
          .state_reason = "None",
          .name = "ml/trainer",
          .user = "slurm",
          .partition = "bridge",
          .nodes = std::move(nodes),
          .admin_comment = MarkOf(uid, attempt).ToString(),
          .external = true};
}

inline Namespace NamespaceNamed(const std::string& name, const std::string& uid = {}) {
  Namespace ns;
  ns.metadata.name = name;
  ns.metadata.uid = uid;
  return ns;
}

inline Node ReadyNode(const std::string& name) {
  Node node;
  node.metadata.name = name;
  node.metadata.uid = "uid-" + name;
  node.status.conditions = {{"Ready", "True"}};
  return node;
}

}  // namespace capstan::bridge::testing
