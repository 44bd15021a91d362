#include "operator/nodeset/going.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/identity.h"
#include "operator/nodeset/power.h"
#include "operator/nodeset/release.h"
#include "operator/pods.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeAction;

constexpr Duration kEndedPause = 20s;  // between the births of two pods of one worker that ended
constexpr Duration kHeldAgain = 1min;  // until a proof is tried of what somebody else drained and an old write may lift

// One worker that goes, and what is wanted to that end.
class Leaving {
 public:
  Leaving(const Look& look, const Worker& worker, const Errand& errand)
      : look_(look), worker_(worker), errand_(errand), wants_(look.Part()) {}

  plan::Plan Run() {
    Step();
    return std::move(wants_);
  }

 private:
  void Step() {
    switch (worker_.stage) {
      case Stage::kLeaving:
      case Stage::kEnded:
        return;
      case Stage::kUnbound:
        if (worker_.powering_up) return Await();
        // Placing it would change it: the exact version that was seen proves that it never ran.
        wants_.Add(RemovalOf(worker_, errand_.why + ": the worker was never placed on a node"));
        return;
      case Stage::kUnknown:
        // While Slurm is not heard nobody knows who is busy, nor can Slurm be told anything: who goes is chosen later.
        if (look_.slurm.heard() || errand_.to_none) Mark();
        return;
      case Stage::kUnregistered:
        if (worker_.powering_up) return Await();
        Mark();
        if (look_.IsComing(worker_)) Expect();
        // Absence alone justifies deleting neither a worker that is ready nor one that is about to register.
        if (look_.slurm.absence_counts() && (worker_.pod->Ready() ? look_.IsForgotten(wants_, worker_) : IsStuck()))
          RemoveProven(true);
        return;
      case Stage::kPoweredDown:
        Mark();
        RemovePoweredDown();
        return;
      case Stage::kHeld:
        Mark();
        if (worker_.may_be_lifted)
          wants_.RequeueAfter(kHeldAgain);
        else if (worker_.node->state.IsDrained())
          RemoveProven(false);
        else
          Expect();
        return;
      case Stage::kDrained:
        if (worker_.may_be_lifted) return Drain();
        Mark();
        RemoveProven(false);
        return;
      case Stage::kDraining:
        if (worker_.may_be_lifted || worker_.node->reason != ReasonToGo(worker_)) return Drain();
        Mark();
        Expect();
        return;
      case Stage::kDown:
      case Stage::kServing:
        Drain();
        return;
    }
  }

  // A job may wait for it: that ends in its time (ResumeTimeout).
  void Await() {
    if (errand_.may_be_deleted) AddPart(wants_, ReplaceEarlier(look_, worker_));
    Expect();
  }

  void Expect() { wants_.slurm_expects.push_back(worker_.host); }

  // It will not register any more, as far as one can tell: the kubelet says why, or it has had its time.
  bool IsStuck() { return !PodTrouble(*worker_.pod).empty() || look_.IsLate(wants_, worker_); }

  std::vector<plan::ActionId> Mark() {
    if (worker_.marked()) return {};
    return {wants_.Add(MarkOf(worker_, true, errand_.why))};
  }

  void Drain() {
    std::vector<plan::ActionId> marked = Mark();
    // A reason that a person gave for a DOWN stays; slurmctld's own may go.
    const std::string& present = worker_.node->reason;
    const bool keep = worker_.stage == Stage::kDown && !present.empty() && !slurm::IsReasonOfSlurmctld(present) &&
                      !present.starts_with(kReasonPrefix);
    slurm::NodeUpdate update{.action = NodeAction::kDrain, .reason = keep ? present : ReasonToGo(worker_)};
    look_.Update(wants_, "drain", worker_, std::move(update), errand_.why,
                 {keep ? plan::NodeIsDownFor(look_.cluster, worker_.host, present) : look_.NotHeld(worker_)});
    wants_.actions.back().after = std::move(marked);
    wants_.actions.back().event = errand_.event;
  }

  // Fewer workers may have been wanted once than are now, and an API server that lags shows that again. Only who has been
  // marked goes, and only as long as the mark stands: a deletion on its way, even one that nobody has heard of since,
  // fails once the mark has been taken off, and no drain is lifted before.
  void RemoveProven(bool absent_is_enough) {
    if (!worker_.marked() || !errand_.may_be_deleted) return;
    // Its drain may be being lifted still, as of when it was wanted: what is proven now would not hold for long.
    if (look_.world.InFlight(plan::NodeTarget(look_.cluster, worker_.host))) return;
    plan::Action remove = RemovalOf(worker_, errand_.why + ": the worker is drained and runs no job");
    remove.guards = {AsksForTheSame(look_.set)};
    if (absent_is_enough || !worker_.record_is_sure) remove.guards.push_back(SlurmdIsFree(worker_));
    remove.guards.push_back(plan::NodeIsDrained(look_.cluster, worker_.host, absent_is_enough));
    wants_.Add(std::move(remove));
    Expect();
  }

  // A job that is given its node meanwhile waits for a slurmd that begins later. It is not drained before: that would end such a job. What is left:
  // its slurmd begins or is started anew between the proof and the deletion, registers, and gets a job.
  void RemovePoweredDown() {
    if (!worker_.marked()) return;
    plan::Action remove = RemovalOf(worker_, errand_.why);
    remove.event = errand_.event;
    if (!worker_.record_is_sure) remove.guards.push_back(SlurmdIsFree(worker_));
    remove.guards.push_back(plan::NodeIsPoweredDown(look_.cluster, worker_.host));
    wants_.Add(std::move(remove));
    Expect();
  }

  const Look& look_;
  const Worker& worker_;
  const Errand& errand_;
  plan::Plan wants_;
};

}  // namespace

plan::Plan Go(const Look& look, const Worker& worker, const Errand& errand) {
  return Leaving(look, worker, errand).Run();
}

plan::Plan RemoveEnded(const Look& look, const Worker& worker) {
  plan::Plan wants = look.Part();
  // A kubelet that takes none would be asked again at once, for ever. A clock that was put back tells nothing.
  const auto created = worker.pod->metadata.creation_timestamp;
  const Duration age = created ? look.world.now() - *created : kEndedPause;
  if (age > -kEndedPause && age < kEndedPause)
    wants.RequeueAfter(kEndedPause - std::max(age, Duration::zero()));
  else
    wants.Add(RemovalOf(worker, "the worker has ended (" + worker.pod->status.phase + ") and is replaced"));
  return wants;
}

}  // namespace capstan::op::nodeset
