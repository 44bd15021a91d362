// Takes a Slurm node out of service, the way a person who will open the machine wants it.
#pragma once

#include <string>

#include "async/loop.h"
#include "slurm/source.h"

namespace drain {

// Drains the node and waits until no job is on it. kNotFound: Slurm has no node of that name. kConflict: somebody took the drain
// back. kDeadline: it is not known that no job is there, and the message says why; the drain stays.
capstan::async::Task<capstan::Result<void>> Drain(capstan::async::Loop& loop, capstan::slurm::Source& source,
                                                  std::string node, std::string reason,
                                                  capstan::async::Deadline deadline);

}  // namespace drain
