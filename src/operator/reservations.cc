#include "operator/reservations.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "plan/services.h"

namespace capstan::op {

async::Task<Result<std::optional<plan::Question::Fetched>>> ReservationInSlurm::Fetch(plan::Services& services,
                                                                                      async::Deadline deadline) const {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster));
  CAPSTAN_CO_TRY(auto all, co_await source->ReadReservations(deadline));
  const auto found = std::ranges::find(all, name, &slurm::Reservation::name);
  if (found == all.end()) co_return std::optional<Fetched>();
  uint64_t digest = Fnv64(found->nodes, uint64_t(UnixSeconds(found->start)));
  digest = Fnv64(Join(found->flags, ","), digest + uint64_t(UnixSeconds(found->end)));
  digest = Fnv64(Join(found->users, ","), digest);
  co_return Fetched{std::make_shared<const Value>(std::move(*found)), digest};
}

}  // namespace capstan::op
