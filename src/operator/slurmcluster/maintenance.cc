#include "operator/slurmcluster/maintenance.h"

#include "operator/names.h"
#include "operator/reservations.h"

namespace capstan::op::slurmcluster {
namespace {

constexpr Duration kLength = 365 * 24h;  // no reservation is for ever
constexpr Duration kRenewed = 30 * 24h;  // before its end
constexpr Duration kBackdated = 1min;    // for a slurmctld whose clock is behind
constexpr Duration kStep = 5min;         // the same text meanwhile: what is sent twice is not written twice

// Slurm takes one of at most ten minutes ago.
Time StartNow(Time now) { return Time(now.time_since_epoch() / kStep * kStep) - kBackdated; }

}  // namespace

std::string ReservationName(std::string_view cluster) { return "capstan-" + std::string(cluster); }

bool IsForMaintenance(const slurm::Reservation& reservation) {
  return HasFlag(reservation, "MAINT") && HasFlag(reservation, "IGNORE_JOBS");
}

bool KeepsJobsOut(const slurm::Reservation& reservation, Time now) {
  return HasFlag(reservation, "ALL_NODES") && reservation.start <= now && now < reservation.end;
}

std::optional<slurm::ReservationUpdate> NextReservation(const std::string& name, const slurm::Reservation* present,
                                                        Time now) {
  slurm::ReservationUpdate update{
      .name = name, .nodes = {"ALL"}, .flags = {}, .users = {}, .start = {}, .duration = {}};
  if (present == nullptr) {
    update.flags = {"IGNORE_JOBS", "MAINT"};
    update.users = {"root", std::string(kSlurmUserName)};
    update.start = StartNow(now);
    update.duration = kLength;
    return update;
  }
  if (present->start > now) {  // by a clock that was put back
    update.start = StartNow(now);
    update.duration = kLength;
    return update;
  }
  const bool ends = present->end - now < kRenewed;
  if (ends) update.duration = std::chrono::ceil<std::chrono::minutes>(now - present->start + kLength);
  if (!ends && HasFlag(*present, "ALL_NODES")) return std::nullopt;
  return update;
}

}  // namespace capstan::op::slurmcluster
