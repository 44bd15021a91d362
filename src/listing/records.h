// Slurm's records as a person or a script sees them: a row of a table, or a JSON object.
//
// Both say what the library keeps of a record (slurm/snapshot.h, slurm/source.h). A text or a time that Slurm did not say is
// absent in JSON and "-" in a table; a number is 0. Fields have Slurm's names, or names like them where Slurm nests or counts them
// otherwise. Times are in UTC, limits of time in JSON in minutes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"
#include "listing/table.h"
#include "slurm/snapshot.h"
#include "slurm/source.h"
#include "slurm/usage.h"

namespace capstan::listing {

enum class Format : uint8_t { kTable, kJson };

// One record, as one of the two. Equal ones show the same.
struct Shown {
  std::string key;                 // tells it from all others of its kind: a name, the id of a job
  std::vector<std::string> cells;  // one for each of its kind's columns; empty with kJson
  json::Value object;              // null with kTable
};

std::vector<Column> NodeColumns();
Shown Show(const slurm::Node& node, Format format);

std::vector<Column> JobColumns();
Shown Show(const slurm::Job& job, Format format);

std::vector<Column> PartitionColumns();
Shown Show(const slurm::Partition& partition, Format format);

std::vector<Column> ReservationColumns();
Shown Show(const slurm::Reservation& reservation, Format format);

std::vector<Column> PingColumns();
Shown Show(const slurm::ControllerPing& ping, Format format);

// slurmctld's statistics: a row for each figure, in Slurm's order.
std::vector<Column> StatisticsColumns();
std::vector<Shown> ShowAll(const slurm::Statistics& statistics, Format format);

}  // namespace capstan::listing
