#include "operator/nodeset/creating.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/adoption.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/machine.h"
#include "operator/nodeset/records.h"
#include "operator/pods.h"
#include "operator/reasons.h"
#include "operator/render/cluster.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

constexpr Duration kOldRecordTimeout = 1min;           // until a worker is made in spite of its predecessor's record
constexpr Duration kSilenceHolds = 1min;               // until a slurmd that is not heard counts as silent
constexpr Duration kFirstAnswerTimeout = 30s;          // until workers are made though Slurm has not been heard
constexpr size_t kMostCreatedBytes = size_t{8} << 20;  // of the workers in one Plan

class Creating {
 public:
  Creating(const Look& look, const Scale& scale, WorkerTemplate& workers)
      : look_(look), scale_(scale), workers_(workers) {
    creation_.wants = look.Part();
    for (const plan::Failure& failure : look.world.failures()) failed_.insert(failure.target);
  }

  Creation Run() {
    const int64_t coming =
        std::ranges::count_if(look_.workers, [&](const Worker& worker) { return IsToRegister(worker); });
    const int64_t room = kMostComing - coming;
    if (MayBeHeard()) {
      creation_.waiting.push_back("Slurm, which has not answered yet");
      return std::move(creation_);
    }
    if (look_.slurm.heard() && room <= 0) {
      creation_.wants.RequeueAfter(kRegistrationTimeout);
      creation_.waiting.push_back("Slurm, which has yet to hear from " + std::to_string(coming) + " workers");
      return std::move(creation_);
    }
    const int most = look_.slurm.heard() ? int(std::min<int64_t>(room, kMostNewWorkers)) : kMostNewWorkers;
    Fill(most);
    return std::move(creation_);
  }

 private:
  // This process has just begun, perhaps as its machine was lost, and a worker's too: what Slurm says may keep one from being made
  // (MayRunOn). Not for a NodeSet that nobody has looked after before: its cluster is about to begin.
  bool MayBeHeard() {
    const plan::SlurmLook::State state = look_.slurm.state();
    if (look_.set.status.observed_generation == 0 || state == plan::SlurmLook::State::kHeard ||
        state == plan::SlurmLook::State::kUnreachable)
      return false;
    return !look_.Lasts(creation_.wants, "Slurm has not answered yet", kFirstAnswerTimeout);
  }

  // Soon: one that has had its time, or of which the kubelet says what is wrong, holds up nobody.
  bool IsToRegister(const Worker& worker) const {
    if (worker.stage != Stage::kUnregistered) return false;
    if (worker.pod->status.phase == "Running") return look_.IsComing(worker);
    const auto created = worker.pod->metadata.creation_timestamp;
    const Duration age = created ? look_.world.now() - *created : kRegistrationTimeout;
    const bool recent =
        age > -kRegistrationTimeout && age < kRegistrationTimeout;  // a clock that was put back tells nothing
    return recent && PodTrouble(*worker.pod).empty();
  }

  void Fill(int most) {
    int creations = 0, fresh = 0;
    size_t bytes = 0;
    for (const Place& place : scale_.create) {
      const NewWorker worker = workers_.Stamp(place);
      if (IsTaken(worker) || IsNodeSet(worker) || IsPoweredUpSoon(worker) || StaysOff(worker) ||
          MayRunOn(worker, place))
        continue;
      // A record that is being removed must not be that of the worker which registers next.
      if (!worker.host.empty() && look_.world.InFlight(plan::NodeTarget(look_.cluster, worker.host))) continue;
      creations += 1 + int(worker.claims.size());
      bytes += worker.body.size();
      const bool first = creation_.hosts.empty();
      if (!first && (creations > kMostCreations || bytes > kMostCreatedBytes)) return;
      if (!Make(worker, place) && ++fresh >= most) return;
    }
  }

  // Its name may be another's still: an override that has moved, a mode or a hostname that was changed. slurmctld would
  // take the job of the one that is there for lost.
  bool IsTaken(const NewWorker& worker) {
    const PodsByHost& hosts = Hosts();
    const auto other = hosts.find(worker.host);
    if (other == hosts.end()) return false;
    if (other->second->metadata.name == worker.name && !IsOrphanOf(look_.set, *other->second)) return false;
    creation_.waiting.push_back("the name " + worker.host + " in Slurm, which pod " + other->second->metadata.name +
                                " has");
    return true;
  }

  // slurmctld registers no node that is called as a NodeSet in slurm.conf (controller/inputs.cc).
  bool IsNodeSet(const NewWorker& worker) {
    const auto* published =
        look_.world.Find<ConfigMap>({look_.set.metadata.namespace_, ConfigName(look_.set.spec.controller_ref.name)});
    if (worker.host.empty() || published == nullptr || !published->data.slurm_conf.contains("=" + worker.host) ||
        !render::MakesNodeSet(published->data.slurm_conf, worker.host))
      return false;
    creation_.waiting.push_back("the name " + worker.host +
                                " in Slurm, which a NodeSet of slurm.conf has; rename either");
    return true;
  }

  // A job has been given the node, which is off: a slurmd that registers before Slurm powers it up ends that job.
  bool IsPoweredUpSoon(const NewWorker& worker) {
    const slurm::Node* record = look_.slurm.Find(worker.host);
    if (record == nullptr || !record->state.IsOff() || !record->state.IsBusy()) return false;
    creation_.waiting.push_back("Slurm, which has given a job the node " + worker.host + " and will power it up");
    return true;
  }

  // Its NodeSet was on demand, and its record is Slurm's to power up. That goes first: the worker would be taken for powered down. While Slurm is not
  // heard the record cannot go, and what it said last counts: a slurmd that waited there would register as soon as slurmctld is back, and end a job that
  // is given the node in that moment, or get one as its pod is deleted.
  bool StaysOff(const NewWorker& worker) {
    const slurm::Node* record = look_.slurm.Find(worker.host);
    if (record == nullptr || !record->state.IsPoweredDown() || look_.set.spec.IsDaemonSet()) return false;
    if (!look_.slurm.heard()) {
      creation_.waiting.push_back("Slurm, which is not heard, and said last that the node " + worker.host +
                                  " is powered down");
      return true;
    }
    if (!IsRecordOf(*record, look_.set)) {
      creation_.waiting.push_back("the name " + worker.host +
                                  " in Slurm, which a node has that is powered down and not this NodeSet's");
      return true;
    }
    const bool held = IsHeld(*record, look_.set);
    if (!held && !record->state.Has(slurm::NodeFlag::kMaintenance)) return false;
    creation_.waiting.push_back("Slurm node " + worker.host + ", which is powered down and " +
                                (held ? "which somebody took out of service (" + OneLine(record->reason, 100) +
                                            "); resume it: scontrol update nodename=" + worker.host + " state=RESUME"
                                      : "in a maintenance reservation"));
    return true;
  }

  // The slurmd before it may be alive on a machine that Kubernetes has given up: cut off from it, and its pod deleted. To
  // slurmctld, which requeues the jobs there when the next one registers, all of that is known later. While Slurm is not heard,
  // what it said last counts. Where no job seems to be there, and none can begin, that is proven just before it is made, as a
  // suspended job shows in no record.
  bool MayRunOn(const NewWorker& worker, const Place& place) {
    const slurm::Node* record = look_.slurm.Find(worker.host);
    if (record == nullptr || record->state.IsDown() || !IsRecordOf(*record, look_.set)) return false;
    const std::string machine = MachineOfRecord(*record);
    if (machine.empty() || machine == place.node) return false;
    const Node* node = look_.world.Find<Node>({"", machine});
    if (node != nullptr && (IsReady(*node) || IsOutOfService(*node))) return false;
    const bool heard = !record->state.IsNotResponding();
    const bool silent = !heard && !record->state.IsBusy() &&
                        look_.Lasts(creation_.wants, "Slurm does not hear from " + worker.host, kSilenceHolds);
    if (silent || record->state.IsDrained()) {
      to_prove_.insert(worker.host);
      return false;
    }
    creation_.waiting.push_back("the name " + worker.host + " in Slurm, " +
                                (heard ? "which still hears it from" : "which has not given it up on") +
                                " Kubernetes node " + machine);
    return true;
  }

  // True: its creation has failed before.
  bool Make(const NewWorker& worker, const Place& place) {
    bool any_failed = false;
    const auto create = [&](plan::Action action) {
      any_failed |= failed_.contains(action.effect->target());
      return creation_.wants.Add(std::move(action));
    };
    std::vector<plan::ActionId> after;
    if (worker.host.empty())
      after = RemoveStrayRecords();
    else if (!IsCordoned(place.node))
      after = RemoveOldRecord(worker.host);
    const std::string& ns = look_.set.metadata.namespace_;
    for (const NewClaim& claim : worker.claims) {
      const plan::ObjectRef ref{&kube::kPersistentVolumeClaims, {ns, claim.name}};
      plan::Action made{.effect = plan::Create(ref, claim.body, ""),
                        .reason = "volume of " + worker.name,
                        .guards = {},
                        .after = {},
                        .event = {}};
      if (AreRemovedInScaleIn(look_.spec)) made.guards = {ClaimStays(ref.key)};
      after.push_back(create(std::move(made)));
    }
    plan::Guards guards;
    if (to_prove_.contains(worker.host)) guards.push_back(plan::NodeIsFree(look_.cluster, worker.host));
    create({.effect = plan::Create({&kube::kPods, {ns, worker.name}}, worker.body, look_.set.metadata.uid),
            .reason = "scale-out to " + std::to_string(*look_.spec.replicas),
            .guards = std::move(guards),
            .after = std::move(after),
            .event = {{.reason = EventWord("SuccessfulCreate"), .action = "Create"}}});
    creation_.hosts.insert(worker.host);
    return any_failed;
  }

  // A registration changes hardly anything of a record that is there: the new worker would have the size, the features
  // and the weight of the one before it. Not for ever: workers are made whatever Slurm
  // does, but for one that is powered down. In an active maintenance
  // reservation Slurm removes none.
  std::vector<plan::ActionId> RemoveOldRecord(const std::string& host) {
    const slurm::Node* record = look_.slurm.heard() ? look_.slurm.Find(host) : nullptr;
    if (record == nullptr || !IsRecordOf(*record, look_.set) || record->state.Has(slurm::NodeFlag::kMaintenance))
      return {};
    if (Hosts().contains(host)) return {};
    if (!record->state.IsPoweredDown() && look_.Lasts(creation_.wants, "old record of " + host, kOldRecordTimeout))
      return {};
    const auto removal = RemoveRecord(*record, look_.set, look_.slurm, creation_.wants);
    return removal ? std::vector{*removal} : std::vector<plan::ActionId>();
  }

  // The drain of a cordon goes with the record, and jobs would begin on the new one.
  bool IsCordoned(const std::string& machine) const {
    const Node* node = machine.empty() ? nullptr : look_.world.Find<Node>({"", machine});
    return node != nullptr && node->spec.unschedulable;
  }

  // Before a worker that will be called as its machine, whichever that is: once in a Plan.
  std::vector<plan::ActionId> RemoveStrayRecords() {
    if (strays_) return *strays_;
    strays_.emplace();
    if (!look_.slurm.heard()) return *strays_;
    for (const slurm::Node& record : look_.slurm.All()) {
      if (!IsRecordOf(record, look_.set)) continue;
      for (const plan::ActionId removal : RemoveOldRecord(record.name)) strays_->push_back(removal);
    }
    return *strays_;
  }

  const PodsByHost& Hosts() {
    if (!hosts_) hosts_ = HostsWithPod(look_.world, look_.set, look_.workers);
    return *hosts_;
  }

  const Look& look_;
  const Scale& scale_;
  WorkerTemplate& workers_;
  std::set<std::string_view> failed_;                  // targets of actions that have failed
  std::set<std::string> to_prove_;                     // names whose former slurmd may be alive, without a job
  std::optional<PodsByHost> hosts_;                    // once it was needed
  std::optional<std::vector<plan::ActionId>> strays_;  // the same
  Creation creation_;
};

}  // namespace

Creation CreateMissing(const Look& look, const Scale& scale, WorkerTemplate& workers) {
  return Creating(look, scale, workers).Run();
}

}  // namespace capstan::op::nodeset
