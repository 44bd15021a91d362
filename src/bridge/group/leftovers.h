// Jobs that stand for a group and for none of its pods: of a group whose pods are gone, and of attempts before the one that its
// pods bear.
#pragma once

#include <span>
#include <string>

#include "bridge/mark.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::bridge::group {

// What Slurm says of a job is believed for so long.
inline constexpr Duration kNewsHold = 1min;

// What was heard of the jobs that are followed is recent.
bool IsFresh(const plan::SlurmView& slurm);

// Of a job that is absent: its submission may still be on its way.
bool MayComeLate(plan::Plan& plan, const plan::World& world, int64_t id);

// Goes on to follow all jobs that the key has followed but `current`, of which the Plan says what it wants, until each is known to
// be over, another's, or, for a minute, absent, and ends those that bear the group's mark, with `outcome` unless theirs stands
// there already. A submission that comes late is seen so. REQUIRES: every pod of the group has ended or bears another job's id, as
// far as is seen; that none with the job's own id could run is proven before it ends.
void EndLeftovers(plan::Plan& plan, const plan::World& world, const JobMark& group, std::span<const int64_t> current,
                  const std::string& outcome);

}  // namespace capstan::bridge::group
