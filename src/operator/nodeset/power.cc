#include "operator/nodeset/power.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/identity.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/reasons.h"
#include "operator/render/cluster.h"
#include "operator/topology.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

constexpr Duration kIdle = 10min;
constexpr Duration kLeastIdle = 1s;
constexpr std::string_view kOnDemand = "OnDemand", kIdleIs = "idle=";

std::unexpected<Error> Unfit(const std::string& text) {
  return Fail(Code::kInvalid, "the annotation " + std::string(kAnnotationPower) + " " + text);
}

Result<Duration> IdleIn(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  const bool known = !words.empty() && words[0] == kOnDemand && words.size() <= 2;
  if (known && words.size() == 1) return kIdle;
  const auto idle =
      known && words[1].starts_with(kIdleIs) ? api::ParseGoDuration(words[1].substr(kIdleIs.size())) : std::nullopt;
  if (idle && *idle >= kLeastIdle) return *idle;
  return Unfit("is " + JsonQuoted(OneLine(text, 100)) + ", must be \"OnDemand\", or like \"OnDemand idle=10m\"");
}

// The Slurm nodes of a NodeSet, by ordinal.
using Records = std::map<int, const slurm::Node*>;

Records RecordsOf(const api::NodeSet& set, const plan::SlurmView& slurm) {
  Records records;
  const auto prefix = render::HostPrefixOf(set);
  if (!prefix) return records;
  for (const slurm::Node& node : slurm.All()) {
    const auto ordinal = HostOrdinal(*prefix, node.name);
    if (ordinal && IsRecordOf(node, set)) records.emplace(*ordinal, &node);
  }
  return records;
}

bool IsCloud(const slurm::Node& node) { return node.state.Has(slurm::NodeFlag::kCloud); }

// One look at a NodeSet on demand.
class Scaling {
 public:
  Scaling(int replicas, const api::NodeSet& set, const std::vector<Worker>& workers, const plan::SlurmView& slurm)
      : replicas_(size_t(replicas)), set_(set), slurm_(slurm), records_(RecordsOf(set, slurm)) {
    for (const Worker& worker : workers) Sort(worker);
    for (const auto& [ordinal, record] : records_) there_.insert(ordinal);
  }

  Scale Run() {
    const size_t surplus = there_.size() > replicas_ ? there_.size() - replicas_ : 0;
    const size_t dropped = Drop(surplus);
    ChooseSurplus(scale_, std::move(staying_), surplus - dropped, slurm_);
    std::ranges::sort(scale_.kept, {}, &Worker::ordinal);
    GoFor(scale_, others_, "its NodeSet is on demand now, and its Slurm node is to be made for that");
    GoFor(scale_, daemons_, "spec.scalingMode is StatefulSet now");
    for (const auto& [ordinal, record] : records_) Keep(ordinal, *record);
    for (int ordinal = 0; there_.size() < replicas_ && scale_.nodes.size() < size_t(kMostCreations); ++ordinal) {
      if (there_.insert(ordinal).second) Make(ordinal);
    }
    scale_.wanted = int(scale_.kept.size()) + scale_.missing;
    return std::move(scale_);
  }

 private:
  void Sort(const Worker& worker) {
    if (worker.daemon) {
      if (worker.stage != Stage::kLeaving) daemons_.push_back(&worker);
      return;
    }
    with_pod_.insert(worker.ordinal);
    there_.insert(worker.ordinal);
    if (worker.stage == Stage::kLeaving) return;
    const auto record = records_.find(worker.ordinal);
    const bool down = record != records_.end() && record->second->state.IsPoweredDown();
    if (down)
      scale_.powered_down.push_back(&worker);
    else if (worker.powering_up)
      scale_.kept.push_back(&worker);  // a job may wait for it
    else
      (worker.node != nullptr && !IsCloud(*worker.node) ? others_ : staying_).push_back(&worker);
  }

  void Make(int ordinal) {
    const std::string host = WorkerHost(set_, ordinal);
    if (slurm_.Find(host) == nullptr)
      scale_.nodes.push_back(ordinal);
    else
      scale_.refused.push_back(
          "Slurm has a node " + host +
          " which is not this NodeSet's, so that none is made; remove it, or give the NodeSet another name");
  }

  // Of too many, those that nothing is taken from: powered down without a pod, or with one that goes anyway; or idle, and their pod is gone.
  // How many that are.
  size_t Drop(size_t surplus) {
    const auto drop = [&](bool down, bool with_pod) {
      for (const auto& [ordinal, record] : std::views::reverse(records_)) {
        if (dropped_.size() == surplus) return;
        const slurm::NodeState& state = record->state;
        const bool idle = down || !(state.IsBusy() || state.IsPoweringUp());
        if (idle && state.IsPoweredDown() == down && with_pod_.contains(ordinal) == with_pod) dropped_.insert(ordinal);
      }
    };
    drop(true, false);
    drop(true, true);
    drop(false, false);
    return dropped_.size();
  }

  void Keep(int ordinal, const slurm::Node& record) {
    if (dropped_.contains(ordinal) || !IsCloud(record)) return;
    const bool goes = record.state.IsDown() || IsOurDrain(record, set_);
    if (with_pod_.contains(ordinal) || goes) return;  // without a pod such a record is removed (records.h)
    scale_.keep.emplace(ordinal, record.name);
    if (record.state.IsOff()) return;
    ++scale_.missing;
    if (scale_.create.size() < size_t(kMostCreations))
      scale_.create.push_back({.ordinal = ordinal, .node = {}, .host = {}});
  }

  size_t replicas_;
  const api::NodeSet& set_;
  const plan::SlurmView& slurm_;
  Records records_;
  std::set<int> there_, with_pod_, dropped_;  // ordinals
  std::vector<const Worker*> staying_, others_, daemons_;
  Scale scale_;
};

}  // namespace

Result<std::optional<Power>> PowerOf(const api::NodeSet& set) {
  const std::string& text = set.metadata.Annotation(AsKey<kAnnotationPower>());
  if (text.empty()) return std::nullopt;
  CAPSTAN_TRY(const Duration idle, IdleIn(text));
  if (set.spec.IsDaemonSet()) return Unfit("and spec.scalingMode DaemonSet do not go together; turn off either");
  CAPSTAN_TRY(const bool by_machine, AreNamedByMachine(set));
  if (by_machine) return Unfit("and spec.template.spec.hostNetwork do not go together; turn off either");
  if (const auto fits = slurm::CheckCloudConf(set.spec.extra_conf); !fits)
    return Unfit("does not go with spec.extraConf: " + fits.error().message());
  CAPSTAN_TRY(const WorkerShare share, ShareOf(set));
  if (share.cpus == 0 || share.memory_mib == 0)
    return Unfit(
        "needs spec.slurmd.resources.limits with cpu and memory: Slurm schedules for nodes that do not run yet");
  return Power{.idle = idle, .cpus = share.cpus, .memory_mib = share.memory_mib};
}

Scale ScaleOnDemand(int replicas, const api::NodeSet& set, const std::vector<Worker>& workers,
                    const plan::SlurmView& slurm) {
  if (!slurm.heard()) return KeepAll(workers);
  return Scaling(replicas, set, workers, slurm).Run();
}

Result<plan::Plan> MakeCloudNodes(const Look& look, const Scale& scale, const Power& power) {
  plan::Plan wants = look.Part();
  if (scale.nodes.empty() || look.controller == nullptr || look.controller->metadata.deleting()) return wants;
  CAPSTAN_TRY(std::string conf, RegistersWith(look.set, *look.controller));
  if (look.placing.tree && !NamesTopology(look.set.spec.extra_conf))
    conf += (conf.empty() ? "Topology=" : " Topology=") + UnknownPlace();
  for (const int ordinal : scale.nodes) {
    const std::string host = WorkerHost(look.set, ordinal);
    // A record that is being removed must not be taken for the one that is made next.
    if (look.world.InFlight(plan::NodeTarget(look.cluster, host))) continue;
    slurm::CloudNode node{
        .name = host, .cpus = power.cpus, .memory_mib = power.memory_mib, .conf = conf, .idle = power.idle};
    wants.slurm_expects.push_back(host);
    wants.Add({.effect = plan::CreateNode(look.cluster, std::move(node)),
               .reason = "Slurm is to start it when a job needs it",
               .guards = {},
               .after = {},
               .event = {}});
  }
  return wants;
}

plan::Plan PlaceCloudNodes(const Look& look, const Scale& scale) {
  plan::Plan wants = look.Part();
  if (!look.placing.tree || NamesTopology(look.set.spec.extra_conf)) return wants;
  for (const auto& [ordinal, host] : scale.keep) {
    const slurm::Node* node = look.slurm.Find(host);
    if (node == nullptr || !node->state.IsPoweredDown() || node->topology == UnknownPlace()) continue;
    wants.slurm_expects.push_back(host);
    wants.Add({.effect = plan::UpdateNode("describe", look.cluster, {.names = {host}, .topology = UnknownPlace()}),
               .reason = "nobody knows where its next worker will be",
               .guards = {},
               .after = {},
               .event = {}});
  }
  return wants;
}

plan::Plan ReplaceEarlier(const Look& look, const Worker& worker) {
  plan::Plan wants = look.Part();
  const slurm::Node* record = look.slurm.Find(worker.host);
  if (record == nullptr || !record->state.IsPoweringUp()) return wants;  // within seconds
  if (!worker.marked() && !(worker.pod->Ready() && look.IsLate(wants, worker))) return wants;
  plan::Action remove = RemovalOf(worker, "Slurm has powered its node up, and waits for a slurmd that begins now");
  remove.guards = {SlurmdIsFree(worker), plan::NodeIsPoweringUp(look.cluster, worker.host)};
  wants.Add(std::move(remove));
  return wants;
}

}  // namespace capstan::op::nodeset
