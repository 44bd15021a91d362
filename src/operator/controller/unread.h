// Nodes that came after slurmctld had read the files that name them.
//
// topology.conf, topology.yaml and partitions may name workers. slurmctld looks the names up once, when it reads the file: a worker
// that registers later is in none of its switches and in no such partition, and `srun -N2` is refused. What came later is told by
// the record's comment (worker_comment.h).
//
// | of the nodes that files name                 | what is done                                                        |
// |----------------------------------------------|---------------------------------------------------------------------|
// | all were there when slurmctld read the files | nothing                                                             |
// | some came later                              | once no further one has come for 15 seconds, and after two minutes  |
// |                                              | at the latest, slurmrestd is asked to reconfigure. Progressing      |
// |                                              | names them                                                          |
// | the same, and it was asked in this life      | nothing; a minute later Degraded says so: slurmctld goes on with    |
// |                                              | what it had                                                         |
#pragma once

#include <string>
#include <vector>

#include "kube/resource.h"
#include "operator/reconcile.h"

namespace capstan::op::controller {

// `named`: hostlists, as the files that are live have them. `pod`: slurmctld's, where what was asked is written down. The Plan
// says by then how Slurm is reached.
void ReadWithNewNodes(ReconcileBase& reconcile, std::vector<std::string> named, const kube::Key& pod);

}  // namespace capstan::op::controller
