#include "operator/upgrades.h"

#include <algorithm>

#include "api/accounting.h"
#include "json/value.h"
#include "operator/pods.h"
#include "operator/render/merge.h"
#include "operator/render/parts.h"
#include "operator/settings.h"

namespace capstan::op {
namespace {

using render::Json;
using render::JsonArray;
using render::JsonObject;

std::string ImageOf(const WorkloadTemplate& pod, std::string_view container) {
  const auto found = std::ranges::find(pod.spec.containers, container, &ContainerImage::name);
  return found == pod.spec.containers.end() ? std::string() : found->image;
}

std::string ImageIn(const Json& pod, std::string_view container) {
  const Json* containers = json::Find(pod, {"containers"});
  if (containers == nullptr || !containers->is_array()) return {};
  for (const Json& one : containers->get_array()) {
    if (json::FindText(one, {"name"}) == container) return std::string(json::FindText(one, {"image"}));
  }
  return {};
}

// The image that the main container of a workload is wanted to have. "": the user's parts cannot be merged.
std::string ImageWanted(const Component& component, const json::Raw& container, const api::PodTemplate& pod,
                        const Settings& settings) {
  auto merged = render::MergeContainer(JsonObject{{"name", component.app}}, container, component.app);
  if (!merged) return {};
  render::DefaultImage(*merged, settings.Image(component.app));
  JsonObject spec{{"containers", JsonArray{*std::move(merged)}}};
  const auto whole = render::MergePodSpec(std::move(spec), pod.spec, "spec.template.spec");
  return whole ? ImageIn(*whole, component.app) : std::string();
}

// How far a daemon is that is to be new and ready.
struct Progress {
  bool is_new = false, ready = false;
  std::string trouble;  // why it is not, as the kubelet says
  std::string told;
};

Progress ProgressOf(const plan::World& world, const Predecessor& before) {
  if (before.set == nullptr) return {.told = "it is not there yet"};
  const std::string image = ImageOf(before.set->spec.pod_template, before.component.app);
  if (before.image.empty() || image != before.image) return {.told = "it has " + image + " still"};
  const WorkloadStatus& status = before.set->status;
  Progress progress;
  progress.is_new =
      status.observed_generation >= before.set->metadata.generation && status.updated_replicas >= before.replicas;
  progress.ready = progress.is_new && status.ready_replicas >= before.replicas;
  if (progress.ready) return progress;
  for (const Pod& pod : world.OwnedBy<Pod>(before.set->metadata.uid)) {
    if (progress.trouble.empty()) progress.trouble = PodTrouble(pod);
  }
  progress.told = progress.is_new ? "it is not ready" : "it is being replaced";
  if (!progress.trouble.empty()) progress.told += ": " + progress.trouble;
  return progress;
}

// `image` instead of `wanted`, in all containers that want that.
void Replace(Json& pod, const std::string& wanted, const std::string& image) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    Json* containers = json::Find(pod, {list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (Json& container : containers->get_array()) {
      if (json::FindText(container, {"image"}) == wanted) container.get_object()["image"] = image;
    }
  }
}

}  // namespace

std::optional<Predecessor> SlurmdbdBefore(const plan::World& world, const api::Controller& controller) {
  const auto& ref = controller.spec.accounting_ref;
  if (!ref || ref->name.empty()) return std::nullopt;
  const kube::Key key{controller.metadata.namespace_, ref->name};
  const auto* accounting = world.Find<api::Accounting>(key);
  if (accounting != nullptr && accounting->spec.external.value_or(false)) return std::nullopt;
  std::string image;
  if (accounting != nullptr)
    image = ImageWanted(kAccounting, accounting->spec.slurmdbd, accounting->spec.pod_template, SettingsOf(world));
  return Predecessor{.component = kAccounting,
                     .of = "Accounting " + key.ToString(),
                     .image = std::move(image),
                     .set = world.Find<StatefulSet>({key.ns, AccountingName(key.name)})};
}

std::optional<Predecessor> SlurmctldBefore(const plan::World& world, const api::Controller& controller) {
  if (controller.spec.external.value_or(false)) return std::nullopt;
  const json::ObjectMeta& metadata = controller.metadata;
  const api::ControllerSpec& spec = controller.spec;
  return Predecessor{.component = kController,
                     .of = "Controller " + metadata.namespace_ + "/" + metadata.name,
                     .image = ImageWanted(kController, spec.slurmctld, spec.pod_template, SettingsOf(world)),
                     .set = world.Find<StatefulSet>({metadata.namespace_, ControllerName(metadata.name)}),
                     .replicas = api::WithDefaults(spec).Replicas()};
}

plan::Child InOrder(ReconcileBase& reconcile, const std::optional<Predecessor>& before, const Component& component,
                    const WorkloadTemplate& present, plan::Child wanted, bool never_ran) {
  if (!before) return wanted;
  const std::string kept = ImageOf(present, component.app);
  auto body = json::Parse(wanted.body);
  Json* pod = body ? json::Find(*body, {"spec", "template", "spec"}) : nullptr;
  if (pod == nullptr || kept.empty()) return wanted;
  const std::string image = ImageIn(*pod, component.app);
  if (image == kept) return wanted;
  const Progress progress = ProgressOf(reconcile.world, *before);
  if (progress.ready || (progress.is_new && never_ran)) return wanted;
  Replace(*pod, image, kept);
  wanted.body = json::SerializeCanonical(*body);
  std::string message = std::string(component.app) + " keeps image " + kept + ", and gets " + image + " once " +
                        std::string(before->component.app) + " of " + before->of + " runs " +
                        (before->image.empty() ? "what its spec asks for" : before->image) +
                        " and is ready: " + progress.told;
  if (progress.trouble.empty())
    reconcile.findings.Wait("WaitingForUpgrade", std::move(message));
  else
    reconcile.findings.Problem("WaitingForUpgrade", std::move(message));
  return wanted;
}

std::string WhyBehind(const plan::World& world, const Predecessor& before) {
  const std::string image = ImageOf(before.set->spec.pod_template, before.component.app);
  if (!before.image.empty() && image != before.image) return "it has " + image + " still";
  const WorkloadStatus& status = before.set->status;
  if (status.observed_generation < before.set->metadata.generation) return "it is being replaced";
  for (const Pod& pod : world.OwnedBy<Pod>(before.set->metadata.uid)) {
    const std::string& revision = pod.metadata.Label(std::string(kLabelSetRevision));
    if (!revision.empty() && !status.update_revision.empty() && revision != status.update_revision)
      return "pod " + pod.metadata.name + " is of its older template";
  }
  return status.ready_replicas > 0 || before.replicas == 0 ? "" : "none is ready";
}

}  // namespace capstan::op
