// Whether slurmctld has the nodes that the partitions of a slurm.conf name: it ends at a name that the text defines neither as a node nor as a
// NodeSet. It looks at Nodes= of a NodeSet, too, once a partition names that.
//
// Not thread-safe. Work and memory are bounded by the bytes of the text, as those of HostIndex.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/hostlist.h"

namespace capstan::slurm {

class PartitionNodes {
 public:
  // Of a line NodeName=hosts. As HostIndex::Add.
  [[nodiscard]] bool DefineNodes(const Hostlist& hosts, const HostIndex::Told& twice = {}) {
    return defined_.Add(hosts, twice);
  }
  // A NodeSet, or a node that there is besides.
  void Define(std::string_view name) { defined_.AddName(name); }

  // Nodes=hosts in line number `line`: of the NodeSet `name`, or of a partition.
  void OfNodeSet(std::string name, size_t line, Hostlist hosts);
  void OfPartition(size_t line, Hostlist hosts);

  // Tells of each undefined name once, but for ALL, with the first Nodes= that has it; false: no further one of that Nodes= is wanted.
  using Undefined = std::function<bool(size_t line, const Hostlist& hosts, const std::string& name)>;
  // Told of a Nodes= that cannot be compared, as of HostIndex; nobody has to be told.
  using Uncompared = std::function<void(size_t line, const Hostlist& hosts)>;
  // To be called once, after all that is defined.
  void ForEachUndefined(const Undefined& undefined, const Uncompared& uncompared = {});

 private:
  struct Named {
    std::string node_set;  // "": of a partition
    size_t line;
    Hostlist hosts;
  };

  HostIndex defined_;
  std::vector<Named> node_sets_, partitions_;
};

}  // namespace capstan::slurm
