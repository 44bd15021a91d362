#include "operator/nodeset/gres.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "kube/quantity.h"
#include "operator/render/json.h"
#include "slurm/conf.h"
#include "slurm/gres.h"

namespace capstan::op::nodeset {
namespace {

using render::Json;

constexpr std::string_view kGpu = "gpu";
constexpr size_t kLongestGres = 256;  // bytes of what is shown of Slurm's text

bool IsGpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "amd.com/gpu" || resource.starts_with("nvidia.com/mig-") ||
         resource == "gpu.intel.com/i915" || resource == "gpu.intel.com/xe";
}

// Of the container, else of the pod, as with CPUs and memory.
int64_t GpusOf(const Json& from) {
  const Json* limits = json::Find(from, {"resources", "limits"});
  if (limits == nullptr || !limits->is_object()) return 0;
  int64_t count = 0;
  for (const auto& limit : limits->get_object()) {
    if (!IsGpu(limit.key())) continue;
    const auto quantity = kube::Quantity::Parse(limit.value().is_string() ? std::string(limit.value().get_string())
                                                                          : json::Serialize(limit.value()));
    if (quantity) count += std::clamp<int64_t>(quantity->Ceiling(), 0, 4096);
  }
  return count;
}

bool KnowsGpus(const api::Controller& controller) {
  std::string types;
  const auto read = slurm::ForEachConfLine(controller.spec.extra_conf, [&types](const slurm::ConfLine& line) {
    for (const slurm::ConfItem& item : line.items) {
      if (EqualsIgnoreCase(item.key, "GresTypes")) types = item.value;
    }
    return true;
  });
  return read && std::ranges::any_of(Split(types, ','), [](std::string_view type) { return Trim(type) == kGpu; });
}

std::string GresInConf(std::string_view extra_conf) {
  std::vector<std::string> all;
  for (const std::string_view word : Words(extra_conf)) {
    const size_t equals = word.find('=');
    if (equals != word.npos && EqualsIgnoreCase(word.substr(0, equals), "Gres"))
      all.emplace_back(word.substr(equals + 1));
  }
  return Join(all, ",");
}

bool IsThere(const slurm::Gres& wanted, const slurm::Gres& has) {
  for (const auto& [name, count] : wanted.by_name) {
    if (has.Count(name) != count) return false;
    const auto types = wanted.types.find(name), told = has.types.find(name);
    if (types != wanted.types.end() && told != has.types.end() && types->second != told->second) return false;
  }
  return true;
}

}  // namespace

Result<GresWish> GresOf(const api::NodeSet& set, const api::Controller& controller) {
  if (std::string given = GresInConf(set.spec.extra_conf); !given.empty())
    return GresWish{.text = std::move(given), .source = "spec.extraConf"};
  CAPSTAN_TRY(const Json container, json::ParseObject(set.spec.slurmd, "spec.slurmd"));
  CAPSTAN_TRY(const Json pod_spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  int64_t gpus = GpusOf(container);
  if (gpus == 0) gpus = GpusOf(pod_spec);
  if (gpus == 0 || !KnowsGpus(controller)) return GresWish();
  return GresWish{
      .text = std::string(kGpu) + ":" + std::to_string(gpus), .source = "the limits of its pod", .derived = true};
}

Result<std::string> ConfWithGres(const api::NodeSet& set, const api::Controller& controller) {
  CAPSTAN_TRY(const GresWish wish, GresOf(set, controller));
  if (!wish.derived) return set.spec.extra_conf;
  return set.spec.extra_conf + " Gres=" + wish.text;
}

std::string GresTrouble(const slurm::Node& node, const GresWish& wish) {
  if (wish.text.empty() || IsThere(slurm::Gres::Parse(wish.text), slurm::Gres::Parse(node.gres))) return "";
  return "has " + (node.gres.empty() ? "no generic resources" : OneLine(node.gres, kLongestGres)) + " in Slurm, and " +
         wish.source + " asks for " + OneLine(wish.text, kLongestGres) +
         "; if it registered before that was asked for, delete its pod once it is idle, else look at gres.conf and at "
         "the "
         "devices of its machine";
}

}  // namespace capstan::op::nodeset
