#include "operator/nodeset/deletion.h"

#include <algorithm>

#include "api/controller.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/release.h"

namespace capstan::op::nodeset {
namespace {

// One look at a NodeSet that is being deleted.
class Looking {
 public:
  Looking(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
          const std::vector<Worker>& workers)
      : world_(world), set_(set), slurm_(slurm), workers_(workers) {}

  Deletion Run() {
    deletion_.foreground = HasFinalizer(set_, kFinalizerForeground);
    deletion_.records = RecordsLeft();
    deletion_.state = Find();
    return std::move(deletion_);
  }

 private:
  DeletionState Find() {
    if (HasFinalizer(set_, kFinalizerOrphan)) return DeletionState::kOrphaning;
    const bool workers =
        std::ranges::any_of(workers_, [&](const Worker& worker) { return !IsWaitedForInVain(worker); });
    if (!workers && slurm_.heard() && deletion_.records.empty()) return DeletionState::kDone;
    if (set_.metadata.Annotation(AsKey<kAnnotationForceDelete>()) == "true" ||
        set_.metadata.Annotation(AsKey<kFormerAnnotationForceDelete>()) == "true") {
      deletion_.why = "the annotation " + std::string(kAnnotationForceDelete) + " asks for it";
      return DeletionState::kForced;
    }
    if (IsAbandoned()) return DeletionState::kAbandoned;
    if (IsSilent()) return DeletionState::kSilent;
    if (workers || !slurm_.heard()) return DeletionState::kDraining;
    if (deletion_.reserved || deletion_.powers_up) return DeletionState::kTidying;
    return Lasts("no worker is left") ? DeletionState::kDone : DeletionState::kTidying;
  }

  // `fact` has held for as long as anybody waits.
  bool Lasts(std::string_view fact) {
    const Duration held = world_.HeldFor(fact);
    if (held < kDeletionTimeout) RequeueAfter(kDeletionTimeout - held);
    return held >= kDeletionTimeout;
  }
  void RequeueAfter(Duration wait) { deletion_.requeue_after = std::min(deletion_.requeue_after, wait); }

  bool IsWaitedForInVain(const Worker& worker) {
    if (worker.stage != Stage::kLeaving) return false;
    const Duration since = world_.now() - *worker.pod->metadata.deletion_timestamp;
    if (since < kDeletionTimeout) RequeueAfter(kDeletionTimeout - since);
    return since >= kDeletionTimeout;
  }

  bool IsAbandoned() {
    const std::string& ns = set_.metadata.namespace_;
    const std::string& name = set_.spec.controller_ref.name;
    const auto* controller = world_.Find<api::Controller>({ns, name});
    if (controller == nullptr || controller->metadata.deleting()) {
      deletion_.why = "its Controller " + name + (controller == nullptr ? " is gone" : " is being deleted");
      return true;
    }
    return false;
  }

  bool IsSilent() {
    if (slurm_.heard()) return false;
    const bool lasts = Lasts("Slurm is not heard");
    const Duration since = world_.now() - *set_.metadata.deletion_timestamp;
    if (since < kDeletionTimeout) RequeueAfter(kDeletionTimeout - since);
    deletion_.why = "Slurm has not answered for ten minutes (" + slurm_.error() + ")";
    return lasts && since >= kDeletionTimeout;
  }

  std::vector<std::string> RecordsLeft() {
    std::vector<std::string> left;
    if (!slurm_.heard()) return left;
    const auto hosts = HostsWithPod(world_, set_, workers_);
    for (const slurm::Node& node : slurm_.All()) {
      if (hosts.contains(node.name) || !IsRecordOf(node, set_) || IsHeld(node, set_)) continue;
      left.push_back(node.name);
      deletion_.powers_up = deletion_.powers_up || node.state.AwaitsSlurmd();
      deletion_.reserved = deletion_.reserved || node.state.Has(slurm::NodeFlag::kMaintenance);
    }
    return left;
  }

  const plan::World& world_;
  const api::NodeSet& set_;
  const plan::SlurmView& slurm_;
  const std::vector<Worker>& workers_;
  Deletion deletion_;
};

}  // namespace

Deletion DeletionOf(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                    const std::vector<Worker>& workers) {
  if (!set.metadata.deleting() || !(HasFinalizer(set, kFinalizerDrain) || HasFinalizer(set, kFormerFinalizerDrain)))
    return {};
  return Looking(world, set, slurm, workers).Run();
}

bool SaysThatItGivesUp(const api::NodeSet& set) {
  const api::Condition* degraded = api::FindCondition(set.status.conditions, api::kDegraded);
  return degraded != nullptr && degraded->status == "True" && degraded->reason == "DrainSkipped";
}

}  // namespace capstan::op::nodeset
