#include "operator/nodeset/node_annotations.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/look.h"
#include "operator/objects.h"
#include "operator/topology.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

constexpr std::string_view kFeaturePrefix = "k8s/";  // of the Slinky projects
constexpr size_t kLongest = 1024;                    // bytes of an annotation
constexpr std::string_view kMore = "-_.:/+";         // in a name, besides letters and digits

bool IsPlain(std::string_view text, std::string_view more) {
  return text.size() <= kLongest && std::ranges::all_of(text, [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.contains(c);
         });
}

const std::string& Said(const Worker& worker, std::string_view annotation) {
  static const std::string nothing;
  const json::ObjectMeta& machine = worker.machine->metadata;
  return machine.annotations.empty() ? nothing : machine.Annotation(std::string(annotation));
}

bool IsTopology(std::string_view text) { return IsPlain(text, std::string(kMore) + ","); }

// The first of these that the worker's Kubernetes node does not have; "": it has all.
std::string MissingLabel(const Worker& worker, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    if (worker.machine->metadata.Label(label).empty()) return label;
  }
  return "";
}

std::string PlaceByLabels(const Worker& worker, const std::vector<std::string>& labels) {
  std::vector<std::string> values;
  if (!MissingLabel(worker, labels).empty()) return UnknownPlace();
  for (const std::string& label : labels) values.push_back(worker.machine->metadata.Label(label));
  return PlaceBelow(values);
}

const std::string& PlaceOfPod(const Worker& worker) {
  return worker.pod->metadata.Annotation(AsKey<kAnnotationTopology>());
}

// Where it stands, for Slurm; "": nobody says.
std::string PlaceOf(const Worker& worker, const Placing& placing) {
  const std::string& said = Said(worker, kAnnotationTopology);
  if (!placing.tree) return IsTopology(said) ? said : "";
  if (IsInTree(said) && IsTopology(said)) return said;
  if (!placing.labels.empty()) return PlaceByLabels(worker, placing.labels);
  return IsInTree(worker.node != nullptr ? worker.node->topology : PlaceOfPod(worker)) ? "" : UnknownPlace();
}

// Sorted, each once; without those that are no names.
std::vector<std::string> FeaturesOf(const Worker& worker) {
  std::vector<std::string> features;
  if (worker.machine->metadata.annotations.empty()) return features;
  for (std::string_view one : Split(Said(worker, kAnnotationNodeFeatures), ',')) {
    one = Trim(one);
    if (!one.empty() && IsPlain(one, kMore)) features.push_back(std::string(kFeaturePrefix) + std::string(one));
  }
  std::ranges::sort(features);
  features.erase(std::unique(features.begin(), features.end()), features.end());
  return features;
}

bool IsFromNode(std::string_view feature) { return feature.starts_with(kFeaturePrefix); }

// `has` with `wanted` in place of those that begin with the prefix; nullopt: it is so already.
std::optional<std::vector<std::string>> Replaced(const std::vector<std::string>& has,
                                                 const std::vector<std::string>& wanted) {
  if (wanted.empty() && std::ranges::none_of(has, [](const std::string& one) { return IsFromNode(one); }))
    return std::nullopt;
  std::vector<std::string> ours, all = wanted;
  for (const std::string& feature : has) (IsFromNode(feature) ? ours : all).push_back(feature);
  std::ranges::sort(ours);
  if (ours == wanted) return std::nullopt;
  std::ranges::sort(all);
  return all;
}

void FollowFeatures(const Worker& worker, slurm::NodeUpdate& update) {
  const std::vector<std::string> wanted = FeaturesOf(worker);
  const slurm::Node& node = *worker.node;
  auto features = Replaced(node.features, wanted);
  auto active = Replaced(node.active_features, wanted);
  if (!features && !active) return;
  update.features = features ? std::move(*features) : node.features;
  update.active_features = active ? std::move(*active) : node.active_features;
  if (update.features->empty()) update.features.reset();
  if (update.active_features->empty()) update.active_features.reset();
}

// "": it is not told any more.
void TellPod(const Worker& worker, const std::string& topology, plan::Plan& plan) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  if (PlaceOfPod(worker) == topology) return;
  std::string patch = R"({"metadata":{"annotations":{)" + JsonQuoted(kAnnotationTopology) + ":" +
                      (topology.empty() ? "null" : JsonQuoted(topology)) + "}}}";
  plan.Add({.effect = plan::MergePatch("place", {&kube::kPods, {pod.namespace_, pod.name}}, pod.uid, std::move(patch)),
            .reason = "the topology of its Kubernetes node"});
}

void FollowTopology(const Worker& worker, const Placing& placing, slurm::NodeUpdate& update, plan::Plan& plan) {
  const std::string place = PlaceOf(worker, placing);
  if (!place.empty()) {
    TellPod(worker, place, plan);
    if (worker.node != nullptr && worker.node->topology != place) update.topology = place;
  } else if (!placing.tree && IsInTree(PlaceOfPod(worker))) {
    TellPod(worker, "", plan);  // a slurmd that starts with it is out of service where the user's own topology.yaml is
  }
}

}  // namespace

Placing PlacingOf(const plan::World& world, const api::Controller* controller) {
  if (controller == nullptr) return {};
  const json::ObjectMeta& metadata = controller->metadata;
  const auto* published = world.Find<ConfigMap>({metadata.namespace_, ConfigName(metadata.name)});
  if (published == nullptr || published->data.topology_yaml.empty()) return {};
  return {.tree = true, .labels = TopologyLabels(*controller).value_or(std::vector<std::string>())};
}

bool NamesTopology(std::string_view extra_conf) {
  return std::ranges::any_of(Words(extra_conf), [](std::string_view token) {
    return EqualsIgnoreCase(token.substr(0, token.find('=')), "Topology");
  });
}

void FollowNodeAnnotations(const Look& look, const Worker& worker, plan::Plan& plan) {
  if (worker.machine == nullptr || worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return;
  slurm::NodeUpdate update;
  if (!NamesTopology(look.set.spec.extra_conf)) FollowTopology(worker, look.placing, update, plan);
  if (worker.node == nullptr) return;
  FollowFeatures(worker, update);
  if (!update.topology && !update.features && !update.active_features) return;
  update.names = {worker.host};
  plan.slurm_expects.push_back(worker.host);
  plan.Add({.effect = plan::UpdateNode("describe", plan.slurm_cluster, std::move(update)),
            .reason = "what its Kubernetes node says"});
}

std::string AnnotationTrouble(const Worker& worker, const api::NodeSet& set, const Placing& placing) {
  if (worker.machine == nullptr) return "";
  const std::string machine = "has Kubernetes node " + worker.machine->metadata.name + ", ";
  const std::string& topology = Said(worker, kAnnotationTopology);
  const auto not_passed_on = [&](const std::string& why) {
    return machine + "whose annotation " + std::string(kAnnotationTopology) +
           " is not passed on: " + JsonQuoted(OneLine(topology, kLongest / 4)) + why;
  };
  if (!IsTopology(topology)) return not_passed_on(" has other characters than a topology like \"tree:s1\"");
  for (std::string_view one : Split(Said(worker, kAnnotationNodeFeatures), ',')) {
    one = Trim(one);
    if (IsPlain(one, kMore)) continue;
    return machine + "whose annotation " + std::string(kAnnotationNodeFeatures) + " names " +
           JsonQuoted(OneLine(one, kLongest / 4)) + ", which is no name of a feature; the others are passed on";
  }
  if (!placing.tree || NamesTopology(set.spec.extra_conf) || IsInTree(topology)) return "";
  if (!topology.empty()) return not_passed_on(" is not in the tree by labels, where places begin as " + UnknownPlace());
  const std::string missing = MissingLabel(worker, placing.labels);
  if (missing.empty()) return "";
  return machine + "which has no label " + OneLine(missing, kLongest / 4) + " (annotation " +
         std::string(kAnnotationTopologyLabels) + " of the Controller): it stands at " + UnknownPlace() + " in Slurm";
}

}  // namespace capstan::op::nodeset
