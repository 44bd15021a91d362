// Reads the records of one kind, once or again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "listing/records.h"
#include "slurm/rest_client.h"

namespace capstan::listing {

enum class Kind : uint8_t { kNodes, kJobs, kPartitions, kReservations, kControllers, kStatistics };

std::vector<Column> ColumnsOf(Kind kind);

// What one read found.
struct Look {
  bool unchanged = false;            // since the read before, as far as Slurm tells; the rest is empty then
  std::vector<Shown> shown;          // in Slurm's order
  std::vector<std::string> missing;  // names that Slurm does not know
  std::string trouble;               // a sentence; "": what was read is as it should be
};

class Reader {
 public:
  // `names`: only these; empty: all. Of nodes they may be hostlists ("w-[0-3]"); of jobs they are ids, and the id of an array
  // stands for all of its tasks. kInvalid says what is wrong with them. REQUIRES: client outlives it.
  static Result<Reader> Make(slurm::RestClient& client, Kind kind, Format format,
                             const std::vector<std::string>& names);

  Kind kind() const { return kind_; }
  Format format() const { return format_; }

  // Each record once. Errors are RestClient's; the next Read after one is a whole one.
  async::Task<Result<Look>> Read(async::Deadline deadline);

  // The next Read finds all, whatever Slurm says of changes: it judges by slurmctld's clock, which may have been put back.
  void ReadWholeNext() { nodes_update_time_ = 0; }

 private:
  Reader(slurm::RestClient& client, Kind kind, Format format, std::vector<std::string> names)
      : client_(&client), kind_(kind), format_(format), names_(std::move(names)) {}

  template <class Record>
  Look Choose(const std::vector<Record>& records) const;
  async::Task<Result<Look>> ReadKind(async::Deadline deadline);
  async::Task<Result<Look>> ReadNodes(async::Deadline deadline);
  async::Task<Result<Look>> ReadJobs(async::Deadline deadline);

  slurm::RestClient* client_;
  Kind kind_;
  Format format_;
  std::vector<std::string> names_;  // each once, in the order given
  int64_t nodes_update_time_ = 0;
};

}  // namespace capstan::listing
