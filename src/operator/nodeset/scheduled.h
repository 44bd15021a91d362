// The steps of a ScheduledUpdate's reservation (reservation.h). Pure.
#pragma once

#include <vector>

#include "operator/findings.h"
#include "operator/nodeset/look.h"
#include "operator/nodeset/renewal.h"

namespace capstan::op::nodeset {

// Slurm has the reservation that is wanted for the workers that stay, or none; `findings` say which. The finalizer comes first
// and goes last, so that no reservation is left behind.
plan::Plan KeepReservation(const Look& look, const std::vector<const Worker*>& kept, const Revisions& revisions,
                           Findings& findings);

}  // namespace capstan::op::nodeset
