#include "slurm/snapshot.h"

#include <algorithm>

namespace capstan::slurm {

const Node* Snapshot::FindNode(std::string_view name) const {
  const auto found = std::ranges::lower_bound(*nodes, name, {}, &Node::name);
  return found != nodes->end() && found->name == name ? &*found : nullptr;
}

std::vector<std::string> ChangedNodes(const Snapshot* before, const Snapshot* after) {
  static const std::vector<Node> kNone;
  const std::vector<Node>& old_nodes = before ? *before->nodes : kNone;
  const std::vector<Node>& new_nodes = after ? *after->nodes : kNone;
  std::vector<std::string> changed;
  if (&old_nodes == &new_nodes) return changed;
  auto a = old_nodes.begin();
  auto b = new_nodes.begin();
  while (a != old_nodes.end() || b != new_nodes.end()) {
    if (b == new_nodes.end() || (a != old_nodes.end() && a->name < b->name)) {
      changed.push_back((a++)->name);
    } else if (a == old_nodes.end() || b->name < a->name) {
      changed.push_back((b++)->name);
    } else {
      if (*a != *b) changed.push_back(a->name);
      ++a, ++b;
    }
  }
  return changed;
}

}  // namespace capstan::slurm
