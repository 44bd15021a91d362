#include "bridge/node/worker_pod.h"

#include "base/hash.h"
#include "json/codec.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::bridge::node {

async::Task<Result<std::optional<plan::Question::Fetched>>> WorkerPod::Fetch(plan::Services& services,
                                                                             async::Deadline deadline) const {
  auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
  if (!pod && pod.error().code() == Code::kNotFound) co_return std::nullopt;
  if (!pod) co_return Fail(pod.error());
  Pod kept;
  kept.metadata.name = pod->metadata.name;
  kept.metadata.uid = pod->metadata.uid;
  kept.spec = std::move(pod->spec);
  const uint64_t digest = Fnv64(json::Encode(kept));
  co_return Fetched{std::make_shared<const Value>(std::move(kept)), digest};
}

}  // namespace capstan::bridge::node
