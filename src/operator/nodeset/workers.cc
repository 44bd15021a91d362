#include "operator/nodeset/workers.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/text.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/render/cluster.h"

namespace capstan::op::nodeset {
namespace {

constexpr std::string_view kScaleInSuffix = ") is pending termination for scale-in";

// The comment on a node's record.
struct Record {
  std::string ns, pod, node, set, set_uid;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Record>({
        json::Field<&Record::ns>("namespace").Always(),
        json::Field<&Record::pod>("podName").Always(),
        json::Field<&Record::node>("node").Always(),
        json::Field<&Record::set>("nodeSetName"),
        json::Field<&Record::set_uid>("nodeSetUID"),
    });
    return schema;
  }
};

bool Ended(const Pod& pod) { return pod.status.phase == "Failed" || pod.status.phase == "Succeeded"; }

Stage StageOf(const Worker& worker, const plan::SlurmView& slurm) {
  const Pod& pod = *worker.pod;
  if (pod.metadata.deleting()) return Stage::kLeaving;
  if (Ended(pod)) return Stage::kEnded;
  // Not by the phase: slurmd may have registered, and be running a job, before the kubelet says that the pod runs.
  if (pod.spec.node_name.empty()) return Stage::kUnbound;
  if (!slurm.heard()) return Stage::kUnknown;
  if (worker.node == nullptr) return Stage::kUnregistered;
  const slurm::Node& node = *worker.node;
  if (node.state.IsDraining()) {
    if (!IsOurDrain(node)) return Stage::kHeld;
    return node.state.IsDrained() ? Stage::kDrained : Stage::kDraining;
  }
  return node.state.IsDown() ? Stage::kDown : Stage::kServing;
}

// As the Slinky projects read it: an int32, without a leading plus or zero; anything else counts as 0.
int DeletionCost(const Pod& pod) {
  const std::string& text = pod.metadata.Annotation(std::string(kAnnotationDeletionCost));
  const auto cost = ParseInt(text);
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (!cost || (digits.size() > 1 && digits.front() == '0')) return 0;
  if (*cost < std::numeric_limits<int32_t>::min() || *cost > std::numeric_limits<int32_t>::max()) return 0;
  return int(*cost);
}

Time Deadline(const Pod& pod) {
  return ParseRfc3339(pod.metadata.Annotation(std::string(kAnnotationDeadline))).value_or(Time::min());
}

Time ReadySince(const Pod& pod) {
  const PodCondition* ready = pod.Condition("Ready");
  return ready != nullptr && ready->last_transition_time ? *ready->last_transition_time : Time::min();
}

// Smaller goes first. What the Slinky projects compare, in their order; "busy" stands before the deadline, which only
// says when jobs may end at the latest.
auto ScaleInRank(const Worker& worker) {
  const Pod& pod = *worker.pod;
  const int phase = pod.status.phase == "Running" ? 2 : pod.status.phase == "Unknown" ? 1 : 0;
  const bool busy = worker.node != nullptr && worker.node->state.IsBusy();
  return std::tuple(!pod.spec.node_name.empty(), phase, pod.Ready(), DeletionCost(pod), busy, Deadline(pod),
                    !(worker.condemned() || worker.cordoned()), -worker.ordinal, -UnixSeconds(ReadySince(pod)),
                    -UnixSeconds(pod.metadata.creation_timestamp.value_or(Time())));
}

}  // namespace

bool Worker::condemned() const { return pod->metadata.Annotation(std::string(kAnnotationScaleIn)) == "true"; }
bool Worker::cordoned() const { return pod->metadata.Annotation(std::string(kAnnotationPodCordon)) == "true"; }

std::optional<int> OrdinalOf(std::string_view set, std::string_view pod) {
  if (pod.size() <= set.size() + 1 || !pod.starts_with(set) || pod[set.size()] != '-') return std::nullopt;
  const std::string_view digits = pod.substr(set.size() + 1);
  if (digits.size() > 9 || !std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return int(*ParseInt(digits));
}

std::vector<Worker> Workers(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm) {
  std::vector<Worker> workers;
  for (const Pod& pod : world.OwnedBy<Pod>(set.metadata.uid)) {
    const auto ordinal = OrdinalOf(set.metadata.name, pod.metadata.name);
    if (!ordinal) continue;
    Worker worker{.ordinal = *ordinal, .host = pod.metadata.Label(std::string(kLabelPodHostname)), .pod = &pod};
    if (worker.host.empty()) worker.host = pod.spec.hostname.empty() ? pod.metadata.name : pod.spec.hostname;
    const slurm::Node* record = slurm.Find(worker.host);  // noted even when it is not heard
    worker.node = slurm.heard() ? record : nullptr;
    worker.stage = StageOf(worker, slurm);
    workers.push_back(std::move(worker));
  }
  std::ranges::sort(workers, {}, &Worker::ordinal);
  return workers;
}

std::string ScaleInReason(const kube::Key& pod) {
  return std::string(kReasonPrefix) + "Pod (" + pod.ToString() + std::string(kScaleInSuffix);
}

bool IsScaleInReason(std::string_view reason) {
  return reason.starts_with(kReasonPrefix) && reason.ends_with(kScaleInSuffix);
}

bool IsOurDrain(const slurm::Node& node) {
  return node.state.IsDraining() && (IsScaleInReason(node.reason) || node.reason == kReasonTerminating);
}

bool IsOurDown(const slurm::Node& node) {
  return node.state.IsDown() && (IsScaleInReason(node.reason) || node.reason == kReasonTerminating);
}

std::string RecordComment(const Worker& worker, const api::NodeSet& set) {
  return json::Encode(Record{.ns = worker.pod->metadata.namespace_,
                             .pod = worker.pod->metadata.name,
                             .node = worker.pod->spec.node_name,
                             .set = set.metadata.name,
                             .set_uid = set.metadata.uid});
}

std::string SetUidIn(std::string_view comment) {
  if (!comment.starts_with('{')) return {};
  const auto record = json::Decode<Record>(comment);
  return record ? record->set_uid : std::string();
}

bool IsRecordOf(const slurm::Node& node, const api::NodeSet& set) {
  if (!node.comment.empty()) return SetUidIn(node.comment) == set.metadata.uid;
  const auto name = render::SlurmNameOf(set);
  if (!name || !node.state.IsDynamic()) return false;
  return OrdinalOf(*name, node.name) && std::ranges::find(node.features, *name) != node.features.end();
}

void SortForScaleIn(std::vector<const Worker*>& workers) {
  std::ranges::sort(workers, {}, [](const Worker* worker) { return ScaleInRank(*worker); });
}

}  // namespace capstan::op::nodeset
