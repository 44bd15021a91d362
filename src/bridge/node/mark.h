// Whose an external node of Slurm is, and of which machine: the text in its comment, which administrators of Slurm alone can write.
//
//   capstan-bridge {"v":1,"c":"<uid of kube-system>","b":"slinky.slurm-bridge","n":"gpu-7","h":"<hash>"}
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace capstan::bridge::node {

struct NodeMark {
  std::string cluster;  // uid of the namespace kube-system
  std::string bridge;   // Settings::bridge
  std::string node;     // of Kubernetes
  std::string size;     // a hash of what Slurm was told that it has (wanted.h); "": that is not known

  // nullopt: not a mark of any bridge.
  static std::optional<NodeMark> Of(std::string_view comment);
  std::string ToString() const;

  bool operator==(const NodeMark&) const = default;
};

}  // namespace capstan::bridge::node
