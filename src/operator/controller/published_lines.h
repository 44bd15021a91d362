// The lines of a slurm.conf that define partitions and sets of nodes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf.h"

namespace capstan::op::controller {

// The lines that begin with PartitionName, NodeSet or NodeName, as far as they can be read: somebody may have edited the text.
std::vector<std::vector<slurm::ConfItem>> DefiningLines(std::string_view text);

// Those of a published text, by name; of each name the first. A line for DEFAULT is none.
struct PublishedLines {
  explicit PublishedLines(std::string_view text);

  std::map<std::string, std::vector<slurm::ConfItem>> partitions, node_sets;
};

}  // namespace capstan::op::controller
