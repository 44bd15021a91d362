// layer: operator
// expect: no matching function for call to 'Delete'
// There is no deletion without a guard.
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

capstan::plan::Action Remove(capstan::plan::ObjectRef ref) {
  using namespace capstan::plan;
#ifdef OFFENCE
  return Delete(ref, "uid", {}, "because");
#else
  return Delete(ref, "uid", Proven(NodeIsDrained("slurm/main", "w-0", false)), "because");
#endif
}
