#include "exporter/job_figures.h"

#include <algorithm>
#include <string>

namespace capstan::exporter {
namespace {

using slurm::JobFlag;

double InSeconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void JobFigures::AddTo(Partition& partition, const slurm::JobUsage& job, const slurm::Tres& allocated) {
  partition.counts.Add(job, allocated);
  if (job.state.IsPending()) {
    partition.pending_tasks += job.tasks;
    if (job.held) return;
    partition.most_pending_nodes = std::max(partition.most_pending_nodes, job.nodes);
    // A job that depends on another, or is to begin later, has no time from which on it could start.
    if (job.eligible && (!partition.longest || *job.eligible < *partition.longest)) partition.longest = job.eligible;
  } else if (job.state.Has(JobFlag::kRunning) && job.eligible && job.started && *job.started >= *job.eligible) {
    partition.waited_s += UnixSeconds(*job.started) - UnixSeconds(*job.eligible);
    ++partition.waited_jobs;
  }
}

void JobFigures::Add(const slurm::JobUsage& job) {
  const slurm::Tres allocated = job.state.HoldsNodes() ? slurm::Tres::Parse(job.tres_allocated) : slurm::Tres();
  all_.Add(job, allocated);
  for (const std::string& name : job.partitions) {
    if (Partition* partition = partitions_.At(name)) AddTo(*partition, job, allocated);
    if (!job.state.IsPending()) continue;
    if (int64_t* count = reasons_.At(Reason(name, job.state_reason))) ++*count;
  }
  if (JobCounts* counts = accounts_.At(job.account)) counts->Add(job, allocated);
  if (JobCounts* counts = users_.At(User(job.user_id, job.user))) counts->Add(job, allocated);
}

void JobFigures::Show(Exposition& out, const Names& partitions, Time now) const {
  for (const auto& family : SeriesOfJobs()) {
    const std::string name = std::string("slurm_jobs").append(family.suffix);
    out.Family(name, family.help);
    out.Sample({}, family.value(all_));
  }
  ShowPartitions(out, partitions, now);
  ShowOwners(out);
}

void JobFigures::ShowPartitions(Exposition& out, const Names& partitions, Time now) const {
  Names all = partitions;
  for (const auto& [name, partition] : partitions_.values()) all.insert(name);
  const Partition none;
  const auto each = [&](const auto& sample) {
    for (const std::string& name : all) {
      const Partition* partition = partitions_.Find(name);
      sample(name, partition != nullptr ? *partition : none);
    }
  };
  for (const auto& family : SeriesOfJobs()) {
    const std::string name = std::string("slurm_partition_jobs").append(family.suffix);
    out.Family(name, family.help);
    each([&](const std::string& partition, const Partition& of) {
      out.Sample({{"partition", partition}}, family.value(of.counts));
    });
  }
  out.Family("slurm_partition_jobs_pending_maxnodecount_total", "Nodes of the largest pending job that is not held");
  each([&](const std::string& name, const Partition& of) { out.Sample({{"partition", name}}, of.most_pending_nodes); });
  out.Family("slurm_partition_jobs_pending_tasks", "Pending jobs, each pending task of an array counted");
  each([&](const std::string& name, const Partition& of) { out.Sample({{"partition", name}}, of.pending_tasks); });
  out.Family("slurm_partition_jobs_pending_longest_wait_seconds",
             "Wait of the pending job that has been eligible longest");
  each([&](const std::string& name, const Partition& of) {
    const Duration waits = of.longest && *of.longest < now ? now - *of.longest : Duration(0);
    out.Sample({{"partition", name}}, InSeconds(waits));
  });
  out.Family("slurm_partition_jobs_running_mean_wait_seconds", "Mean wait of the running jobs before they started");
  each([&](const std::string& name, const Partition& of) {
    if (of.waited_jobs > 0) out.Sample({{"partition", name}}, double(of.waited_s) / double(of.waited_jobs));
  });
  out.Family("slurm_jobs_pending_by_reason", "Pending jobs by partition and Slurm's reason");
  for (const auto& [key, count] : reasons_.values())
    out.Sample({{"partition", key.first}, {"reason", key.second}}, count);
}

void JobFigures::ShowOwners(Exposition& out) const {
  for (const auto& family : SeriesOfJobs()) {
    const std::string name = std::string("slurm_account_jobs").append(family.suffix);
    out.Family(name, family.help);
    for (const auto& [account, counts] : accounts_.values()) out.Sample({{"account", account}}, family.value(counts));
  }
  for (const auto& family : SeriesOfJobs()) {
    const std::string name = std::string("slurm_user_jobs").append(family.suffix);
    out.Family(name, family.help);
    for (const auto& [user, counts] : users_.values()) {
      const std::string id = std::to_string(user.first);
      out.Sample({{"userid", id}, {"username", user.second}}, family.value(counts));
    }
  }
}

std::vector<Uncounted> JobFigures::uncounted() const {
  return {{"partition", partitions_.refused()},
          {"account", accounts_.refused()},
          {"user", users_.refused()},
          {"reason", reasons_.refused()}};
}

}  // namespace capstan::exporter
