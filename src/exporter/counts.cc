#include "exporter/counts.h"

#include <algorithm>

namespace capstan::exporter {
namespace {

using slurm::JobFlag;
using slurm::NodeFlag;

// A job or node is counted under the first of these states that it has.
constexpr std::array kJobStates = {JobFlag::kBootFail,  JobFlag::kCancelled, JobFlag::kCompleted,
                                   JobFlag::kDeadline,  JobFlag::kFailed,    JobFlag::kPending,
                                   JobFlag::kPreempted, JobFlag::kRunning,   JobFlag::kSuspended,
                                   JobFlag::kTimeout,   JobFlag::kNodeFail,  JobFlag::kOutOfMemory};
constexpr std::array kJobFlags = {JobFlag::kCompleting, JobFlag::kConfiguring, JobFlag::kPowerUpNode,
                                  JobFlag::kStageOut};
constexpr std::array kNodeStates = {NodeFlag::kAllocated, NodeFlag::kDown,  NodeFlag::kError,  NodeFlag::kFuture,
                                    NodeFlag::kIdle,      NodeFlag::kMixed, NodeFlag::kUnknown};
constexpr std::array kNodeFlags = {NodeFlag::kCompleting,      NodeFlag::kDrain,         NodeFlag::kFail,
                                   NodeFlag::kMaintenance,     NodeFlag::kNotResponding, NodeFlag::kPlanned,
                                   NodeFlag::kRebootRequested, NodeFlag::kReserved};

template <class State, class Flag, size_t kCount>
void CountFirst(const State& state, const std::array<Flag, kCount>& flags, std::array<int64_t, kCount>& counts) {
  const auto first = std::ranges::find_if(flags, [&](Flag flag) { return state.Has(flag); });
  if (first != flags.end()) ++counts[size_t(first - flags.begin())];
}

template <class State, class Flag, size_t kCount>
void CountEach(const State& state, const std::array<Flag, kCount>& flags, std::array<int64_t, kCount>& counts) {
  for (size_t i = 0; i < kCount; ++i) counts[i] += state.Has(flags[i]);
}

template <size_t kIndex>
int64_t JobsInState(const JobCounts& counts) {
  return counts.states[kIndex];
}
template <size_t kIndex>
int64_t JobsWithFlag(const JobCounts& counts) {
  return counts.flags[kIndex];
}
template <size_t kIndex>
int64_t NodesInState(const NodeCounts& counts) {
  return counts.states[kIndex];
}
template <size_t kIndex>
int64_t NodesWithFlag(const NodeCounts& counts) {
  return counts.flags[kIndex];
}

constexpr CountSeries<JobCounts> kJobs[] = {
    {"_total", "Jobs that slurmctld remembers", [](const JobCounts& c) { return c.jobs; }},
    {"_bootfail_total", "Jobs in state BOOT_FAIL", JobsInState<0>},
    {"_cancelled_total", "Jobs in state CANCELLED", JobsInState<1>},
    {"_completed_total", "Jobs in state COMPLETED", JobsInState<2>},
    {"_deadline_total", "Jobs in state DEADLINE", JobsInState<3>},
    {"_failed_total", "Jobs in state FAILED", JobsInState<4>},
    {"_pending_total", "Jobs in state PENDING", JobsInState<5>},
    {"_preempted_total", "Jobs in state PREEMPTED", JobsInState<6>},
    {"_running_total", "Jobs in state RUNNING", JobsInState<7>},
    {"_suspended_total", "Jobs in state SUSPENDED", JobsInState<8>},
    {"_timeout_total", "Jobs in state TIMEOUT", JobsInState<9>},
    {"_nodefail_total", "Jobs in state NODE_FAIL", JobsInState<10>},
    {"_outofmemory_total", "Jobs in state OUT_OF_MEMORY", JobsInState<11>},
    {"_completing_total", "Jobs with COMPLETING", JobsWithFlag<0>},
    {"_configuring_total", "Jobs with CONFIGURING", JobsWithFlag<1>},
    {"_powerupnode_total", "Jobs with POWER_UP_NODE", JobsWithFlag<2>},
    {"_stageout_total", "Jobs with STAGE_OUT", JobsWithFlag<3>},
    {"_hold_total", "Held jobs", [](const JobCounts& c) { return c.held; }},
    {"_cpus_alloc_total", "CPUs allocated to jobs", [](const JobCounts& c) { return c.cpus; }},
    {"_memory_alloc_bytes", "Memory allocated to jobs, in MiB", [](const JobCounts& c) { return c.memory_mib; }},
};

constexpr CountSeries<NodeCounts> kNodes[] = {
    {"_total", "Nodes that slurmctld has", [](const NodeCounts& c) { return c.nodes; }},
    {"_allocated_total", "Nodes in state ALLOCATED", NodesInState<0>},
    {"_down_total", "Nodes in state DOWN", NodesInState<1>},
    {"_error_total", "Nodes in state ERROR", NodesInState<2>},
    {"_future_total", "Nodes in state FUTURE", NodesInState<3>},
    {"_idle_total", "Nodes in state IDLE", NodesInState<4>},
    {"_mixed_total", "Nodes in state MIXED", NodesInState<5>},
    {"_unknown_total", "Nodes in state UNKNOWN", NodesInState<6>},
    {"_completing_total", "Nodes with COMPLETING", NodesWithFlag<0>},
    {"_drain_total", "Nodes with DRAIN", NodesWithFlag<1>},
    {"_fail_total", "Nodes with FAIL", NodesWithFlag<2>},
    {"_maintenance_total", "Nodes with MAINTENANCE", NodesWithFlag<3>},
    {"_notresponding_total", "Nodes with NOT_RESPONDING", NodesWithFlag<4>},
    {"_planned_total", "Nodes with PLANNED, which backfill keeps for a job", NodesWithFlag<5>},
    {"_rebootrequested_total", "Nodes with REBOOT_REQUESTED", NodesWithFlag<6>},
    {"_reserved_total", "Nodes with RESERVED", NodesWithFlag<7>},
};

constexpr CountSeries<NodeCounts> kResources[] = {
    {"_cpus_total", "CPUs", [](const NodeCounts& c) { return c.cpus; }},
    {"_cpus_effective_total", "CPUs available to jobs", [](const NodeCounts& c) { return c.effective_cpus; }},
    {"_cpus_alloc_total", "Allocated CPUs", [](const NodeCounts& c) { return c.alloc_cpus; }},
    {"_cpus_idle_total", "Idle CPUs", [](const NodeCounts& c) { return c.idle_cpus; }},
    {"_memory_bytes", "Memory, in MiB", [](const NodeCounts& c) { return c.memory_mib; }},
    {"_memory_effective_bytes", "Memory available to jobs, in MiB",
     [](const NodeCounts& c) { return c.effective_memory_mib; }},
    {"_memory_alloc_bytes", "Allocated memory, in MiB", [](const NodeCounts& c) { return c.alloc_memory_mib; }},
    {"_memory_free_bytes", "Free memory, as the operating system says, in MiB",
     [](const NodeCounts& c) { return c.free_memory_mib; }},
};

}  // namespace

void JobCounts::Add(const slurm::JobUsage& job, const slurm::Tres& allocated) {
  ++jobs;
  CountFirst(job.state, kJobStates, states);
  CountEach(job.state, kJobFlags, flags);
  held += job.held;
  // What a job had stays in its record after its end.
  if (!job.state.HoldsNodes()) return;
  cpus += allocated.cpus;
  memory_mib += allocated.memory_mib;
}

void NodeCounts::Add(const slurm::NodeUsage& node) {
  ++nodes;
  usable += node.state.IsUsable() && node.state.Has(NodeFlag::kIdle);
  CountFirst(node.state, kNodeStates, states);
  CountEach(node.state, kNodeFlags, flags);
  cpus += node.cpus;
  effective_cpus += node.effective_cpus;
  alloc_cpus += node.alloc_cpus;
  idle_cpus += node.idle_cpus;
  memory_mib += node.memory_mib;
  effective_memory_mib += node.memory_mib - node.kept_memory_mib;
  alloc_memory_mib += node.alloc_memory_mib;
  free_memory_mib += node.free_memory_mib.value_or(0);
}

std::span<const CountSeries<JobCounts>> SeriesOfJobs() { return kJobs; }
std::span<const CountSeries<NodeCounts>> SeriesOfNodes() { return kNodes; }
std::span<const CountSeries<NodeCounts>> SeriesOfNodeResources() { return kResources; }

}  // namespace capstan::exporter
