#include "bridge/node/other_pods.h"

#include <algorithm>
#include <tuple>

#include "base/hash.h"
#include "bridge/names.h"
#include "bridge/taken.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::bridge::node {
namespace {

using kube::Quantity;

constexpr size_t kMostListed = 3;

OtherPod OtherPodOf(const Pod& pod) {
  const auto requested = [&](std::string_view resource) {
    return Requested(pod, std::string(resource)).value_or(Quantity());
  };
  OtherPod other{.key = pod.key(), .cpu = requested("cpu"), .memory = requested("memory")};
  for (const std::string_view resource : kGpuResources) other.gpus += requested(resource).Ceiling();
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  // A worker whose record does not say so yet is none of the others.
  const bool is_worker = pod.metadata.Label("app.kubernetes.io/name") == "slurmd";
  other.of_the_machine = is_worker || (owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node"));
  return other;
}

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> OtherPods::Fetch(plan::Services& services,
                                                                             async::Deadline deadline) const {
  auto value = std::make_shared<Value>();
  uint64_t digest = 0;
  kube::ListOptions options{.label_selector = "!" + std::string(kBridged) + ",!" + std::string(kJobId)};
  do {
    const auto page = co_await services.client.List<Pod>(kube::kPods, options, deadline);
    if (!page) co_return Fail(page.error());
    for (const Pod& pod : page->items) {
      if (pod.HasEnded() || !pod.IsBound()) continue;
      digest += Fnv64(pod.metadata.uid);  // in whatever order they come; what a pod requests seldom changes
      (*value)[pod.spec.node_name].push_back(OtherPodOf(pod));
    }
    options.continue_token = page->metadata.continue_token;
  } while (!options.continue_token.empty());
  co_return Fetched{std::move(value), digest};
}

Besides BesidesWorkers(const OtherPods::Value& pods, const std::string& node, std::span<const kube::Key> workers) {
  Besides besides;
  const auto there = pods.find(node);
  if (there == pods.end()) return besides;
  std::vector<const OtherPod*> foreign;
  for (const OtherPod& pod : there->second) {
    if (std::ranges::find(workers, pod.key) != workers.end()) continue;
    besides.cpu += pod.cpu;
    besides.memory += pod.memory;
    besides.gpus += pod.gpus;
    if (!pod.of_the_machine) foreign.push_back(&pod);
  }
  std::ranges::sort(foreign, [](const OtherPod* a, const OtherPod* b) {
    return std::tie(b->cpu, a->key) < std::tie(a->cpu, b->key);
  });
  besides.foreign = foreign.size();
  for (size_t i = 0; i < foreign.size() && i < kMostListed; ++i) besides.largest.push_back(foreign[i]->key.ToString());
  return besides;
}

}  // namespace capstan::bridge::node
