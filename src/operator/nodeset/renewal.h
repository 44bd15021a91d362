// How a new template reaches workers that run: which of them are renewed now. A worker is renewed the way it goes in a
// scale-in (mark, drain, proof, deletion), and comes back under its ordinal. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"

namespace capstan::op::nodeset {

// By which template workers are current.
struct Revisions {
  std::string current;
  std::string former;  // ""; or workers that bear it are of the current revision as well (takeover.h)
  // These as well, and follow what has changed since: by revision, their extraConf (live_conf.h).
  std::map<std::string, std::string, std::less<>> alike;

  bool IsCurrent(const Pod& pod) const;
};

// One look at the workers that stay.
struct Renewal {
  std::vector<const Worker*> old;  // of another template, and not ended; by ordinal
  std::vector<const Worker*> go;   // of these, those that are renewed now
  int unavailable = 0;             // of those that there should be: missing, leaving, not in service, or going
  int budget = 0;                  // how many may be unavailable for the sake of the update
  bool takes_busy = false;         // of several with jobs only some go: who that is hangs on the ends of their jobs
  Duration requeue_after = Duration::max();  // one that is not ready may go beside the budget then
};

// How long until a pod has been ready for minReadySeconds, if it stays so; max: it is not ready.
Duration UntilAvailable(const Pod& pod, int32_t min_ready_seconds, Time now);

// Under RollingUpdate, of the old ones: all that are out of service, for they take nothing away (marked and drained; not ready
// for a minute, or without Slurm giving them work); then as many others as the budget leaves, those first that are marked,
// then those that go first in a scale-in, those that a person holds last. A current worker that Slurm itself has drained
// since it was made is out of service: an update that its slurmctld does not bear stops there. While `begin` is false none
// but the marked. `jobs` tell whose end first; nullptr: not known. Who cannot be told from Slurm (kUnknown) is not chosen.
// Under ScheduledUpdate all that are marked, impaired (not ready, DOWN, or unknown to Slurm), or in the NodeSet's active
// `reservation`. Under another strategy nobody.
// `kept` are the workers that stay, by ordinal, of `spec.replicas`; `spec` has its defaults.
Renewal RenewalOf(const api::NodeSetSpec& spec, const std::vector<const Worker*>& kept, const Revisions& revisions,
                  bool begin, const std::vector<slurm::Job>* jobs, std::string_view reservation, Time now);

}  // namespace capstan::op::nodeset
