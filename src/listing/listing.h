// Shows what a Reader finds, and goes on with what changes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "base/random.h"
#include "base/result.h"
#include "listing/reader.h"
#include "listing/table.h"

namespace capstan::listing {

struct Options {
  bool watch = false;
  Duration every = 2s;      // between two reads of a watch; more where a read takes longer than a tenth of it
  Duration patience = 30s;  // for one read
  uint64_t seed = 0;        // of the jitter
  // Text for standard output: whole lines. False: nobody reads it any more.
  std::function<bool(const std::string& text)> out;
  // A sentence for standard error.
  std::function<void(const std::string& sentence)> say;
};

// Reads and shows once; an array in JSON. kNotFound: some of the names are not there; the others have been shown. kUnavailable also
// when `out` says false, and when no slurmctld responds to a ping.
//
// With Options::watch it goes on until `out` says false or it is cancelled: a row for each record that came, changed or went, in a
// table behind ADDED, MODIFIED or DELETED (of what went, as it was last), in JSON a line {"type": "MODIFIED", "object": {...}}
// each. Names that are not there are said once, and waited for. A read that fails is said once, and tried again with growing waits
// up to half a minute; a first read that fails ends it. Every five minutes all is read, whatever Slurm says of changes.
async::Task<Result<void>> List(async::Loop& loop, Reader reader, Options options);

}  // namespace capstan::listing
