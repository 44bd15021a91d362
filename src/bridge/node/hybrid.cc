#include "bridge/node/hybrid.h"

#include <algorithm>

#include "base/text.h"
#include "bridge/fit.h"
#include "bridge/names.h"
#include "bridge/node/other_pods.h"
#include "bridge/node/wanted.h"
#include "bridge/node/worker_pod.h"
#include "bridge/nodes.h"
#include "bridge/settings.h"
#include "bridge/taken.h"
#include "slurm/gres.h"

namespace capstan::bridge::node {
namespace {

using kube::Quantity;
using slurm::NodeFlag;

// How old the word on a worker's pod may be: as long as its slurmd is there, and as long as that is not.
constexpr Duration kPodAge = 10min, kPodAgeAway = 30s;
constexpr Duration kOthersAge = 10min;
constexpr Duration kGoneHolds = 1min, kOwnHolds = 1min;
constexpr size_t kMostNamed = 3;

struct Amounts {
  Quantity cpu, memory;
  int64_t gpus = 0;
};

std::string GpuText(int64_t gpus) { return std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs"); }

class Hybrid {
 public:
  Hybrid(Steps& steps, const plan::World& world, const Node& node, std::vector<const slurm::Node*> records)
      : steps_(steps), world_(world), node_(node), records_(std::move(records)), taint_(steps.ManagedTaint()) {
    // Its pods would be evicted, and the worker's with them.
    for (node::Taint& one : taint_) one.effect = "NoSchedule";
  }

  void Run() {
    // Those without a slurmd are about to be removed (row 16), or another's.
    // And what is powered down, or waits for a slurmd, is on no machine.
    std::erase_if(records_, [](const slurm::Node* one) {
      return one->state.Has(NodeFlag::kExternal) || one->state.IsPoweredDown() || one->state.AwaitsSlurmd();
    });
    if (records_.empty()) return;
    for (const slurm::Node* record : records_) {
      const auto worker = WorkerOf(*record);
      if (worker && !worker->pod.empty())
        LookAtWorker(*record, {worker->ns, worker->pod});
      else
        LookAtOwn(*record);
    }
    if (!known_) return;
    bool by_others = false;
    if (own_ != nullptr) {
      by_others = Steps::HeldByOthers(*own_);
      if (!by_others) steps_.DrainOrLift(*own_, steps_.CauseOfDrain());
    }
    std::vector<node::Taint> taints = unwilling_.empty() ? taint_ : std::vector<node::Taint>();
    if (by_others) taints.push_back({std::string(kDrainedTaint), "", "NoSchedule"});
    steps_.Taint(taints);
    Compare();
    const auto others = world_.Ask(OtherPods(), kOthersAge);
    if ((own_ != nullptr && steps_.TellDrained(*own_)) || others.state == plan::AnswerState::kPending) return;
    TellRoom(others.value == nullptr ? Besides() : BesidesWorkers(*others.value, node_.metadata.name, workers_there_));
  }

 private:
  // A worker's record has no comment before its operator has written one.
  void LookAtOwn(const slurm::Node& record) {
    if (steps_.Holds("no pod has the slurmd of " + record.name, kOwnHolds))
      own_ = &record;
    else
      known_ = false;
  }

  void LookAtWorker(const slurm::Node& record, const kube::Key& key) {
    // One that was set before the record had its comment.
    if (!Steps::HeldByOthers(record)) steps_.DrainOrLift(record, "");
    const bool away = record.state.IsDown() || record.state.Has(NodeFlag::kNotResponding);
    const auto pod = world_.Ask(WorkerPod(key), away ? kPodAgeAway : kPodAge);
    if (pod.absent()) {
      // The next one may have come already, under a name that its record does not say yet.
      world_.Ask(WorkerPod(key), kPodAgeAway);
      if (!steps_.Holds("there is no pod " + key.ToString(), kGoneHolds)) known_ = false;
      if (!taint_.empty()) unwilling_.push_back("worker pod " + key.ToString() + " is gone");
      return;
    }
    if (pod.value == nullptr) {
      known_ = false;
      return;
    }
    for (const node::Taint& taint : taint_)
      if (!Tolerates(*pod.value, taint.key, taint.value, taint.effect))
        unwilling_.push_back("worker pod " + key.ToString() +
                             " does not tolerate it; let the template of its NodeSet do so");
    workers_there_.push_back(key);
    for (const std::string_view resource : kGpuResources)
      workers_.gpus += Requested(*pod.value, std::string(resource)).value_or(Quantity()).Ceiling();
    workers_.cpu += Requested(*pod.value, "cpu").value_or(Quantity());
    workers_.memory += Requested(*pod.value, "memory").value_or(Quantity());
  }

  // What Slurm gives out, and what Kubernetes has for the pods that it sends.
  void Compare() {
    for (const slurm::Node* record : records_) {
      slurms_.cpu += Quantity::OfInteger(record->job_cpus);
      slurms_.memory += Quantity::OfInteger(record->job_memory_mib * kMebi);
      slurms_.gpus += slurm::Gres::Parse(record->gres).Count("gpu");
    }
    const auto allocatable = [this](std::string_view resource) {
      return Allocatable(node_, resource).value_or(Quantity());
    };
    room_.cpu = allocatable("cpu") - workers_.cpu;
    room_.memory = allocatable("memory") - workers_.memory;
    for (const std::string_view resource : kGpuResources) room_.gpus += allocatable(resource).Ceiling();
    TellGpus();
    room_.gpus -= workers_.gpus;
  }

  // As Slinky's slurm-bridge tells it: by what the machine has, whoever holds it now.
  void TellGpus() {
    if (slurms_.gpus == 0 && room_.gpus == 0) return steps_.TellNothing(kGresCondition);
    if (slurms_.gpus == room_.gpus)
      return steps_.Tell(kGresCondition, "True", "SlurmGRESCompatible",
                         Names(" has ", " have ") + GpuText(slurms_.gpus), false);
    steps_.Tell(kGresCondition, "False", "IncompatibleSlurmGRES",
                Names(" has ", " have ") + GpuText(slurms_.gpus) + ", and Kubernetes " + std::to_string(room_.gpus) +
                    " allocatable there; let gres.conf or the NodeSet's Gres, and the device plugin, agree",
                true);
  }

  void TellRoom(const Besides& others) {
    const Settings& settings = SettingsOf(world_);
    room_.cpu -= std::max(others.cpu, settings.reserved_cpu);
    room_.memory -= std::max(others.memory, settings.reserved_memory);
    room_.gpus -= others.gpus;
    std::string text = Names(" gives out ", " give out ") + Text(slurms_);
    std::string_view reason = "Registered";
    if (!unwilling_.empty()) {
      reason = "Untainted";
      text += "; other pods may come there, as the taint " + std::string(kManagedNodeTaint) +
              " is not set: " + unwilling_.front();
    }
    const bool too_little = slurms_.cpu > room_.cpu || slurms_.memory > room_.memory || slurms_.gpus > room_.gpus;
    const bool kept_away = !taint_.empty() && unwilling_.empty();
    if (others.foreign > 0 && (too_little || kept_away)) {
      reason = "ForeignPods";
      text += "; Slurm knows nothing of " + NamesOf(others) +
              " there: move to another machine what is not to run beside jobs";
    }
    if (too_little) {
      reason = "TooLittleRoom";
      text += "; Kubernetes has room for " + Text(room_) +
              ", so that a pod which Slurm sends there may not be bound: let the worker's pod request less, or keep "
              "more from Slurm (CoreSpecCount, MemSpecLimit)";
      if (others.cpu > settings.reserved_cpu || others.memory > settings.reserved_memory || others.gpus > 0)
        text += "; other pods request " + Text({others.cpu, others.memory, others.gpus}) + " there";
    }
    steps_.Tell(kNodeCondition, "True", reason, text, reason != "Registered");
  }

  // "pods ml/a, ml/b and 3 more"
  static std::string NamesOf(const Besides& others) {
    const size_t more = others.foreign - others.largest.size();
    return (others.foreign == 1 ? "pod " : "pods ") + Join(others.largest, ", ") +
           (more == 0 ? "" : " and " + std::to_string(more) + " more");
  }

  std::string Text(const Amounts& amounts) const {
    return std::max(amounts.cpu, Quantity()).ToString() + " CPUs and " +
           std::to_string(std::max<int64_t>(0, amounts.memory.Ceiling() / kMebi)) + " MiB" +
           (slurms_.gpus == 0 ? "" : " and " + GpuText(std::max<int64_t>(0, amounts.gpus)));
  }

  // "Slurm node w-0 has ", "Slurm nodes w-0, w-1 have "
  std::string Names(std::string_view one, std::string_view several) const {
    if (records_.size() == 1) return "Slurm node " + records_.front()->name + std::string(one);
    std::string text = "Slurm nodes ";
    for (size_t i = 0; i < records_.size() && i < kMostNamed; ++i) text += (i == 0 ? "" : ", ") + records_[i]->name;
    return text + (records_.size() > kMostNamed ? ", ..." : "") + std::string(several);
  }

  Steps& steps_;
  const plan::World& world_;
  const Node& node_;
  std::vector<const slurm::Node*> records_;
  std::vector<node::Taint> taint_;    // that is to be set, where the workers tolerate it
  const slurm::Node* own_ = nullptr;  // the one whose slurmd is in no pod
  std::vector<kube::Key> workers_there_;
  std::vector<std::string> unwilling_;  // why it is not, of each worker
  bool known_ = true;                   // all that this rests on
  Amounts workers_, slurms_, room_;
};

}  // namespace

void FollowHybrid(Steps& steps, const plan::World& world, const Node& node,
                  const std::vector<const slurm::Node*>& records) {
  Hybrid(steps, world, node, records).Run();
}

}  // namespace capstan::bridge::node
