#include "plan/slurm/effects.h"

#include "base/hash.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;

// `holds` of the node as the fresh read has it, and as it is known by now: newer than that read when a look that began
// after it was answered before it.
template <class Holds>
Proof Judge(Services& services, const std::string& cluster, const std::string& node,
            const std::optional<slurm::Node>& fresh, Holds holds) {
  if (!holds(fresh ? &*fresh : nullptr)) return Proof::kNo;
  const std::shared_ptr<slurm::Source> source = services.slurm.Find(cluster);
  const auto snapshot = source != nullptr ? source->Latest().snapshot : nullptr;
  return snapshot == nullptr || holds(snapshot->FindNode(node)) ? Proof::kYes : Proof::kNo;
}

class UpdateNodeEffect final : public Effect {
 public:
  UpdateNodeEffect(std::string_view verb, std::string cluster, slurm::NodeUpdate update)
      : verb_(verb), cluster_(std::move(cluster)), update_(std::move(update)) {}

  std::string_view verb() const override { return verb_; }
  std::string target() const override { return NodeTarget(cluster_, update_.names.front()); }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override {
    uint64_t hash = Fnv64(update_.reason.value_or(""), update_.action ? uint64_t(*update_.action) + 1 : 0);
    for (const auto* text : {&update_.comment, &update_.topology}) hash = Fnv64(text->value_or("\x01"), hash);
    for (const auto* list : {&update_.features, &update_.active_features}) {
      if (!*list) continue;
      for (const std::string& feature : **list) hash = Fnv64(feature, hash + 1);
    }
    return hash;
  }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    co_return co_await services.slurm.UpdateNode(cluster_, update_, deadline);
  }

 private:
  std::string verb_;
  std::string cluster_;
  slurm::NodeUpdate update_;
};

class CreateNodeEffect final : public Effect {
 public:
  CreateNodeEffect(std::string cluster, slurm::NewNode node) : cluster_(std::move(cluster)), node_(std::move(node)) {}

  std::string_view verb() const override { return "register"; }
  std::string target() const override { return NodeTarget(cluster_, slurm::NameOf(node_)); }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override { return Fnv64(slurm::LineOf(node_).value_or("")); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    co_return co_await services.slurm.CreateNode(cluster_, node_, deadline);
  }

 private:
  std::string cluster_;
  slurm::NewNode node_;
};

class DeleteNodeEffect final : public Effect {
 public:
  DeleteNodeEffect(std::string cluster, std::string node) : cluster_(std::move(cluster)), node_(std::move(node)) {}

  std::string_view verb() const override { return "remove record"; }
  std::string target() const override { return NodeTarget(cluster_, node_); }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override { return 0; }
  bool destructive() const override { return true; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    co_return co_await services.slurm.DeleteNode(cluster_, node_, deadline);
  }

 private:
  std::string cluster_;
  std::string node_;
};

class WriteReservationEffect final : public Effect {
 public:
  WriteReservationEffect(std::string cluster, slurm::ReservationUpdate update)
      : cluster_(std::move(cluster)), update_(std::move(update)) {}

  std::string_view verb() const override { return "write reservation"; }
  std::string target() const override { return ReservationTarget(cluster_, update_.name); }
  std::string outdates() const override { return target(); }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override {
    uint64_t hash = Fnv64("reservation", update_.start ? uint64_t(UnixSeconds(*update_.start)) : 0);
    hash = Fnv64("for", hash + (update_.duration ? uint64_t(update_.duration->count()) : 0));
    for (const auto* list : {&update_.nodes, &update_.flags, &update_.users}) {
      hash = Fnv64("list", hash);
      for (const std::string& one : *list) hash = Fnv64(one, hash + 1);
    }
    return hash;
  }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    co_return co_await source->WriteReservation(update_, deadline);
  }

 private:
  std::string cluster_;
  slurm::ReservationUpdate update_;
};

class DeleteReservationEffect final : public Effect {
 public:
  DeleteReservationEffect(std::string cluster, std::string name)
      : cluster_(std::move(cluster)), name_(std::move(name)) {}

  std::string_view verb() const override { return "remove reservation"; }
  std::string target() const override { return ReservationTarget(cluster_, name_); }
  std::string outdates() const override { return target(); }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override { return 0; }
  bool destructive() const override { return true; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    co_return co_await source->DeleteReservation(name_, deadline);
  }

 private:
  std::string cluster_;
  std::string name_;
};

class ReconfigureEffect final : public Effect {
 public:
  ReconfigureEffect(std::string cluster, std::string text) : cluster_(std::move(cluster)), text_(std::move(text)) {}

  std::string_view verb() const override { return "reconfigure"; }
  std::string target() const override { return "slurmctld of " + cluster_; }
  Lane lane() const override { return cluster_; }
  uint64_t content() const override { return Fnv64(text_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster_));
    co_return co_await source->Reconfigure(deadline);
  }

 private:
  std::string cluster_;
  std::string text_;
};

// No job holds the node, suspended ones included, and its state is such.
class NodeWithoutJobGuard final : public Guard {
 public:
  NodeWithoutJobGuard(std::string cluster, std::string node, std::string_view is,
                      bool (*state)(const slurm::NodeState&), bool absent_is_enough)
      : cluster_(std::move(cluster)),
        node_(std::move(node)),
        is_(is),
        state_(state),
        absent_is_enough_(absent_is_enough) {}

  std::string text() const override {
    return "Slurm node " + node_ + " " + std::string(is_) + " and no job holds it, suspended ones included";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.ReadForProof(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    if (fresh->holds_job) co_return Proof::kNo;
    const bool absent = !fresh->node;
    if (absent && !(absent_is_enough_ && fresh->absence_counts)) co_return Proof::kUnknown;
    co_return Judge(services, cluster_, node_, fresh->node, [this, absent](const slurm::Node* node) {
      return node != nullptr ? !absent && state_(node->state) : absent;
    });
  }

 private:
  std::string cluster_, node_;
  std::string_view is_;
  bool (*state_)(const slurm::NodeState&);
  bool absent_is_enough_;
};

class NodeIsNotHeldGuard final : public Guard {
 public:
  NodeIsNotHeldGuard(std::string cluster, std::string node, std::string reason_prefix)
      : cluster_(std::move(cluster)), node_(std::move(node)), reason_prefix_(std::move(reason_prefix)) {}

  std::string text() const override {
    return "Slurm node " + node_ +
           " was not taken out of service by somebody else, and Slurm does not wait for it to begin";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    co_return Judge(services, cluster_, node_, fresh->node, [this](const slurm::Node* node) {
      if (node == nullptr || node->state.IsFailing() || node->state.AwaitsSlurmd()) return false;
      if (!node->state.IsDraining() && !node->state.IsDown()) return true;
      return node->reason.empty() || node->reason.starts_with(reason_prefix_) ||
             slurm::IsReasonOfSlurmctld(node->reason);
    });
  }

 private:
  std::string cluster_;
  std::string node_;
  std::string reason_prefix_;
};

// The record is there, in such a state.
class NodeStateGuard final : public Guard {
 public:
  NodeStateGuard(std::string cluster, std::string node, std::string text, bool (*state)(const slurm::NodeState&))
      : cluster_(std::move(cluster)), node_(std::move(node)), text_(std::move(text)), state_(state) {}

  std::string text() const override { return text_; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    co_return Judge(services, cluster_, node_, fresh->node,
                    [this](const slurm::Node* node) { return node != nullptr && state_(node->state); });
  }

 private:
  std::string cluster_, node_, text_;
  bool (*state_)(const slurm::NodeState&);
};

class NodeIsDownForGuard final : public Guard {
 public:
  NodeIsDownForGuard(std::string cluster, std::string node, std::string reason)
      : cluster_(std::move(cluster)), node_(std::move(node)), reason_(std::move(reason)) {}

  std::string text() const override { return "Slurm node " + node_ + " is DOWN (\"" + reason_ + "\")"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    co_return Judge(services, cluster_, node_, fresh->node, [this](const slurm::Node* node) {
      return node != nullptr && node->state.IsDown() && !node->state.IsDraining() && node->reason == reason_;
    });
  }

 private:
  std::string cluster_;
  std::string node_;
  std::string reason_;
};

class NodeIsOursGuard final : public Guard {
 public:
  NodeIsOursGuard(std::string cluster, std::string node, std::string reason_prefix, bool absent_is_enough)
      : cluster_(std::move(cluster)),
        node_(std::move(node)),
        reason_prefix_(std::move(reason_prefix)),
        absent_is_enough_(absent_is_enough) {}

  std::string text() const override {
    return "Slurm node " + node_ + " was taken out of service by us and no job holds it, suspended ones included";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.ReadForProof(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    if (fresh->holds_job) co_return Proof::kNo;
    co_return Judge(services, cluster_, node_, fresh->node, [this](const slurm::Node* node) {
      if (node == nullptr) return absent_is_enough_;
      const bool ours = node->reason.starts_with(reason_prefix_) && !node->state.IsFailing() &&
                        (node->state.IsDraining() || node->state.IsDown());
      return ours && !node->state.IsBusy() && node->state.base() != slurm::NodeBase::kUnknown;
    });
  }

 private:
  std::string cluster_;
  std::string node_;
  std::string reason_prefix_;
  bool absent_is_enough_;
};

}  // namespace

std::string NodeTarget(std::string_view cluster, std::string_view node) {
  return "Slurm node " + std::string(cluster) + "/" + std::string(node);
}

std::string ReservationTarget(std::string_view cluster, std::string_view name) {
  return "Slurm reservation " + std::string(cluster) + "/" + std::string(name);
}

std::shared_ptr<const Effect> UpdateNode(std::string_view verb, std::string cluster, slurm::NodeUpdate update) {
  return std::make_shared<UpdateNodeEffect>(verb, std::move(cluster), std::move(update));
}

std::shared_ptr<const Effect> CreateNode(std::string cluster, slurm::NewNode node) {
  return std::make_shared<CreateNodeEffect>(std::move(cluster), std::move(node));
}

std::shared_ptr<const Effect> DeleteNode(std::string cluster, std::string node) {
  return std::make_shared<DeleteNodeEffect>(std::move(cluster), std::move(node));
}

std::shared_ptr<const Effect> WriteReservation(std::string cluster, slurm::ReservationUpdate update) {
  return std::make_shared<WriteReservationEffect>(std::move(cluster), std::move(update));
}

std::shared_ptr<const Effect> DeleteReservation(std::string cluster, std::string name) {
  return std::make_shared<DeleteReservationEffect>(std::move(cluster), std::move(name));
}

std::shared_ptr<const Effect> Reconfigure(std::string cluster, std::string text) {
  return std::make_shared<ReconfigureEffect>(std::move(cluster), std::move(text));
}

std::shared_ptr<const Guard> NodeIsDrained(std::string cluster, std::string node, bool absent_is_enough) {
  const auto drained = [](const slurm::NodeState& state) { return state.IsDrained(); };
  return std::make_shared<NodeWithoutJobGuard>(std::move(cluster), std::move(node), "is drained", drained,
                                               absent_is_enough);
}

std::shared_ptr<const Guard> NodeIsFree(std::string cluster, std::string node) {
  const auto begins_none = [](const slurm::NodeState& state) {
    return !state.IsBusy() && (state.IsDrained() || state.IsDown() || state.IsNotResponding());
  };
  return std::make_shared<NodeWithoutJobGuard>(std::move(cluster), std::move(node), "begins no job", begins_none, true);
}

std::shared_ptr<const Guard> NodeIsPoweredDown(std::string cluster, std::string node) {
  const auto down = [](const slurm::NodeState& state) { return state.IsPoweredDown(); };
  return std::make_shared<NodeWithoutJobGuard>(std::move(cluster), std::move(node), "is powered down", down, false);
}

std::shared_ptr<const Guard> NodeIsNotHeld(std::string cluster, std::string node, std::string reason_prefix) {
  return std::make_shared<NodeIsNotHeldGuard>(std::move(cluster), std::move(node), std::move(reason_prefix));
}

std::shared_ptr<const Guard> NodeIsDownFor(std::string cluster, std::string node, std::string reason) {
  return std::make_shared<NodeIsDownForGuard>(std::move(cluster), std::move(node), std::move(reason));
}

std::shared_ptr<const Guard> NodeIsSilent(std::string cluster, std::string node) {
  const auto silent = [](const slurm::NodeState& state) { return state.IsNotResponding(); };
  const std::string text = "Slurm does not hear from node " + node;
  return std::make_shared<NodeStateGuard>(std::move(cluster), std::move(node), text, silent);
}

std::shared_ptr<const Guard> NodeIsPoweringUp(std::string cluster, std::string node) {
  const auto powering_up = [](const slurm::NodeState& state) { return state.IsPoweringUp(); };
  const std::string text = "Slurm waits for node " + node + " to begin";
  return std::make_shared<NodeStateGuard>(std::move(cluster), std::move(node), text, powering_up);
}

std::shared_ptr<const Guard> NodeIsOurs(std::string cluster, std::string node, std::string reason_prefix,
                                        bool absent_is_enough) {
  return std::make_shared<NodeIsOursGuard>(std::move(cluster), std::move(node), std::move(reason_prefix),
                                           absent_is_enough);
}

}  // namespace capstan::plan
