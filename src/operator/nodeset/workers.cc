#include "operator/nodeset/workers.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/takeover.h"
#include "operator/render/cluster.h"
#include "operator/settings.h"
#include "operator/worker_comment.h"
#include "slurm/hostlist.h"

namespace capstan::op::nodeset {
namespace {

constexpr size_t kLongestBegin = 52;         // of a derived name, before its last dash
constexpr size_t kMostJobHosts = 2'000'000;  // names of nodes, of all jobs together, that are looked at
constexpr Duration kClocksDiffer = 1min;     // at most, of machines whose clocks are right

Stage StageOf(const Worker& worker, const api::NodeSet& set, const plan::SlurmView& slurm) {
  const Pod& pod = *worker.pod;
  if (pod.metadata.deleting()) return Stage::kLeaving;
  if (pod.Ended()) return Stage::kEnded;
  // Not by the phase: slurmd may have registered, and be running a job, before the kubelet says that the pod runs.
  if (pod.spec.node_name.empty()) return Stage::kUnbound;
  if (!slurm.heard() || !worker.named()) return Stage::kUnknown;
  if (worker.node == nullptr) return Stage::kUnregistered;
  const slurm::Node& node = *worker.node;
  if (node.state.IsPoweredDown()) return Stage::kPoweredDown;
  if (node.state.IsDraining()) {
    if (!IsOurDrain(node, set)) return Stage::kHeld;
    return node.state.IsDrained() ? Stage::kDrained : Stage::kDraining;
  }
  return node.state.IsDown() ? Stage::kDown : Stage::kServing;
}

// As the Slinky projects read it: an int32, without a leading plus or zero; anything else counts as 0.
int DeletionCost(const Pod& pod) {
  const std::string& text = pod.metadata.Annotation(AsKey<kAnnotationDeletionCost>());
  const auto cost = ParseInt(text);
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (!cost || (digits.size() > 1 && digits.front() == '0')) return 0;
  if (*cost < std::numeric_limits<int32_t>::min() || *cost > std::numeric_limits<int32_t>::max()) return 0;
  return int(*cost);
}

Time ReadySince(const Pod& pod) {
  const PodCondition* ready = pod.Condition("Ready");
  return ready != nullptr && ready->last_transition_time ? *ready->last_transition_time : Time::min();
}

bool IsBusy(const Worker& worker) { return worker.node != nullptr && worker.node->state.IsBusy(); }

// Smaller goes first: what the Slinky projects compare, in their order, which is this, the end of jobs, and LateRank.
// "Busy" stands before the end of jobs, so that idle ones go first while that is not known. Who has been chosen comes
// next, so that a job which begins later elsewhere does not move the choice.
auto EarlyRank(const Worker& worker) {
  const Pod& pod = *worker.pod;
  const int phase = pod.status.phase == "Running" ? 2 : pod.status.phase == "Unknown" ? 1 : 0;
  return std::tuple(!pod.spec.node_name.empty(), phase, pod.Ready(), DeletionCost(pod), IsBusy(worker),
                    !worker.marked());
}

auto LateRank(const Worker& worker) {
  const Pod& pod = *worker.pod;
  return std::tuple(worker.cordon.empty(), -worker.ordinal, -UnixSeconds(ReadySince(pod)),
                    -UnixSeconds(pod.metadata.creation_timestamp.value_or(Time())));
}

Time EndOf(const slurm::Job& job) {
  if (job.state.Has(slurm::JobFlag::kCompleting)) return job.end_time.value_or(Time::min());  // it only tidies up
  return job.start_time && job.time_limit ? Later(*job.start_time, *job.time_limit) : Time::max();
}

// Where no label says it. With hostNetwork only likely: it is the machine's name, which need not be the node's.
std::string NameInSlurm(const Pod& pod) {
  if (pod.spec.host_network && !pod.spec.node_name.empty()) return pod.spec.node_name;
  return pod.spec.hostname.empty() ? pod.metadata.name : pod.spec.hostname;
}

// Without a name before it is placed.
bool IsNamedByMachine(const Pod& pod) {
  return pod.spec.host_network && pod.metadata.Annotation(AsKey<kAnnotationNamed>()) == kNamedByMachine;
}

bool IsNamed(const Pod& pod) {
  return !pod.spec.host_network || IsNamedByMachine(pod) ||
         pod.metadata.Annotation(AsKey<kAnnotationNamed>()) == "true";
}

std::string HostOf(const Pod& pod) {
  if (IsNamedByMachine(pod)) return pod.spec.node_name;
  const std::string& said = pod.metadata.Label(AsKey<kLabelPodHostname>());
  return said.empty() ? NameInSlurm(pod) : said;
}

// By its label; of a pod without one its name tells.
bool IsDaemon(const Pod& pod, const api::NodeSet& set) {
  const std::string& mode = pod.metadata.Label(AsKey<kLabelScalingMode>());
  return mode.empty() ? !OrdinalOf(set.metadata.name, pod.metadata.name) : mode == api::kScalingDaemonSet;
}

// What the record's comment says; "": nothing.
std::string SaidOf(const slurm::Node& node, std::string WorkerComment::* member) {
  const auto comment = WorkerComment::Of(node);
  return comment ? (*comment).*member : "";
}

// Whose a Slurm record is that has a worker's name.
class Owners {
 public:
  Owners(const plan::World& world, const std::string& ns) : world_(world), ns_(ns) {}

  // Another slurmd's: of the pod that had the name before, or of another worker's that calls itself so. Without the one or
  // the other it is the pod's, whatever its address: slurmctld may see that of a gateway.
  bool IsOfAnother(const slurm::Node& record, const Pod& pod) {
    if (HasItsAddress(record, pod)) return false;
    const auto& made = pod.metadata.creation_timestamp;
    if (made && record.slurmd_start_time && *record.slurmd_start_time < *made) return true;
    return Addresses().contains(record.address);
  }

  // Worker::record_is_sure. REQUIRES: !IsOfAnother. Two clocks are compared there, of which one may have been put back: a slurmd
  // that begins in times to come shows it.
  bool IsSure(const slurm::Node& record, const Pod& pod) const {
    if (HasItsAddress(record, pod)) return true;
    return !record.state.Has(slurm::NodeFlag::kNotResponding) && record.slurmd_start_time &&
           *record.slurmd_start_time < world_.now() + kClocksDiffer;
  }

 private:
  static bool HasItsAddress(const slurm::Node& record, const Pod& pod) {
    return record.address.empty() || record.address == pod.status.pod_ip;
  }
  // Of the workers of the namespace; once it was needed.
  const std::unordered_set<std::string_view>& Addresses() {
    if (addresses_) return *addresses_;
    addresses_.emplace();
    for (const Pod& pod : world_.In<Pod>(ns_)) {
      const bool worker = pod.metadata.Label(AsKey<kLabelComponent>()) == kWorker.component;
      if (worker && !pod.Ended() && !pod.status.pod_ip.empty()) addresses_->insert(pod.status.pod_ip);
    }
    return *addresses_;
  }

  const plan::World& world_;
  const std::string& ns_;
  std::optional<std::unordered_set<std::string_view>> addresses_;
};

}  // namespace

bool Worker::named() const { return IsNamed(*pod); }

bool Worker::named_by_machine() const { return IsNamedByMachine(*pod); }

bool Worker::marked() const {
  if (pod->metadata.annotations.empty()) return false;
  return pod->metadata.Annotation(AsKey<kAnnotationScaleIn>()) == "true" ||
         pod->metadata.Annotation(AsKey<kFormerAnnotationScaleIn>()) == "true";
}

namespace {

std::optional<int> OrdinalIn(std::string_view digits) {
  if (digits.empty() || digits.size() > 9 || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return int(*ParseInt(digits));
}

}  // namespace

std::optional<int> OrdinalOf(std::string_view set, std::string_view pod) {
  if (pod.size() <= set.size() + 1 || !pod.starts_with(set) || pod[set.size()] != '-') return std::nullopt;
  return OrdinalIn(pod.substr(set.size() + 1));
}

std::optional<int> HostOrdinal(std::string_view prefix, std::string_view host) {
  if (!host.starts_with(prefix)) return std::nullopt;
  return OrdinalIn(host.substr(prefix.size()));
}

// What follows has no dash in it, so that "w-1-0" is a worker of "w-1" alone. A long name may have been cut (DerivedName).
bool IsWorkerNameOf(const api::NodeSet& set, std::string_view pod) {
  const size_t dash = pod.rfind('-');
  if (dash == pod.npos || dash + 1 == pod.size()) return false;
  const std::string_view begin = pod.substr(0, dash);
  return begin == set.metadata.name ||
         (set.metadata.name.size() > kLongestBegin && set.metadata.name.starts_with(begin) && !OrdinalOf(begin, pod));
}

std::vector<Worker> Workers(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm) {
  std::vector<Worker> workers;
  const std::vector<std::string> propagated = SettingsOf(world).propagated_node_conditions;
  Owners owners(world, set.metadata.namespace_);
  int daemons = 0;
  for (const Pod& pod : world.OwnedBy<Pod>(set.metadata.uid)) {
    const bool daemon = IsDaemon(pod, set);
    const auto ordinal = daemon ? daemons++ : OrdinalOf(set.metadata.name, pod.metadata.name);
    if (!ordinal) continue;
    Worker worker{.ordinal = *ordinal, .daemon = daemon, .host = HostOf(pod), .pod = &pod};
    const slurm::Node* record = slurm.Find(worker.host);  // noted even when it is not heard
    worker.powering_up = slurm.heard() && worker.named() && record != nullptr && record->state.AwaitsSlurmd();
    // One that is powered down is nobody's any more: what it says of its slurmd is of the former life.
    const bool down = record != nullptr && record->state.IsPoweredDown();
    const bool others = record != nullptr && owners.IsOfAnother(*record, pod);
    if (worker.powering_up || (others && !down)) record = nullptr;
    worker.node = slurm.heard() && worker.named() ? record : nullptr;
    worker.record_is_sure = worker.node == nullptr || (owners.IsSure(*worker.node, pod) && !others);
    worker.stage = StageOf(worker, set, slurm);
    worker.held = worker.node != nullptr && IsHeld(*worker.node, set);
    if (!pod.spec.node_name.empty()) worker.machine = world.Find<Node>({"", pod.spec.node_name});
    worker.cordon = ReasonToKeepOut(worker.machine, pod, propagated);
    worker.may_be_lifted = slurm.MayBeLifted(worker.host);
    workers.push_back(std::move(worker));
  }
  std::ranges::sort(workers, {}, [](const Worker& worker) { return std::pair(worker.daemon, worker.ordinal); });
  return workers;
}

PodsByHost HostsWithPod(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers) {
  PodsByHost hosts;
  for (const Worker& worker : workers) {
    if (!worker.host.empty()) hosts.emplace(worker.host, worker.pod);
  }
  for (const Pod& pod : world.In<Pod>(set.metadata.namespace_)) {
    const std::string& controller = pod.metadata.Label(AsKey<kLabelCluster>());
    if (!controller.empty() && controller != set.spec.controller_ref.name) continue;
    if (pod.metadata.Label(AsKey<kLabelComponent>()) != kWorker.component) continue;
    const std::string& said = pod.metadata.Label(AsKey<kLabelPodHostname>());
    if (!said.empty()) hosts.emplace(said, &pod);
    if ((IsNamedByMachine(pod) || !IsNamed(pod)) && !pod.spec.node_name.empty())
      hosts.emplace(pod.spec.node_name, &pod);
  }
  return hosts;
}

std::string RecordComment(const Worker& worker, const api::NodeSet& set, std::string life) {
  const auto before = worker.node != nullptr ? WorkerComment::Of(*worker.node) : std::nullopt;
  return WorkerComment{.ns = worker.pod->metadata.namespace_,
                       .pod = worker.pod->metadata.name,
                       .node = worker.pod->spec.node_name,
                       .set = set.metadata.name,
                       .set_uid = set.metadata.uid,
                       .life = before ? before->life : std::move(life)}
      .ToString();
}

std::string MachineOfRecord(const slurm::Node& node) {
  return node.state.IsPoweredDown() || node.state.AwaitsSlurmd() ? "" : SaidOf(node, &WorkerComment::node);
}
std::string PodOfRecord(const slurm::Node& node) {
  return node.state.IsPoweredDown() || node.state.AwaitsSlurmd() ? "" : SaidOf(node, &WorkerComment::pod);
}
std::string SetOfRecord(const slurm::Node& node) { return SaidOf(node, &WorkerComment::set); }

bool IsRecordOf(const slurm::Node& node, const api::NodeSet& set) {
  if (!node.comment.empty()) {
    const auto comment = WorkerComment::Of(node);
    return comment && comment->ns == set.metadata.namespace_ && comment->set == set.metadata.name;
  }
  const auto name = render::SlurmNameOf(set);
  if (!name || !node.state.IsDynamic()) return false;
  if (std::ranges::find(node.features, *name) == node.features.end()) return false;
  const auto prefix = render::HostPrefixOf(set);
  return (prefix && HostOrdinal(*prefix, node.name)) || node.reason.starts_with(kReasonPrefix);
}

JobEnds JobEndsOf(const std::vector<slurm::Job>& jobs, const std::vector<const Worker*>& workers) {
  JobEnds ends;
  for (const Worker* worker : workers) ends.emplace(worker->host, Time::min());
  size_t names = kMostJobHosts;
  for (const slurm::Job& job : jobs) {
    if (!job.state.HoldsNodes()) continue;
    const auto hosts = slurm::ExpandHostlist(job.nodes, names);
    if (!hosts) continue;  // only the order hangs on it
    names -= hosts->size();
    for (const std::string& host : *hosts) {
      if (const auto end = ends.find(host); end != ends.end()) end->second = std::max(end->second, EndOf(job));
    }
  }
  return ends;
}

void SortForScaleIn(std::vector<const Worker*>& workers, const JobEnds& ends) {
  const auto rank = [&ends](const Worker* worker) {
    const auto end = ends.find(worker->host);
    return std::tuple(EarlyRank(*worker), end == ends.end() ? Time::min() : end->second, LateRank(*worker));
  };
  // Each is ranked once: a rank takes longer than all comparisons with it.
  std::vector<std::pair<decltype(rank(nullptr)), const Worker*>> ranked;
  ranked.reserve(workers.size());
  for (const Worker* worker : workers) ranked.emplace_back(rank(worker), worker);
  std::ranges::sort(ranked, {}, [](const auto& one) -> const auto& { return one.first; });
  for (size_t i = 0; i < ranked.size(); ++i) workers[i] = ranked[i].second;
}

bool JobEndsTell(const Worker& a, const Worker& b) { return IsBusy(a) && !a.marked() && EarlyRank(a) == EarlyRank(b); }

}  // namespace capstan::op::nodeset
