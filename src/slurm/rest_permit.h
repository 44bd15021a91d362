// How many requests a RestSource has in flight, beside its poller's. Of RestSource alone.
#pragma once

#include <memory>

#include "slurm/rest_source.h"

namespace capstan::slurm {

// The right to have a request in flight, beside the poller's.
class RestSource::Permit {
 public:
  static async::Task<Result<std::unique_ptr<Permit>>> Get(RestSource& source, async::Deadline deadline) {
    while (source.calls_ >= source.options_.max_calls) {
      source.call_ended_.Reset();
      if (!co_await source.call_ended_.Wait(deadline))
        co_return Fail(Code::kDeadline, "too many requests to slurmrestd are under way");
    }
    co_return std::make_unique<Permit>(source);
  }
  explicit Permit(RestSource& source) : source_(source) { ++source_.calls_; }
  ~Permit() {
    --source_.calls_;
    source_.call_ended_.Set();
  }

 private:
  RestSource& source_;
};

}  // namespace capstan::slurm
