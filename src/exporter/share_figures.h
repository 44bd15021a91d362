// The series of what accounts and users may use, and have used, of the cluster.
#pragma once

#include <array>
#include <vector>

#include "exporter/exposition.h"
#include "exporter/limits.h"
#include "slurm/accounting.h"

namespace capstan::exporter {

// What finds no room, by label.
std::array<Uncounted, 2> ShowShares(Exposition& out, const std::vector<slurm::Share>& shares);

}  // namespace capstan::exporter
