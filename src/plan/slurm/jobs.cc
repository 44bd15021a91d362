#include "plan/slurm/jobs.h"

#include "base/hash.h"
#include "plan/services.h"
#include "slurm/hostlist.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;
using slurm::Job;
using slurm::JobFlag;

class JobEffect : public Effect {
 public:
  JobEffect(std::string cluster, int64_t id) : cluster_(std::move(cluster)), id_(id) {}
  std::string target() const override { return JobTarget(cluster_, id_); }
  Lane lane() const override { return cluster_; }

 protected:
  const std::string cluster_;
  const int64_t id_;
};

class SubmitJobEffect final : public JobEffect {
 public:
  SubmitJobEffect(std::string cluster, slurm::ExternalJob job)
      : JobEffect(std::move(cluster), job.id), job_(std::move(job)) {}
  std::string_view verb() const override { return "submit"; }
  uint64_t content() const override { return job_.Digest(); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    auto done = co_await source->SubmitJob(job_, deadline);
    if (!done && done.error().code() == Code::kAlreadyExists) co_return Result<void>();
    co_return done;
  }

 private:
  slurm::ExternalJob job_;
};

class CommentJobEffect final : public JobEffect {
 public:
  CommentJobEffect(std::string cluster, slurm::JobUpdate update)
      : JobEffect(std::move(cluster), update.id), update_(std::move(update)) {}
  std::string_view verb() const override { return "comment"; }
  uint64_t content() const override { return Fnv64(update_.name.value_or(""), Fnv64(*update_.admin_comment)); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    auto done = co_await source->UpdateJob(update_, deadline);
    if (!done && done.error().code() == Code::kNotFound) co_return Result<void>();
    co_return done;
  }

 private:
  slurm::JobUpdate update_;
};

class CancelJobEffect final : public JobEffect {
 public:
  CancelJobEffect(std::string cluster, slurm::JobCancel cancel)
      : JobEffect(std::move(cluster), cancel.id), cancel_(std::move(cancel)) {}
  std::string_view verb() const override { return "cancel"; }
  uint64_t content() const override { return Fnv64(cancel_.name); }
  bool destructive() const override { return true; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    auto done = co_await source->CancelJob(cancel_, deadline);
    if (!done && done.error().code() == Code::kNotFound) co_return Result<void>();
    co_return done;
  }

 private:
  slurm::JobCancel cancel_;
};

class JobGuard final : public Guard {
 public:
  using Holds = Proof (*)(const Job& job, const std::string& node);
  JobGuard(std::string cluster, int64_t id, std::string mark, Holds holds, std::string text, Proof unknown_job,
           std::string node = {})
      : cluster_(std::move(cluster)),
        id_(id),
        mark_(std::move(mark)),
        holds_(holds),
        text_(std::move(text)),
        unknown_job_(unknown_job),
        node_(std::move(node)) {}

  std::string text() const override { return text_; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto source = services.slurm.Find(cluster_);
    if (source == nullptr) co_return Proof::kUnknown;
    const auto read = co_await source->ReadJob(id_, deadline);
    if (!read) co_return Proof::kUnknown;
    if (!*read) co_return unknown_job_;
    const Job& job = **read;
    if (!job.external || !job.admin_comment.starts_with(mark_)) co_return Proof::kNo;
    co_return holds_(job, node_);
  }

 private:
  std::string cluster_;
  int64_t id_;
  std::string mark_;
  Holds holds_;
  std::string text_;
  Proof unknown_job_;
  std::string node_;
};

Proof RunsOn(const Job& job, const std::string& node) {
  if (!job.state.Has(JobFlag::kRunning)) return Proof::kNo;
  const auto nodes = slurm::HostSet::Parse(job.nodes);
  if (!nodes) return Proof::kUnknown;
  return nodes->Contains(node) ? Proof::kYes : Proof::kNo;
}

// Its last moments (COMPLETING) count as over: no slurmd has anything of it. A state that this version does not know does not.
Proof HasEnded(const Job& job, const std::string&) {
  slurm::JobState state = job.state;
  if (state.HasAny({JobFlag::kRunning, JobFlag::kSuspended})) return Proof::kNo;
  state.Remove(JobFlag::kCompleting);
  return state.IsOver() ? Proof::kYes : Proof::kNo;
}

Proof GivesWay(const Job& job, const std::string& node) { return job.preempt_time ? Proof::kYes : HasEnded(job, node); }

Proof IsSuspended(const Job& job, const std::string&) {
  return job.state.Has(JobFlag::kSuspended) ? Proof::kYes : Proof::kNo;
}

std::string Words(int64_t id, std::string_view rest) { return "job " + std::to_string(id) + " " + std::string(rest); }

}  // namespace

std::string JobTarget(std::string_view cluster, int64_t id) {
  return "Slurm job " + std::string(cluster) + "/" + std::to_string(id);
}

std::shared_ptr<const Effect> SubmitJob(std::string cluster, slurm::ExternalJob job) {
  return std::make_shared<SubmitJobEffect>(std::move(cluster), std::move(job));
}

std::shared_ptr<const Effect> CommentJob(std::string cluster, int64_t id, std::string admin_comment,
                                         std::optional<std::string> name) {
  return std::make_shared<CommentJobEffect>(
      std::move(cluster),
      slurm::JobUpdate{.id = id, .admin_comment = std::move(admin_comment), .name = std::move(name)});
}

std::shared_ptr<const Effect> CancelJob(std::string cluster, slurm::JobCancel cancel) {
  return std::make_shared<CancelJobEffect>(std::move(cluster), std::move(cancel));
}

std::shared_ptr<const Guard> JobIsOurs(std::string cluster, int64_t id, std::string mark) {
  const auto holds = [](const Job&, const std::string&) { return Proof::kYes; };
  return std::make_shared<JobGuard>(std::move(cluster), id, std::move(mark), holds, Words(id, "bears our mark"),
                                    Proof::kNo);
}

std::shared_ptr<const Guard> JobRunsOn(std::string cluster, int64_t id, std::string mark, std::string node) {
  std::string text = Words(id, "bears our mark and runs on Slurm node " + node);
  return std::make_shared<JobGuard>(std::move(cluster), id, std::move(mark), &RunsOn, std::move(text), Proof::kNo,
                                    std::move(node));
}

std::shared_ptr<const Guard> JobHasEnded(std::string cluster, int64_t id, std::string mark) {
  return std::make_shared<JobGuard>(std::move(cluster), id, std::move(mark), &HasEnded,
                                    Words(id, "bears our mark and is over"), Proof::kUnknown);
}

std::shared_ptr<const Guard> JobGivesWay(std::string cluster, int64_t id, std::string mark) {
  return std::make_shared<JobGuard>(std::move(cluster), id, std::move(mark), &GivesWay,
                                    Words(id, "bears our mark and is over or preempted"), Proof::kUnknown);
}

std::shared_ptr<const Guard> JobIsSuspended(std::string cluster, int64_t id, std::string mark) {
  return std::make_shared<JobGuard>(std::move(cluster), id, std::move(mark), &IsSuspended,
                                    Words(id, "bears our mark and is suspended"), Proof::kNo);
}

}  // namespace capstan::plan
