// Whether a Kubernetes node suits a pod, by what both say of themselves: node selector, required node affinity, taints. What
// changes from moment to moment (room, ports, volumes, spreading; taints of node.kubernetes.io) is the scheduler's to judge.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bridge/objects.h"
#include "bridge/settings.h"
#include "json/value.h"

namespace capstan::bridge {

// What a pod asks of its node, read once for many nodes. Refers to nothing.
class Needs {
 public:
  // `settings`: the bridge lets a pod tolerate its own taints.
  Needs(const Pod& pod, const Settings& settings);

  // In a few words, which follow on the node's name: "has the taint gpu=only:NoSchedule"; "": it suits. What cannot be read
  // matches nothing, as with the scheduler.
  std::string WhyNot(const Node& node) const;
  // The same by halves: of many nodes, most have the same taints, of which the text needs to be read once.
  std::string WhyNotByLabels(const Node& node) const;
  std::string WhyNotByTaints(const Node& node) const;

  bool operator==(const Needs&) const = default;

 private:
  std::map<std::string, std::string> selector_;
  std::vector<json::Value> terms_;  // of the required affinity
  bool has_terms_ = false;
  std::vector<json::Value> tolerations_;
};

// The pod itself lets such a taint be.
bool Tolerates(const Pod& pod, const std::string& key, const std::string& value, const std::string& effect);

}  // namespace capstan::bridge
