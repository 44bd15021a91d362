// What power saving does to the nodes of FakeSlurm.
#include <algorithm>

#include "base/text.h"
#include "slurm/testing/fake_slurm.h"

namespace capstan::slurm::testing {

// Nobody is expected to answer there.
bool FakeSlurm::IsAsleep(const Record& record) {
  return record.node.state.HasAny({NodeFlag::kPoweredDown, NodeFlag::kPoweringDown, NodeFlag::kPoweringUp});
}

bool FakeSlurm::IsStartable(const Record& record) const {
  const NodeState state = StateOf(record);
  const bool down = state.Has(NodeFlag::kPoweredDown) && !state.Has(NodeFlag::kMaintenance);
  return state.IsUsable() || (down && !state.IsDown() && !state.IsDraining());
}

void FakeSlurm::BeginPower(Record& record, NodeFlag flag) {
  NodeState& state = record.node.state;
  for (const NodeFlag other : {NodeFlag::kPoweredDown, NodeFlag::kPoweringDown, NodeFlag::kPoweringUp})
    state.Remove(other);
  state.Add(flag);
  record.powered = loop_.Now();
  if (flag != NodeFlag::kPoweringDown) record.node.address = record.node.name;
  NodesChanged();
}

bool FakeSlurm::PowerUp(const std::string& name) {
  Record& record = records_.at(name);
  if (!record.node.state.Has(NodeFlag::kPoweredDown)) return false;
  BeginPower(record, NodeFlag::kPoweringUp);
  record.node.state.Add(NodeFlag::kNotResponding);
  FollowPower(name);
  return true;
}

bool FakeSlurm::PowerDown(const std::string& name) {
  Record& record = records_.at(name);
  const bool up = !record.node.state.HasAny({NodeFlag::kPoweredDown, NodeFlag::kPoweringDown, NodeFlag::kPoweringUp});
  if (!up || record.node.state.HasAny({NodeFlag::kDrain, NodeFlag::kFail}) || !record.jobs.empty() ||
      !record.suspended.empty() || !record.completing.empty())
    return false;
  BeginPower(record, NodeFlag::kPoweringDown);
  FollowPower(name);
  return true;
}

// What is to come of its state of power, in this life of slurmctld.
void FakeSlurm::FollowPower(const std::string& name) {
  const Record& record = records_.at(name);
  const auto left = [&](Duration whole) { return std::max(Duration(0), *record.powered + whole - loop_.Now()); };
  if (record.node.state.Has(NodeFlag::kPoweringUp))
    Later(left(options_.resume_timeout), [this, name] { EndResume(name); });
  if (record.node.state.Has(NodeFlag::kPoweringDown))
    Later(left(options_.suspend_timeout), [this, name] { EndSuspend(name); });
}

void FakeSlurm::EndSuspend(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end() || !found->second.node.state.Has(NodeFlag::kPoweringDown)) return;
  if (loop_.Now() < *found->second.powered + options_.suspend_timeout) return;
  BeginPower(found->second, NodeFlag::kPoweredDown);
  found->second.node.state.Remove(NodeFlag::kNotResponding);
}

// Its jobs are queued again: nothing of them has run.
void FakeSlurm::Requeue(const Record& record) {
  const std::set<int64_t> jobs = record.jobs;
  for (const int64_t id : jobs) {
    const JobSpec spec = job_specs_.at(id);
    ForgetJob(id);
    if (on_requeue) on_requeue(spec);
  }
}

void FakeSlurm::EndResume(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end() || !found->second.node.state.Has(NodeFlag::kPoweringUp)) return;
  Record& record = found->second;
  if (loop_.Now() < *record.powered + options_.resume_timeout) return;
  Requeue(record);
  BeginPower(record, NodeFlag::kPoweredDown);
  for (const NodeFlag flag : {NodeFlag::kIdle, NodeFlag::kNotResponding, NodeFlag::kDrain})
    record.node.state.Remove(flag);
  record.node.state.Add(NodeFlag::kDown);
  record.node.reason = kReasonNotResumed;
}

void FakeSlurm::CheckPower(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end() || !found->second.idle) return;
  Record& record = found->second;
  if (!record.jobs.empty() || !record.suspended.empty() || !record.completing.empty()) record.busy = loop_.Now();
  if (!record.jobs.empty())
    PowerUp(name);
  else if (record.busy && loop_.Now() - *record.busy >= *record.idle)
    PowerDown(name);
  Later(options_.power_check, [this, name] { CheckPower(name); });
}

// Jobs that have waited for this node alone begin.
void FakeSlurm::BeginConfigured(const std::string& node) {
  for (const int64_t id : records_.at(node).jobs) {
    const JobSpec& spec = job_specs_.at(id);
    const auto awaited = [this](const std::string& name) { return IsAsleep(records_.at(name)); };
    Job& job = jobs_.at(id);
    if (!job.state.Has(JobFlag::kConfiguring) || std::ranges::any_of(spec.nodes, awaited)) continue;
    job.state.Remove(JobFlag::kConfiguring);
    if (spec.runs_for) RunFor(id, *spec.runs_for);
    JobsChanged();
  }
}

Outcome FakeSlurm::CreateNode(const CloudNode& asked) {
  if (records_.contains(asked.name)) return Refusal::kNodeExists;
  Record& record = records_[asked.name];
  Node& node = record.node;
  node.name = node.hostname = node.address = asked.name;
  node.state = NodeState{NodeFlag::kIdle, NodeFlag::kDynamicNorm, NodeFlag::kCloud, NodeFlag::kPoweredDown};
  for (const std::string_view item : Words(asked.conf)) {
    if (!item.starts_with("Features=")) continue;
    for (const std::string_view feature : Split(item.substr(item.find('=') + 1), ','))
      node.features.emplace_back(feature);
  }
  node.active_features = node.features;
  node.partitions = {options_.partition};
  node.weight = 1;
  node.cpus = node.job_cpus = asked.cpus;
  node.memory_mib = node.job_memory_mib = asked.memory_mib;
  record.idle = asked.idle;
  record.powered = loop_.Now();
  CheckPower(asked.name);
  NodesChanged();
  return std::nullopt;
}

}  // namespace capstan::slurm::testing
