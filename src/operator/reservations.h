// Reservations in Slurm, which no snapshot shows.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "plan/question.h"
#include "plan/slurm/effects.h"
#include "slurm/source.h"

namespace capstan::op {

// How old an answer about one may be: no store shows them, so it is read again after it.
inline constexpr Duration kReservationAge = 30s;

inline bool HasFlag(const slurm::Reservation& reservation, std::string_view flag) {
  return std::ranges::find(reservation.flags, flag) != reservation.flags.end();
}

// A reservation as Slurm has it; absent: there is none of that name.
struct ReservationInSlurm final : plan::Question {
  using Value = slurm::Reservation;
  ReservationInSlurm(std::string cluster, std::string name) : cluster(std::move(cluster)), name(std::move(name)) {}
  std::string id() const override { return plan::ReservationTarget(cluster, name); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string cluster;  // "ns/controller"
  std::string name;
};

}  // namespace capstan::op
