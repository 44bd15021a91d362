// The series of slurmctld's statistics (diag), of its licenses and reservations, and of itself.
#pragma once

#include <vector>

#include "exporter/exposition.h"
#include "slurm/source.h"
#include "slurm/usage.h"

namespace capstan::exporter {

// Units are as Slurm's, whatever the names say: times of the scheduler are microseconds.
void ShowStatistics(Exposition& out, const slurm::Statistics& statistics);

void ShowLicenses(Exposition& out, const std::vector<slurm::License>& licenses);

void ShowReservations(Exposition& out, const std::vector<slurm::Reservation>& reservations);

void ShowControllers(Exposition& out, const std::vector<slurm::ControllerPing>& controllers);

}  // namespace capstan::exporter
