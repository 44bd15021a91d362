#include "operator/nodeset/live_conf.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/revision.h"
#include "operator/render/cluster.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

using Features = std::vector<std::string>;

void Sort(Features& features) {
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
}

bool Names(const Features& features, std::string_view feature) {
  return std::ranges::find(features, feature) != features.end();
}

// `has` without what only `before` asks for, and with all that `now` does.
Features Changed(const Features& has, const Features& before, const Features& now, std::string_view own) {
  Features features = now;
  for (const std::string& feature : has) {
    if (feature == own || !Names(before, feature)) features.push_back(feature);
  }
  Sort(features);
  return features;
}

// nullopt: the record says so already.
std::optional<slurm::NodeUpdate> UpdateOf(const slurm::Node& node, const LiveConf& before, const LiveConf& now,
                                          std::string_view own) {
  slurm::NodeUpdate update;
  if (before.weight != now.weight && node.weight != now.weight) update.weight = now.weight;
  Features had = node.features, were_active = node.active_features;
  Sort(had);
  Sort(were_active);
  Features features = Changed(node.features, before.features, now.features, own);
  Features active = Changed(node.active_features, before.features, now.features, own);
  if (before.features != now.features && (features != had || active != were_active)) {
    update.features = std::move(features);
    update.active_features = std::move(active);
  }
  if (!update.weight && !update.features) return std::nullopt;
  return update;
}

plan::Action LabelAs(const Pod& pod, std::string_view revision, std::vector<plan::ActionId> after) {
  std::string patch =
      R"({"metadata":{"labels":{")" + std::string(kLabelRevision) + R"(":")" + std::string(revision) + R"("}}})";
  return {.effect = plan::MergePatch("relabel", {&kube::kPods, {pod.metadata.namespace_, pod.metadata.name}},
                                     pod.metadata.uid, std::move(patch)),
          .reason = "it follows what has changed of extraConf",
          .guards = {},
          .after = std::move(after),
          .event = {}};
}

}  // namespace

LiveConf LiveConfOf(std::string_view extra_conf) {
  LiveConf conf;
  std::map<std::string, std::string> rest;  // of a key that is there twice both values, as slurmd gets them
  for (const std::string_view word : Words(extra_conf)) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string key = ToLower(word.substr(0, equals));
    const std::string_view value = word.substr(std::min(equals + 1, word.size()));
    if (key == "feature" || key == "features") {
      for (const std::string_view feature : Split(value, ',')) {
        if (!Trim(feature).empty()) conf.features.emplace_back(Trim(feature));
      }
    } else if (const auto weight = ParseInt(value); key == "weight" && weight) {
      conf.weight = *weight;
    } else {
      std::string& values = rest[key];
      values += (values.empty() ? "" : ",") + std::string(value);
    }
  }
  Sort(conf.features);
  for (const auto& [key, values] : rest) conf.rest += (conf.rest.empty() ? "" : " ") + key + "=" + values;
  return conf;
}

std::map<std::string, std::string, std::less<>> AlikeRevisions(const plan::World& world, const api::NodeSet& set,
                                                               std::string_view revision) {
  std::map<std::string, std::string, std::less<>> alike;
  const std::string rest = LiveConfOf(set.spec.extra_conf).rest;
  for (const ControllerRevision& one : world.OwnedBy<ControllerRevision>(set.metadata.uid)) {
    const std::string& former = one.metadata.Label(AsKey<kLabelRevision>());
    const std::string& extra_conf = one.data.spec.extra_conf;
    if (former == revision || extra_conf == set.spec.extra_conf || LiveConfOf(extra_conf).rest != rest) continue;
    api::NodeSet before = set;
    before.spec.extra_conf = extra_conf;
    const auto its = Revision(before);  // else something besides has changed
    if (its && *its == former) alike.emplace(former, extra_conf);
  }
  return alike;
}

void FollowExtraConf(const api::NodeSet& set, const std::vector<Worker>& workers, const Revisions& revisions,
                     plan::Plan& plan) {
  if (revisions.alike.empty()) return;
  const LiveConf now = LiveConfOf(set.spec.extra_conf);
  const auto own = render::SlurmNameOf(set);
  if (!own) return;
  std::map<std::string_view, LiveConf> before;  // by revision: many workers have one
  for (const auto& [revision, extra_conf] : revisions.alike) before.emplace(revision, LiveConfOf(extra_conf));
  for (const Worker& worker : workers) {
    if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded || worker.node == nullptr) continue;
    const auto alike = before.find(worker.pod->metadata.Label(AsKey<kLabelRevision>()));
    if (alike == before.end()) continue;
    std::vector<plan::ActionId> updated;
    if (auto update = UpdateOf(*worker.node, alike->second, now, *own)) {
      update->names = {worker.host};
      plan.slurm_expects.push_back(worker.host);
      updated.push_back(plan.Add({.effect = plan::UpdateNode("describe", plan.slurm_cluster, *std::move(update)),
                                  .reason = "what extraConf says of it now",
                                  .guards = {},
                                  .after = {},
                                  .event = {}}));
    }
    plan.Add(LabelAs(*worker.pod, revisions.current, std::move(updated)));
  }
}

std::optional<slurm::NodeUpdate> TakenOverRecord(const Worker& worker, const api::NodeSet& set) {
  if (worker.node == nullptr || !(worker.daemon || worker.named_by_machine())) return std::nullopt;
  const auto own = render::SlurmNameOf(set);
  if (!own || Names(worker.node->features, *own) || SetOfRecord(*worker.node) == set.metadata.name) return std::nullopt;
  const LiveConf conf = LiveConfOf(set.spec.extra_conf);
  Features features = conf.features;
  features.push_back(*own);
  Sort(features);
  slurm::NodeUpdate update{.features = features, .active_features = features};
  if (worker.node->weight != conf.weight) update.weight = conf.weight;
  return update;
}

}  // namespace capstan::op::nodeset
