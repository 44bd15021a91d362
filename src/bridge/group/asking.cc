#include <algorithm>
#include <set>

#include "base/text.h"
#include "bridge/end_job.h"
#include "bridge/group/group.h"
#include "bridge/group/suitable.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "plan/slurm/jobs.h"

namespace capstan::bridge::group {
namespace {

using slurm::JobFlag;

constexpr Duration kFirstWait = 10s, kLongestWait = 10min;

}  // namespace

void Group::Begin() {  // rows 5, 6
  if (!MayAsk()) return;
  LabelAll(members_.gated, members_.attempt, "it is to be scheduled by Slurm");
}

bool Group::MayAsk() {
  bool others = false;
  for (const Pod* pod : members_.gated) {
    for (const SchedulingGate& gate : pod->spec.scheduling_gates) {
      if (gate.name == kGate) continue;
      Soon({pod}, "False", "OtherGates", "waits until the scheduling gate " + gate.name + " is taken away");
      others = true;
      break;
    }
  }
  if (others) return false;
  if (!shape_.no_gang.empty()) {
    for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", shape_.no_gang);
    return false;
  }
  if (!shape_.missing.empty()) {
    Soon(members_.gated, "False", "GroupIncomplete", "nothing is asked of Slurm yet: " + shape_.missing);
    return false;
  }
  if (!shape_.unread.empty()) {
    Soon(members_.gated, "Unknown", "OwnerUnread", "nothing is asked of Slurm yet: " + shape_.unread);
    return false;
  }
  if (shape_.settled) return true;
  const Duration held = world_.HeldFor("the group has so many: " + std::to_string(members_.living()));
  if (held < kRests) plan_.RequeueAfter(kRests - held);
  return held >= kRests;
}

void Group::Label(const Pod& pod, int attempt, int64_t id, const std::string& reason) {
  json::JsonPatch patch;
  patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(pod.metadata.resource_version)));
  if (pod.metadata.annotations.empty()) patch.Add("/metadata/annotations", "{}");
  patch.Add(json::JsonPointer({"metadata", "annotations", kAttempt}), JsonQuoted(std::to_string(attempt)));
  if (const std::string& retry = pod.metadata.Annotation(std::string(kRetry)); !retry.empty())
    patch.Add(json::JsonPointer({"metadata", "annotations", kRetried}), JsonQuoted(retry));
  patch.Add(json::JsonPointer({"metadata", "labels", kJobId}), JsonQuoted(std::to_string(id)));
  plan_.Add({.effect = plan::PatchTested("label", RefOf(pod), pod.metadata.uid, std::move(patch)),
             .reason = reason,
             .guards = {},
             .after = {},
             .event = {}});
}

void Group::LabelAll(const Pods& pods, int attempt, const std::string& reason) {
  if (pods.empty()) return;
  const int64_t id = IdOf(*pods.front(), attempt);
  for (const Pod* pod : pods) Label(*pod, attempt, id, reason);
}

void Group::Absent() {  // rows 7, 8, 17
  // One that another bridge was given by Slurm was there, and is not asked for again under its id.
  const bool is_anothers = id_ < settings_.first_id || id_ >= settings_.first_id + settings_.ids;
  const bool was_seen = is_anothers || !members_.released.empty() || AnyTellsOfIt(members_.gated) ||
                        AnyTellsOfIt(members_.leaving) || AnyTellsOfIt(members_.ended);
  if (!was_seen) {
    if (!MayAsk()) return;
    const Pods newcomers = Newcomers();
    if (newcomers.empty()) return Submit();
    // It was another's, of the group's past, if none of those that wait bears it.
    return newcomers.size() < members_.gated.size() ? Join(newcomers) : NextAttempt("its pods are new");
  }
  if (members_.released.empty() && AllHaveStopped()) return;
  if (members_.released.empty() && WantsRetry()) return NextAttempt("its user asks again");
  const Duration held = world_.HeldFor("job is absent " + std::to_string(id_));
  if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
  const std::string no_job = "Slurm has no " + JobWords(id_) + " any more";
  if (members_.released.empty()) return NextAttempt(no_job);
  Rebook(no_job);
  Soon(members_.gated, "False", "NoPlace",
       no_job + "; others of the group go on without it, and this pod waits for their end");
}

void Group::Rebook(const std::string& no_job) {
  const int64_t next = IdOf(*members_.released.front(), members_.attempt + 1);
  Now(members_.released, "Unknown", "JobUnknown", no_job + "; the pod goes on, and its nodes are booked anew");
  Follow(next);
  const auto* known = slurm_.FindJob(next);
  if (known == nullptr) return;
  if (*known && IsOurs(**known)) {
    for (const Pod* pod : members_.released)
      if (JobIdOf(*pod) > 0) Label(*pod, members_.attempt + 1, next, no_job);
    return;
  }
  auto order = OrderForPlaces();
  if (*known || !order) {
    Now(members_.released, "Unknown", "JobUnknown",
        no_job +
            "; the pod goes on without one: " + (*known ? JobWords(next) + " is another's" : order.error().message()));
    return;
  }
  SubmitAs(next, members_.attempt + 1, *std::move(order), {}, no_job,
           {.reason = "Rebooked", .action = "Submit", .warning = true});
}

Result<Order> Group::OrderForPlaces() const {
  Shape shape = ShapeOf(world_, key_, members_, true);
  if (!shape.unread.empty()) return Fail(Code::kUnavailable, shape.unread);
  Result<Order> asked = OrderOf(members_.released, shape, settings_);
  // They run, and are charged as the policy says by now rather than to nobody.
  if (!asked && asked.error().code() == Code::kForbidden) {
    LeaveToPolicy(shape);
    asked = OrderOf(members_.released, shape, settings_);
  }
  CAPSTAN_TRY(Order order, std::move(asked));
  std::set<std::string> nodes;
  Time began = world_.now();
  for (const Pod* pod : members_.released) {
    CAPSTAN_TRY(std::string node, SlurmNodeOf(world_, slurm_, NodeOf(*pod)));
    nodes.insert(std::move(node));
    began = std::min(began, pod->status.start_time.value_or(began));
  }
  order.job.required_nodes.assign(nodes.begin(), nodes.end());
  // More, for those of the group that are missing, if Slurm has them now; those that run wait for nobody.
  order.job.nodes = int64_t(nodes.size());
  order.job.most_nodes = std::max(order.job.nodes, order.job.most_nodes);
  if (order.job.limit_minutes)
    order.job.limit_minutes = std::max<int64_t>(1, *order.job.limit_minutes - (world_.now() - began) / 1min);
  return order;
}

void Group::Strangers(const slurm::Job& job) {  // rows 9, 17
  Now(members_.released, "Unknown", "JobUnknown",
      JobWords(id_) + " is not this pod's, as its admin_comment is " + JsonQuoted(OneLine(job.admin_comment, 100)) +
          "; the pod goes on, and nothing ends it with the job");
  const auto order = OrderOf(members_.gated, shape_, settings_);
  if (!WantsRetry() && job.external && order && job.name == order->job.name) {
    return Now(members_.gated, "False", "MarkChanged",
               JobWords(id_) + " was submitted for this pod, but its admin_comment is " +
                   JsonQuoted(OneLine(job.admin_comment, 100)) +
                   " instead of the bridge's mark: a job_submit plugin or a person changes it. Let them leave "
                   "the comments of external jobs alone, cancel the job, and delete the pod, or give annotation " +
                   std::string(kRetry) + " another text, to ask again");
  }
  if (members_.released.empty()) WaitForNext(std::nullopt, JobWords(id_) + " is another's");
}

void Group::Submit() {  // row 7
  if (HasEarlierJob() || world_.InFlight(plan::JobTarget(kSlurm, id_))) return;
  Result<Order> order = OrderOf(members_.gated, shape_, settings_);
  if (!order) {
    for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", order.error().message());
    return;
  }
  for (const plan::Failure& failure : world_.failures()) {
    if (failure.verb != "submit") continue;
    const bool refused = failure.code == Code::kInvalid || failure.code == Code::kForbidden;
    if (refused && WantsRetry())
      return NextAttempt("Slurm has refused " + JobWords(id_) + ", and is to be asked again");
    Soon(members_.gated, refused ? "False" : "Unknown", refused ? "Refused" : "SlurmUnreachable", failure.message);
  }
  Unsuitable unsuitable = UnsuitableFor(world_, members_.gated, order->job.partition);
  if (!unsuitable.none_left.empty()) {
    for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", unsuitable.none_left);
    return;
  }
  const std::string reason = "to run " + std::string(members_.gated.size() == 1 ? "the pod" : "the group's pods") +
                             " in partition " + order->job.partition;
  SubmitAs(id_, members_.attempt, *std::move(order), std::move(unsuitable.nodes), reason,
           {.reason = "Submitted", .action = "Submit"});
}

void Group::SubmitAs(int64_t id, int attempt, Order order, std::vector<std::string> excluded, const std::string& reason,
                     plan::EventText event) {
  JobMark mark = mark_;
  mark.attempt = attempt;
  mark.pods_per_node = order.pods_per_node;
  mark.order = order.Hash();
  mark.policy = shape_.policy.Hash();
  order.job.excluded_nodes = std::move(excluded);
  order.job.id = id;
  order.job.admin_comment = mark.ToString();
  plan_.Add({.effect = plan::SubmitJob(kSlurm, std::move(order.job)),
             .reason = reason,
             .guards = {},
             .after = {},
             .event = std::move(event)});
}

bool Group::IsBesidePolicy(const JobMark& mark) const {
  if (mark.policy.empty() || !shape_.refused.empty() || shape_.policy.ns.empty()) return false;
  if (mark.policy == shape_.policy.Hash()) return false;
  if (!shape_.missing.empty() || !shape_.unread.empty()) return true;
  const auto order = OrderOf(members_.gated, shape_, settings_);
  return !order || order->Hash() != mark.order;
}

void Group::EndForPolicy(const slurm::Job& job, const JobMark& mark) {
  EndJob(plan_, job, mark, "Changed", "the policy of namespace " + ns() + " is another by now", NoPodIsReleased(),
         plan::EventText{.reason = "Changed", .action = "Cancel"});
}

void Group::Waits(const slurm::Job& job) {  // row 10
  const auto order = OrderOf(members_.gated, shape_, settings_);
  Soon(members_.gated, "False", IsHeld(job) ? "Held" : "Pending",
       WhyPending(job, world_.now()) +
           (order ? "" : "; what is asked for by now is refused: " + order.error().message()));
  const JobMark mark = MarkOf(job);
  if (members_.released.empty() && IsBesidePolicy(mark)) return EndForPolicy(job, mark);
  if (!members_.released.empty() || !shape_.missing.empty() || !shape_.unread.empty()) return;
  const bool same = !order || mark.order.empty() || order->Hash() == mark.order;
  if (same && mark.outcome.empty()) return Join(Newcomers());
  if (!same) {
    const Duration held = world_.HeldFor("the order is another: " + order->Hash());
    if (held < kRests) return plan_.RequeueAfter(kRests - held);
  }
  EndJob(plan_, job, mark, "Changed", "another order takes its place, and its age in the queue is lost",
         NoPodIsReleased(), plan::EventText{.reason = "Changed", .action = "Cancel"}, JobFlag::kPending);
}

void Group::IsOver(const slurm::Job& job, const slurm::JobState& state) {  // rows 13, 14, 16
  const std::string why = JobWords(id_) + " ended as " + state.ToString();
  EndPods(why, plan::JobHasEnded(kSlurm, id_, mark_.Prefix()), "Ended");
  if (members_.gated.empty()) return;
  const std::string outcome = MarkOf(job).outcome;
  const bool by_person = (state.Has(JobFlag::kCancelled) && outcome.empty()) || state.Has(JobFlag::kDeadline);
  const std::string ended = JobWords(id_) + " ended as " + job.state.ToString();
  if (const Pod* left = FirstThatRuns()) {
    return Soon(members_.gated, "False", "Resubmitting",
                ended + "; the next is submitted once pod " + left->metadata.name + " has gone" +
                    (NodeOf(*left).empty() ? "" : " from Kubernetes node " + NodeOf(*left)));
  }
  if (by_person && Newcomers().empty() && !WantsRetry()) {
    return Now(members_.gated, "False", "CancelledInSlurm",
               ended + " before the pod was started, by somebody's wish; delete the pod, or give annotation " +
                   std::string(kRetry) + " another text, to ask Slurm again");
  }
  // What we ended is no failure of Slurm's, but for a node that could not be used.
  if (by_person || outcome == "Changed" || outcome == "Succeeded" || outcome == "Failed") return NextAttempt(ended);
  WaitForNext(job.end_time, ended + " before the pod was started");
}

void Group::WaitForNext(std::optional<Time> since, const std::string& why) {
  const Duration wait = std::min(kLongestWait, kFirstWait * (int64_t{1} << std::min(members_.attempt - 1, 10)));
  const Duration held = since ? world_.now() - *since : world_.HeldFor(why);
  if (held >= wait || WantsRetry()) return NextAttempt(why);
  plan_.RequeueAfter(wait - held);
  Soon(members_.gated, "False", "Resubmitting", why + "; the next is submitted soon");
}

}  // namespace capstan::bridge::group
