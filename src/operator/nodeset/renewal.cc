#include "operator/nodeset/renewal.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/nodeset/reservation.h"

namespace capstan::op::nodeset {
namespace {

constexpr Duration kReadyAgain = 1min;

// A person has taken it out of service, or wants that.
bool IsAPersons(const Worker& worker) { return worker.held || !worker.cordon.empty(); }

// Slurm gives it work, or would if no person had taken it out of service.
bool IsInService(const Worker& worker, int32_t min_ready_seconds, Time now) {
  if (UntilAvailable(*worker.pod, min_ready_seconds, now) > Duration::zero()) return false;
  return worker.stage == Stage::kServing || worker.stage == Stage::kUnknown || IsAPersons(worker);
}

// slurmctld has drained it since it was made: for its size, its generic resources, its prolog. Nobody tells slurmctld's own
// word from that of a person who is SlurmUser.
bool IsRefusedBySlurm(const Worker& worker) {
  if (!worker.held) return false;
  const slurm::Node& node = *worker.node;
  if (node.state.Has(slurm::NodeFlag::kInvalidReg)) return true;
  const auto made = worker.pod->metadata.creation_timestamp;
  return node.reason_set_by == kSlurmUserName && made && node.reason_changed_at && *node.reason_changed_at > *made;
}

// Nothing is lost with it: Slurm gives it no work; max: it is in service. An old worker that is not ready has a minute to
// become so while Slurm gives it work: kubelets that are away for a moment would take a whole set out.
Duration UntilGivenUp(const Worker& worker, int32_t min_ready_seconds, Time now) {
  if (IsInService(worker, min_ready_seconds, now)) return Duration::max();
  if (worker.stage != Stage::kServing || worker.node->state.IsNotResponding()) return Duration::zero();
  const PodCondition* ready = worker.pod->Condition("Ready");
  if (ready == nullptr || !ready->last_transition_time) return Duration::zero();
  if (ready->status == "True") return Duration::max();
  const Duration since = now - *ready->last_transition_time;
  const bool recent = since > -kReadyAgain && since < kReadyAgain;  // a clock that was put back tells nothing
  return recent ? kReadyAgain - std::max(since, Duration::zero()) : Duration::zero();
}

// It may not wait for a reservation: nothing would be lost with it. What a drain holds comes back by itself.
bool IsImpaired(const Worker& worker) {
  return !worker.pod->Ready() || worker.stage == Stage::kDown || worker.stage == Stage::kUnregistered;
}

int BudgetOf(const api::NodeSetSpec& spec) {
  const auto& rolling = spec.update_strategy->rolling_update;
  const auto most = rolling && rolling->max_unavailable ? rolling->max_unavailable->Of(*spec.replicas, true) : 1;
  return most ? int(std::clamp<int64_t>(*most, 0, *spec.replicas)) : 1;
}

}  // namespace

bool Revisions::IsCurrent(const Pod& pod) const {
  const std::string& revision = pod.metadata.Label(AsKey<kLabelRevision>());
  return revision == current || (!former.empty() && revision == former) || alike.contains(revision);
}

Duration UntilAvailable(const Pod& pod, int32_t min_ready_seconds, Time now) {
  const PodCondition* ready = pod.Condition("Ready");
  if (ready == nullptr || ready->status != "True") return Duration::max();
  if (min_ready_seconds == 0) return Duration::zero();
  if (!ready->last_transition_time) return Duration::max();
  return std::max(Duration::zero(), *ready->last_transition_time + std::chrono::seconds(min_ready_seconds) - now);
}

Renewal RenewalOf(const api::NodeSetSpec& spec, const std::vector<const Worker*>& kept, const Revisions& revisions,
                  bool begin, const std::vector<slurm::Job>* jobs, std::string_view reservation, Time now) {
  Renewal renewal;
  for (const Worker* worker : kept) {
    if (worker->stage != Stage::kEnded && !revisions.IsCurrent(*worker->pod)) renewal.old.push_back(worker);
  }
  const bool scheduled = IsScheduled(spec);
  if (!scheduled && (!spec.update_strategy || spec.update_strategy->type != api::kUpdateRolling)) return renewal;
  renewal.budget = scheduled ? *spec.replicas : BudgetOf(spec);
  renewal.unavailable = std::max(0, *spec.replicas - int(kept.size()));
  for (const Worker* worker : kept) {
    const bool refused = revisions.IsCurrent(*worker->pod) && IsRefusedBySlurm(*worker);
    renewal.unavailable += refused || !IsInService(*worker, spec.min_ready_seconds, now);
  }

  std::vector<const Worker*> chosen, others, held;
  for (const Worker* worker : renewal.old) {
    const bool serves = IsInService(*worker, spec.min_ready_seconds, now);
    if (worker->marked() && worker->stage == Stage::kServing && serves) {
      chosen.push_back(worker);
    } else if (worker->marked()) {
      renewal.go.push_back(worker);
      renewal.unavailable += serves;
    } else if (begin && worker->stage != Stage::kUnknown &&
               (!scheduled || IsImpaired(*worker) || IsInReservation(*worker, reservation))) {
      const Duration until =
          scheduled && !serves ? Duration::zero() : UntilGivenUp(*worker, spec.min_ready_seconds, now);
      if (until > Duration::zero()) renewal.requeue_after = std::min(renewal.requeue_after, until);
      (until == Duration::zero() ? renewal.go : IsAPersons(*worker) ? held : others).push_back(worker);
    }
  }
  // Those of a scale-in that nobody wants any more may be more than an update takes.
  for (const Worker* worker : chosen) {
    if (renewal.unavailable >= renewal.budget) break;
    renewal.go.push_back(worker);
    ++renewal.unavailable;
  }
  const auto sort = [jobs](std::vector<const Worker*>& some) {
    SortForScaleIn(some, jobs == nullptr ? JobEnds() : JobEndsOf(*jobs, some));
  };
  sort(others);
  sort(held);
  others.insert(others.end(), held.begin(), held.end());
  int busy = 0, left = 0;  // who goes and who does not, of those that run jobs
  for (const Worker* worker : others) {
    const bool counted = !IsInService(*worker, spec.min_ready_seconds, now);  // as unavailable already
    const bool goes = renewal.unavailable - counted < renewal.budget;
    if (worker->node != nullptr && worker->node->state.IsBusy() && !IsAPersons(*worker)) ++(goes ? busy : left);
    if (!goes) continue;
    renewal.go.push_back(worker);
    renewal.unavailable += !counted;
  }
  renewal.takes_busy = busy > 0 && left > 0;
  return renewal;
}

}  // namespace capstan::op::nodeset
