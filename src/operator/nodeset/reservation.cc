#include "operator/nodeset/reservation.h"

#include <algorithm>
#include <array>

#include "operator/names.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/slurm/effects.h"
#include "slurm/hostlist.h"

namespace capstan::op::nodeset {
namespace {

constexpr std::string_view kPrefix = "SlurmOperatorMaint-";  // what follows is the NodeSet's name
constexpr std::string_view kForceStart = "FORCE_START";      // Slurm takes a start in the past, of one that comes again

// Of a reservation that comes again: how long after the time before, and on which days.
struct Recurrence {
  std::string_view flag;
  Duration period;
  bool weekdays = true, weekends = true;
};
constexpr auto kRecurrences = std::to_array<Recurrence>({
    {"HOURLY", 1h},
    {"DAILY", 24h},
    {"WEEKLY", 7 * 24h},
    {"WEEKDAY", 24h, true, false},
    {"WEEKEND", 24h, false, true},
});

// Flags by which Slurm tells one reservation from another, and which it shows as they were asked for; the others are of its
// making, or of the making of the reservation.
constexpr auto kTold = std::to_array<std::string_view>(
    {"DAILY", "FLEX", "HOURLY", "IGNORE_JOBS", "MAGNETIC", "MAINT", "WEEKDAY", "WEEKEND", "WEEKLY"});

bool Has(const std::vector<std::string>& flags, std::string_view flag) {
  return std::ranges::find(flags, flag) != flags.end();
}

std::vector<std::string> FlagsOf(const api::ScheduledUpdate& asked) {
  std::vector<std::string> flags = {"IGNORE_JOBS", "MAINT"};
  for (std::string flag : asked.flags) {
    std::ranges::transform(flag, flag.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
    flags.push_back(std::move(flag));
  }
  std::ranges::sort(flags);
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

bool AreSame(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::all_of(kTold, [&](std::string_view flag) { return Has(a, flag) == Has(b, flag); });
}

const Recurrence* RecurrenceOf(const std::vector<std::string>& flags) {
  const auto found = std::ranges::find_if(kRecurrences, [&](const Recurrence& one) { return Has(flags, one.flag); });
  return found == kRecurrences.end() ? nullptr : &*found;
}

bool IsOnRightDay(Time time, const Recurrence& recurrence) {
  const unsigned day = std::chrono::weekday(std::chrono::floor<std::chrono::days>(time)).iso_encoding();
  return day <= 5 ? recurrence.weekdays : recurrence.weekends;
}

// `start`, or the first of its times after `now`.
Time NextStart(Time start, const Recurrence& recurrence, Time now) {
  if (start <= now) start += (now - start) / recurrence.period * recurrence.period + recurrence.period;
  while (!IsOnRightDay(start, recurrence)) start += recurrence.period;
  return start;
}

// Slurm has the reservation for a time that was asked for.
bool IsTimeOf(const slurm::Reservation& present, Time start, const Recurrence* recurrence) {
  if (recurrence == nullptr) return present.start == start;
  return present.start >= start && (present.start - start) % recurrence->period == Duration::zero();
}

// `nodes`: sorted. Slurm's list may be anything, and is read no further than they are many.
bool IsOf(const slurm::Reservation& present, const std::vector<std::string>& nodes) {
  auto names = slurm::ExpandHostlist(present.nodes, nodes.size());
  if (!names) return false;
  std::ranges::sort(*names);
  return *names == nodes;
}

}  // namespace

std::string ReservationName(const api::NodeSet& set) { return std::string(kPrefix) + set.metadata.name; }

bool IsScheduled(const api::NodeSetSpec& spec) {
  return spec.update_strategy && spec.update_strategy->type == api::kUpdateScheduled;
}

bool IsInReservation(const Worker& worker, std::string_view reservation) {
  return worker.node != nullptr && worker.node->state.Has(slurm::NodeFlag::kMaintenance) &&
         worker.node->reservation == reservation;
}

ReservationStep NextReservation(const api::NodeSetSpec& spec, const std::string& name,
                                const slurm::Reservation* present, const std::vector<std::string>& nodes, Time now) {
  const api::ScheduledUpdate asked = spec.update_strategy->scheduled_update.value_or(api::ScheduledUpdate());
  const auto duration = api::ParseGoDuration(asked.duration.value_or("30m"));
  if (!asked.start_time || !duration)
    return {.write = {}, .held = "spec.updateStrategy.scheduledUpdate needs a startTime and a duration such as 30m"};
  const Time start = std::chrono::floor<std::chrono::seconds>(*asked.start_time);
  const Duration length = std::chrono::ceil<std::chrono::minutes>(*duration);
  if (nodes.empty()) return {.held = present == nullptr ? "no worker has registered yet" : ""};
  const bool active = present != nullptr && present->start <= now && now < present->end;
  const std::vector<std::string> flags = FlagsOf(asked);
  const Recurrence* recurrence = RecurrenceOf(flags);
  const bool same = present != nullptr && AreSame(present->flags, flags) && present->end - present->start == length &&
                    IsTimeOf(*present, start, recurrence);
  ReservationStep step;
  if (active || same) {
    if (IsOf(*present, nodes) || present->end <= now) return step;
    step.why = "other workers than before";
    step.write = {.name = name, .nodes = nodes, .flags = {}, .users = {}, .start = {}, .duration = {}};
    return step;
  }
  const bool forced = recurrence != nullptr && Has(flags, kForceStart);
  if (start <= now && recurrence == nullptr) {
    step.held = "spec.updateStrategy.scheduledUpdate.startTime has passed; name another one";
    step.remove = present != nullptr;
    step.why = "it is for a time that nobody asks for any more";
    return step;
  }
  step.remove = present != nullptr;
  step.why =
      present == nullptr ? "workers are to be renewed in it" : "it is wanted for another time, or in another way";
  step.write = {.name = name,
                .nodes = nodes,
                .flags = flags,
                .users = {std::string(kSlurmUserName)},
                .start = recurrence == nullptr || forced ? start : NextStart(start, *recurrence, now),
                .duration = length};
  return step;
}

plan::Action HoldForReservation(const api::NodeSet& set) {
  return {.effect = plan::AddFinalizer({&api::NodeSet::kResource, {set.metadata.namespace_, set.metadata.name}},
                                       set.metadata, kFinalizerReservation),
          .reason = "a reservation in Slurm is to go with it",
          .guards = {},
          .after = {},
          .event = {}};
}

void ReleaseReservation(const api::NodeSet& set, bool ask_slurm, plan::Plan& plan) {
  if (!ask_slurm && !set.metadata.deleting()) return;
  std::vector<plan::ActionId> removed;
  if (ask_slurm) {
    removed.push_back(plan.Add({.effect = plan::DeleteReservation(plan.slurm_cluster, ReservationName(set)),
                                .reason = "no scheduled update is asked for any more",
                                .guards = {},
                                .after = {},
                                .event = {}}));
  }
  plan.Add({.effect = plan::RemoveFinalizer({&api::NodeSet::kResource, {set.metadata.namespace_, set.metadata.name}},
                                            set.metadata, kFinalizerReservation),
            .reason = "it has no reservation in Slurm any more",
            .guards = {},
            .after = std::move(removed),
            .event = {}});
}

}  // namespace capstan::op::nodeset
