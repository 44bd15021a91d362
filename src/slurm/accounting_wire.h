// The JSON of slurmrestd behind accounting.h and job_resources.h. Used by RestClient alone, as rest_wire.h.
#pragma once

#include <string>
#include <vector>

#include "slurm/accounting.h"
#include "slurm/job_resources.h"
#include "slurm/rest_wire.h"

namespace capstan::slurm::wire {

// As Number.
struct Fraction {
  bool set = false, infinite = false;
  double number = 0;
  static const json::Schema& Schema();

  std::optional<double> Get() const { return set && !infinite ? std::optional(number) : std::nullopt; }
};

struct FairShare {
  Fraction factor;
  static const json::Schema& Schema();
};

struct ShareRecord {
  std::string name, parent, partition;
  std::vector<std::string> type;  // USER or ASSOCIATION
  Number shares;
  Fraction shares_normalized, effective_usage;
  FairShare fairshare;
  int64_t usage = 0;
  static const json::Schema& Schema();

  Share ToShare() &&;
};

struct BookedState {
  std::vector<std::string> current;
  std::string reason;
  static const json::Schema& Schema();
};

struct BookedTimes {
  int64_t submission = 0, start = 0, end = 0, elapsed = 0;
  static const json::Schema& Schema();
};

struct Signal {
  Number id;
  static const json::Schema& Schema();
};

struct ExitCode {
  Number return_code;
  Signal signal;
  static const json::Schema& Schema();
};

struct BookedJobRecord {
  int64_t job_id = 0;
  std::string cluster, name, user, account, partition, qos, nodes;
  BookedState state;
  BookedTimes time;
  ExitCode exit_code;
  static const json::Schema& Schema();

  BookedJob ToJob() &&;
};

struct BookedJobsAnswer {
  std::vector<BookedJobRecord> jobs;
  static const json::Schema& Schema();
};

struct DeviceRecord {
  std::string name, type, index;
  int64_t count = 0;
  static const json::Schema& Schema();
};

struct ResourcesRecord {
  std::string node, core_bitmap;
  int64_t sockets_per_node = 0, cores_per_socket = 0, mem_alloc = 0;
  std::vector<DeviceRecord> gres;
  static const json::Schema& Schema();

  Result<JobResources> ToResources() &&;
};

struct ResourcesAnswer {
  std::vector<ResourcesRecord> nodes;
  static const json::Schema& Schema();
};

}  // namespace capstan::slurm::wire
