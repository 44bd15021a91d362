// Workers that stay, and what every worker that runs is told. Pure.
#pragma once

#include "operator/nodeset/look.h"

namespace capstan::op::nodeset {

// A worker that is wanted takes jobs, unless somebody wants it out of service: its mark is taken back, our drain of it and a
// DOWN once it and its machine are seen to be in order (machine.h), and it is replaced when Slurm has lost it.
plan::Plan Stay(const Look& look, const Worker& worker);

// Each side about the other, of every worker that runs, going or not: on the pod what Slurm says, in Slurm who stands
// behind the record and what its Kubernetes node is. And the pod's labels that somebody has removed.
plan::Plan Note(const Look& look, const Worker& worker);

// A worker is protected against eviction from its birth, so that no job on it ever has to be noticed first; until it is
// drained and proven idle, and again before its drain is lifted. One that goes in a scale-in needs no eviction.
plan::Plan Protect(const Look& look, const Worker& worker);

}  // namespace capstan::op::nodeset
