#include "slurm/external_job.h"

#include "base/hash.h"
#include "json/codec.h"
#include "slurm/rest_wire.h"

namespace capstan::slurm {

uint64_t ExternalJob::Digest() const { return Fnv64(json::Encode(wire::ToBody(*this))); }

}  // namespace capstan::slurm
