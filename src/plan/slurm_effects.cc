#include "plan/slurm_effects.h"

#include "base/hash.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;

std::unexpected<Error> NotConnected(const std::string& cluster) {
  return Fail(Code::kUnavailable, "Slurm cluster " + cluster + " cannot be reached: no RestApi answers for it");
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
    hash = Fnv64(update_.comment.value_or("\x01"), hash);
    for (const auto* list : {&update_.features, &update_.active_features}) {
      if (!*list) continue;
      for (const std::string& feature : **list) hash = Fnv64(feature, hash + 1);
    }
    return hash;
  }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    const std::shared_ptr<slurm::Source> source = services.slurm.Find(cluster_);
    if (source == nullptr) co_return NotConnected(cluster_);
    source->ExpectChange(update_.names, services.loop.Now() + 30s);
    co_return co_await source->UpdateNode(update_, deadline);
  }

 private:
  std::string verb_;
  std::string cluster_;
  slurm::NodeUpdate update_;
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
    const std::shared_ptr<slurm::Source> source = services.slurm.Find(cluster_);
    if (source == nullptr) co_return NotConnected(cluster_);
    const std::vector<std::string> names{node_};
    source->ExpectChange(names, services.loop.Now() + 30s);
    co_return co_await source->DeleteNode(node_, deadline);
  }

 private:
  std::string cluster_;
  std::string node_;
};

class NodeIsDrainedGuard final : public Guard {
 public:
  NodeIsDrainedGuard(std::string cluster, std::string node, bool absent_is_enough)
      : cluster_(std::move(cluster)), node_(std::move(node)), absent_is_enough_(absent_is_enough) {}

  std::string text() const override { return "Slurm node " + node_ + " is drained and runs no job"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    if (fresh->node) co_return fresh->node->state.IsDrained() ? Proof::kYes : Proof::kNo;
    co_return absent_is_enough_ && fresh->absence_counts ? Proof::kYes : Proof::kUnknown;
  }

 private:
  std::string cluster_;
  std::string node_;
  bool absent_is_enough_;
};

class NodeIsNotHeldGuard final : public Guard {
 public:
  NodeIsNotHeldGuard(std::string cluster, std::string node, std::string reason_prefix)
      : cluster_(std::move(cluster)), node_(std::move(node)), reason_prefix_(std::move(reason_prefix)) {}

  std::string text() const override { return "Slurm node " + node_ + " was not taken out of service by somebody else"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    if (!fresh->node) co_return Proof::kNo;
    const slurm::Node& node = *fresh->node;
    if (!node.state.IsDraining() && !node.state.IsDown()) co_return Proof::kYes;
    const bool held =
        !node.reason.empty() && !node.reason.starts_with(reason_prefix_) && node.reason != slurm::kReasonNotResponding;
    co_return held ? Proof::kNo : Proof::kYes;
  }

 private:
  std::string cluster_;
  std::string node_;
  std::string reason_prefix_;
};

class NodeIsOursGuard final : public Guard {
 public:
  NodeIsOursGuard(std::string cluster, std::string node, std::string reason_prefix)
      : cluster_(std::move(cluster)), node_(std::move(node)), reason_prefix_(std::move(reason_prefix)) {}

  std::string text() const override {
    return "Slurm node " + node_ + " runs no job and was taken out of service by us";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return Proof::kUnknown;
    if (!fresh->node) co_return Proof::kYes;  // what was to be removed is not there
    const slurm::Node& node = *fresh->node;
    const bool ours = node.reason.starts_with(reason_prefix_) && (node.state.IsDraining() || node.state.IsDown());
    co_return ours && !node.state.IsBusy() ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string cluster_;
  std::string node_;
  std::string reason_prefix_;
};

}  // namespace

std::string NodeTarget(std::string_view cluster, std::string_view node) {
  return "Slurm node " + std::string(cluster) + "/" + std::string(node);
}

std::shared_ptr<const Effect> UpdateNode(std::string_view verb, std::string cluster, slurm::NodeUpdate update) {
  return std::make_shared<UpdateNodeEffect>(verb, std::move(cluster), std::move(update));
}

std::shared_ptr<const Effect> DeleteNode(std::string cluster, std::string node) {
  return std::make_shared<DeleteNodeEffect>(std::move(cluster), std::move(node));
}

std::shared_ptr<const Guard> NodeIsDrained(std::string cluster, std::string node, bool absent_is_enough) {
  return std::make_shared<NodeIsDrainedGuard>(std::move(cluster), std::move(node), absent_is_enough);
}

std::shared_ptr<const Guard> NodeIsNotHeld(std::string cluster, std::string node, std::string reason_prefix) {
  return std::make_shared<NodeIsNotHeldGuard>(std::move(cluster), std::move(node), std::move(reason_prefix));
}

std::shared_ptr<const Guard> NodeIsOurs(std::string cluster, std::string node, std::string reason_prefix) {
  return std::make_shared<NodeIsOursGuard>(std::move(cluster), std::move(node), std::move(reason_prefix));
}

}  // namespace capstan::plan
