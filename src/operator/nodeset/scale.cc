#include "operator/nodeset/scale.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_set>

#include "operator/names.h"
#include "slurm/conf.h"

namespace capstan::op::nodeset {

namespace {

// How many of the first `surplus` the end of their jobs tells from those that follow.
size_t ByJobEnd(const std::vector<const Worker*>& ranked, size_t surplus) {
  if (surplus == 0 || surplus == ranked.size()) return 0;
  size_t first = surplus;
  while (first > 0 && JobEndsTell(*ranked[first - 1], *ranked[surplus])) --first;
  return surplus - first;
}

// Those that are leaving as well. Under "" whoever is on none of `nodes`.
std::map<std::string, std::vector<const Worker*>> ByNode(const api::NodeSet& set, const kube::ObjectList<Node>& nodes,
                                                         const std::vector<Worker>& workers) {
  std::map<std::string, std::string, std::less<>> by_pod;
  const auto is_unbound = [](const Worker& worker) { return worker.pod->spec.node_name.empty(); };
  if (std::ranges::any_of(workers, is_unbound)) {
    for (const Node& node : nodes) by_pod.emplace(DaemonPodName(set, node.metadata.name), node.metadata.name);
  }
  std::map<std::string, std::vector<const Worker*>> by_node;
  for (const Worker& worker : workers) {
    std::string at = worker.machine != nullptr ? worker.machine->metadata.name : "";
    if (is_unbound(worker)) {
      if (const auto named = by_pod.find(worker.pod->metadata.name); named != by_pod.end()) at = named->second;
    }
    if (!at.empty() || worker.stage != Stage::kLeaving) by_node[at].push_back(&worker);
  }
  return by_node;
}

// Why no worker can have this name; "": one can.
std::string HostTrouble(const std::string& host, const api::NodeSet& set, const plan::SlurmView& slurm) {
  const auto is_inner = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  if (host.empty() || host.size() > 63 || host.starts_with('-') || host.ends_with('-') ||
      !std::ranges::all_of(host, is_inner)) {
    return "a pod's hostname has small letters, digits and dashes, 63 at most; correct its annotation " +
           std::string(kAnnotationHostnameOverride);
  }
  if (slurm::IsReservedName(host)) return "that means something else in slurm.conf";
  const slurm::Node* record = slurm.heard() ? slurm.Find(host) : nullptr;
  if (record == nullptr || record->state.IsDown() || IsRecordOf(*record, set)) return "";
  return "Slurm has a node of that name which is not this NodeSet's";
}

}  // namespace

void GoFor(Scale& scale, std::vector<const Worker*>& some, const std::string& why) {
  SortForScaleIn(some);
  for (const Worker* worker : some) {
    scale.surplus.push_back(worker);
    scale.why.emplace(worker, why);
  }
}

void ChooseSurplus(Scale& scale, std::vector<const Worker*> staying, size_t surplus, const plan::SlurmView& slurm) {
  surplus = std::min(surplus, staying.size());
  std::vector<const Worker*> ranked = staying;
  if (surplus > 0) SortForScaleIn(ranked);  // else nobody asks who would go first
  scale.by_job_end = ByJobEnd(ranked, surplus);
  if (const auto* jobs = scale.by_job_end > 0 ? slurm.Jobs() : nullptr)
    SortForScaleIn(ranked, JobEndsOf(*jobs, ranked));
  scale.surplus.assign(ranked.begin(), ranked.begin() + std::ptrdiff_t(surplus));
  const std::unordered_set<const Worker*> going(scale.surplus.begin(), scale.surplus.end());
  for (const Worker* worker : staying) {
    if (!going.contains(worker)) scale.kept.push_back(worker);
  }
}

Scale KeepAll(const std::vector<Worker>& workers) {
  Scale scale{.wanted = int(workers.size())};
  scale.unknown = true;
  for (const Worker& worker : workers) {
    if (worker.stage != Stage::kLeaving) scale.kept.push_back(&worker);
  }
  return scale;
}

Scale ScaleTo(int replicas, const std::vector<Worker>& workers, const plan::SlurmView& slurm,
              std::string_view daemons_go) {
  Scale scale{.wanted = replicas};
  std::set<int> taken;
  std::vector<const Worker*> staying, daemons;
  for (const Worker& worker : workers) {
    if (!worker.daemon) taken.insert(worker.ordinal);
    if (worker.stage == Stage::kLeaving) continue;
    (worker.stage == Stage::kPoweredDown ? scale.powered_down : worker.daemon ? daemons : staying).push_back(&worker);
  }
  scale.missing = std::max(0, replicas - int(taken.size()));
  const auto now = size_t(std::min(scale.missing, kMostCreations));
  for (int ordinal = 0; scale.create.size() < now; ++ordinal) {
    if (!taken.contains(ordinal)) scale.create.push_back({.ordinal = ordinal, .node = {}, .host = {}});
  }
  const size_t surplus = size_t(std::max(0, int(staying.size()) - replicas));
  ChooseSurplus(scale, std::move(staying), surplus, slurm);
  GoFor(scale, daemons, std::string(daemons_go));
  return scale;
}

Scale ScaleToNodes(const api::NodeSet& set, const Placement& placement, const kube::ObjectList<Node>& nodes,
                   const std::vector<Worker>& workers, const plan::SlurmView& slurm) {
  if (nodes.begin() == nodes.end()) return KeepAll(workers);
  const std::map<std::string, std::vector<const Worker*>> by_node = ByNode(set, nodes, workers);
  Scale scale;
  std::set<std::string> hosts;
  std::vector<const Worker*> former, misplaced, renamed, twins;
  const auto of = [&](const std::string& node) {
    const auto found = by_node.find(node);
    return found == by_node.end() ? std::vector<const Worker*>() : found->second;
  };
  // One that will be called as the machine where it is placed may yet come to any.
  const std::vector<const Worker*> nowhere = of("");
  const bool any_may_come = std::ranges::any_of(nowhere, [](const Worker* worker) {
    return !worker->daemon && worker->stage == Stage::kUnbound && worker->host.empty();
  });
  for (const Worker* worker : nowhere) (worker->daemon ? misplaced : former).push_back(worker);
  for (const Node& node : nodes) {
    const Fit fit = placement.On(node);
    const std::string host = DaemonHost(node);
    std::vector<const Worker*> here;
    const std::vector<const Worker*> all = of(node.metadata.name);
    for (const Worker* worker : all) {
      if (worker->stage == Stage::kLeaving) continue;
      (!worker->daemon        ? former
       : fit == Fit::kLeaves  ? misplaced
       : worker->host != host ? renamed
                              : here)
          .push_back(worker);
    }
    if (fit == Fit::kLeaves) continue;
    SortForScaleIn(here);
    const bool is_kept = !here.empty();
    if (is_kept) {
      scale.kept.push_back(here.back());
      for (const Worker* twin : std::span(here).first(here.size() - 1)) {
        if (twin->stage == Stage::kUnbound || twin->stage == Stage::kEnded) {
          twins.push_back(twin);
          continue;
        }
        scale.twins.insert(twin);
        scale.refused.push_back("pods " + twin->pod->metadata.name + " and " + here.back()->pod->metadata.name +
                                " are one node in Slurm, " + host +
                                "; delete the one to which slurmctld does not talk, once no job runs there");
      }
    }
    const bool is_first = hosts.insert(host).second;
    scale.wanted += fit == Fit::kRuns || is_kept;
    if (fit != Fit::kRuns || is_kept) continue;
    const std::string trouble = is_first ? HostTrouble(host, set, slurm) : "the worker of another node is called so";
    if (!trouble.empty()) {
      scale.refused.push_back("Kubernetes node " + node.metadata.name + " gets no worker called " + host + ": " +
                              trouble);
      continue;
    }
    ++scale.missing;
    if (all.empty() && !any_may_come && scale.create.size() < size_t(kMostCreations))
      scale.create.push_back({.ordinal = -1, .node = node.metadata.name, .host = host});
  }
  std::ranges::sort(scale.kept, {}, &Worker::ordinal);
  GoFor(scale, misplaced, "its Kubernetes node is gone, or does not fit the template any more");
  GoFor(scale, renamed, "it is to have another name in Slurm (" + std::string(kAnnotationHostnameOverride) + ")");
  GoFor(scale, twins, "another worker is on its Kubernetes node");
  GoFor(scale, former, "spec.scalingMode is DaemonSet now");
  return scale;
}

}  // namespace capstan::op::nodeset
