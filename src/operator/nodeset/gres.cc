#include "operator/nodeset/gres.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"
#include "kube/quantity.h"
#include "operator/render/json.h"
#include "slurm/conf.h"

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

// "4", "2K": as Slurm counts, in steps of 1024.
std::optional<int64_t> CountOf(std::string_view text) {
  int64_t unit = 1;
  const size_t suffix = std::string_view("KMGTP").find(text.empty() ? ' ' : char(text.back() & ~0x20));
  if (suffix != std::string_view::npos) {
    unit = int64_t{1} << (10 * (suffix + 1));
    text.remove_suffix(1);
  }
  const auto count = ParseInt(text);
  if (!count || *count < 0 || *count > int64_t{1} << 40) return std::nullopt;
  return *count * unit;
}

struct Gres {
  std::map<std::string, int64_t, std::less<>> by_name;                                    // "gpu"
  std::map<std::string, std::map<std::string, int64_t, std::less<>>, std::less<>> types;  // of those that tell one
};

// Of "gpu:a100:4(S:0-1),nvme:1".
Gres Parsed(std::string_view text) {
  std::string plain;
  int depth = 0;
  for (const char c : text) {  // sockets stand in brackets, with commas between them
    if (c == '(') ++depth;
    if (depth == 0) plain += c;
    if (c == ')' && depth > 0) --depth;
  }
  Gres gres;
  for (const std::string_view one : Split(plain, ',')) {
    std::vector<std::string_view> parts = Split(Trim(one), ':');
    if (parts.front().empty()) continue;
    std::erase(parts, "no_consume");
    int64_t count = 1;
    if (parts.size() > 1) {
      if (const auto given = CountOf(parts.back())) {
        count = *given;
        parts.pop_back();
      }
    }
    const std::string name(parts.front());
    gres.by_name[name] += count;
    if (parts.size() > 1) gres.types[name][std::string(parts[1])] += count;
  }
  return gres;
}

bool IsThere(const Gres& wanted, const Gres& has) {
  for (const auto& [name, count] : wanted.by_name) {
    const auto found = has.by_name.find(name);
    if ((found == has.by_name.end() ? 0 : found->second) != count) return false;
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
  if (wish.text.empty() || IsThere(Parsed(wish.text), Parsed(node.gres))) return "";
  return "has " + (node.gres.empty() ? "no generic resources" : OneLine(node.gres, kLongestGres)) + " in Slurm, and " +
         wish.source + " asks for " + OneLine(wish.text, kLongestGres) +
         "; if it registered before that was asked for, delete its pod once it is idle, else look at gres.conf and at "
         "the "
         "devices of its machine";
}

}  // namespace capstan::op::nodeset
