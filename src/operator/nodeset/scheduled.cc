#include "operator/nodeset/scheduled.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/reservation.h"
#include "operator/reservations.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

// Its nodes tell that it has begun.
void AwaitBegin(const Look& look, const slurm::Reservation& reservation, const std::vector<const Worker*>& kept,
                const Revisions& revisions, plan::Plan& wants) {
  const Time now = look.world.now();
  if (now < reservation.start) return wants.RequeueAfter(reservation.start - now);
  if (now >= reservation.end) return;
  for (const Worker* worker : kept) {
    const bool waits = !revisions.IsCurrent(*worker->pod) && !IsInReservation(*worker, reservation.name);
    if (waits && !worker->host.empty()) wants.slurm_expects.push_back(worker->host);
  }
}

void Say(const slurm::Reservation* present, const std::string& name, const ReservationStep& step, Findings& findings) {
  if (present != nullptr) {
    findings.Own(api::kReservationCreated, "True", "Created",
                 "Slurm has reservation " + name + " from " + FormatRfc3339(present->start) + " to " +
                     FormatRfc3339(present->end) + (step.held.empty() ? "" : "; " + step.held));
  } else {
    findings.Own(api::kReservationCreated, "False", "NotExists",
                 "Slurm has no reservation " + name + (step.held.empty() ? "; it is being made" : ": " + step.held));
  }
}

void Write(const Look& look, const std::string& name, const ReservationStep& step, plan::Plan& wants) {
  std::vector<plan::ActionId> removed;
  if (step.remove) {
    removed.push_back(wants.Add({.effect = plan::DeleteReservation(look.cluster, name),
                                 .reason = step.why,
                                 .guards = {AsksForTheSame(look.set)},
                                 .after = {},
                                 .event = {}}));
  }
  if (!step.write) return;
  wants.Add({.effect = plan::WriteReservation(look.cluster, *step.write),
             .reason = step.why,
             .guards = {AsksForTheSame(look.set)},
             .after = std::move(removed),
             .event = {}});
}

}  // namespace

plan::Plan KeepReservation(const Look& look, const std::vector<const Worker*>& kept, const Revisions& revisions,
                           Findings& findings) {
  plan::Plan wants = look.Part();
  const bool wanted = IsScheduled(look.spec) && *look.spec.replicas > 0;
  const bool held = HasFinalizer(look.set, kFinalizerReservation);
  if (!wanted) {
    if (held) ReleaseReservation(look.set, look.slurm.heard(), wants);
    return wants;
  }
  if (!held) {
    wants.Add(HoldForReservation(look.set));
    return wants;
  }
  const std::string name = ReservationName(look.set);
  const auto seen = look.world.Ask(ReservationInSlurm(look.cluster, name), kReservationAge);
  if (seen.value == nullptr && !seen.absent()) {
    findings.Own(api::kReservationCreated, "Unknown", "SlurmNotAsked",
                 "Slurm has not said yet whether there is a reservation " + name +
                     (seen.error.empty() ? "" : " (" + seen.error + ")"));
    return wants;
  }
  std::vector<std::string> nodes;
  for (const Worker* worker : kept) {
    if (worker->node != nullptr) nodes.push_back(worker->host);
  }
  std::ranges::sort(nodes);
  const ReservationStep step = NextReservation(look.spec, name, seen.value, nodes, look.world.now());
  Say(seen.value, name, step, findings);
  if (seen.value != nullptr) AwaitBegin(look, *seen.value, kept, revisions, wants);
  const bool writes = look.world.InFlight(plan::ReservationTarget(look.cluster, name));
  if (writes || !look.slurm.heard() || !(seen.known() || seen.absent())) return wants;
  Write(look, name, step, wants);
  return wants;
}

}  // namespace capstan::op::nodeset
