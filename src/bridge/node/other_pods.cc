#include "bridge/node/other_pods.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/taken.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::bridge::node {
namespace {

using kube::Quantity;

constexpr size_t kMostNamed = 3;

// Such pods are on every machine; Settings::reserved_cpu and reserved_memory are for them.
bool IsOfTheMachine(const Pod& pod) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  return owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node");
}

}  // namespace

std::string OtherPods::id() const {
  std::string text = "other pods on node " + node_;
  for (const kube::Key& worker : workers_) text += " than " + worker.ToString();
  return text;
}

async::Task<Result<std::optional<plan::Question::Fetched>>> OtherPods::Fetch(plan::Services& services,
                                                                             async::Deadline deadline) const {
  auto value = std::make_shared<Value>();
  std::vector<std::pair<Quantity, std::string>> foreign;
  kube::ListOptions options{.field_selector = "spec.nodeName=" + node_};
  do {
    const auto page = co_await services.client.List<Pod>(kube::kPods, options, deadline);
    if (!page) co_return Fail(page.error());
    for (const Pod& pod : page->items) {
      const bool is_worker = std::ranges::find(workers_, pod.key()) != workers_.end();
      if (pod.HasEnded() || is_worker || pod.metadata.labels.contains(std::string(kBridged))) continue;
      const Quantity cpu = Requested(pod, "cpu").value_or(Quantity());
      value->cpu += cpu;
      value->memory += Requested(pod, "memory").value_or(Quantity());
      for (const std::string_view resource : kGpuResources)
        value->gpus += Requested(pod, std::string(resource)).value_or(Quantity()).Ceiling();
      if (!IsOfTheMachine(pod)) foreign.emplace_back(cpu, pod.key().ToString());
    }
    options.continue_token = page->metadata.continue_token;
  } while (!options.continue_token.empty());
  std::ranges::sort(
      foreign, [](const auto& a, const auto& b) { return std::tie(b.first, a.second) < std::tie(a.first, b.second); });
  value->foreign = foreign.size();
  for (size_t i = 0; i < foreign.size() && i < kMostNamed; ++i) value->largest.push_back(foreign[i].second);
  const uint64_t digest =
      Fnv64(value->cpu.ToString() + " " + value->memory.ToString() + " " + std::to_string(value->gpus) + " " +
            std::to_string(value->foreign) + " " + Join(value->largest, " "));
  co_return Fetched{std::move(value), digest};
}

}  // namespace capstan::bridge::node
