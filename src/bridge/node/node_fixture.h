// A Kubernetes node and its record in Slurm, and what the bridge makes of them.
#pragma once

#include <gtest/gtest.h>

#include "bridge/bridge_test.h"
#include "bridge/node/decide.h"
#include "bridge/node/mark.h"
#include "bridge/node/wanted.h"
#include "bridge/nodes.h"
#include "plan/testing/world.h"

namespace capstan::bridge::node::testing {

using bridge::testing::kCluster;
using bridge::testing::ReadyNode;
using bridge::testing::TestSettings;

inline constexpr auto kTaints = R"([{"key":"slinky.slurm.net/managed-node","effect":"NoSchedule",)"
                                R"("value":"slurm-bridge-scheduler"}])";

// Kubernetes node gpu-7 with the label, which this bridge has marked, and its record in Slurm.
class NodeTest : public ::testing::Test {
 protected:
  NodeTest() {
    world.AddStores([](plan::Stores& stores) {
      AddNodeStore(stores);
      stores.Add<Namespace>();
    });
    world.settings = &settings;
    world.Put(bridge::testing::NamespaceNamed("kube-system", kCluster));
    world.Nodes(kSlurm, {});
    machine = ReadyNode("gpu-7");
    machine.metadata.labels = {{std::string(kExternalNode), "true"}};
    Annotate(kNodeBridge, settings.bridge);
    machine.status.allocatable = {{"cpu", "3920m"}, {"memory", "2Gi"}, {"nvidia.com/gpu", "2"}};
    record = {.name = "gpu-7",
              .state = {slurm::NodeFlag::kIdle, slurm::NodeFlag::kDynamicNorm, slurm::NodeFlag::kExternal}};
    record.cpus = 3;
    record.memory_mib = 2048;
    record.gres = "gpu:2";
    record.comment = MarkOf(machine);
  }

  void Annotate(std::string_view name, const std::string& value) {
    machine.metadata.annotations[std::string(name)] = value;
  }
  std::string MarkOf(const Node& node) const {
    return NodeMark{kCluster, settings.bridge, node.metadata.name, SizeOf(*ExternalNodeOf(node, settings))}.ToString();
  }
  // What it is when nothing is left to do.
  void Settled() {
    machine.spec.taints.text = kTaints;
    machine.status.conditions.push_back(
        {std::string(kNodeCondition), "True", "Registered", "Slurm node gpu-7 has 3 CPUs, 2048 MiB, gpu:2"});
  }
  plan::Plan Decide(Duration settle = 1s) {
    world.Put(machine);
    return world.Decide(&node::Decide, "gpu-7", settle);
  }
  // The same with this record in Slurm.
  plan::Plan With(const slurm::Node& node, Duration settle = 1s) {
    world.Nodes(kSlurm, {node});
    return Decide(settle);
  }
  slurm::Node Drained(const std::string& reason, std::initializer_list<slurm::NodeFlag> more = {}) const {
    slurm::Node node = record;
    node.state.Add(slurm::NodeFlag::kDrain);
    for (const slurm::NodeFlag flag : more) node.state.Add(flag);
    node.reason = reason;
    node.reason_set_by = "ada";
    return node;
  }
  // "Reason: message" that a condition of it gets, the last one; "": they are left alone.
  static std::string Shown(const plan::Plan& plan) {
    std::string shown;
    for (const plan::Action& action : plan.actions)
      if (action.effect->verb() == "set conditions" && action.event)
        shown = action.event->reason + ": " + action.reason;
    return shown;
  }
  static std::vector<std::string> ToSlurm(const plan::Plan& plan) {
    std::vector<std::string> names;
    for (const std::string& name : plan::testing::ActionNames(plan))
      if (name.contains("Slurm node")) names.push_back(name.substr(0, name.find(" Slurm node")));
    return names;
  }

  Settings settings = TestSettings();
  plan::testing::TestWorld world{""};
  Node machine;
  slurm::Node record;
};

}  // namespace capstan::bridge::node::testing
