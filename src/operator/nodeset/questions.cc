#include "operator/nodeset/questions.h"

#include "base/hash.h"
#include "base/text.h"
#include "kube/client.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "plan/services.h"

namespace capstan::op::nodeset {

async::Task<Result<std::optional<plan::Question::Fetched>>> NodeAnnotations::Fetch(plan::Services& services,
                                                                                   async::Deadline deadline) const {
  kube::GetOptions options{.metadata_only = true};
  const auto read = co_await services.client.Get<CordonedNode>(kube::kNodes, {"", node}, std::move(options), deadline);
  if (!read && read.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!read) co_return Fail(read.error());
  auto found = std::make_shared<Value>();
  for (const std::string_view key : {kAnnotationTopology, kAnnotationNodeFeatures}) {
    if (!read->metadata.Annotation(std::string(key)).empty()) found->emplace_back(key);
  }
  const uint64_t digest = Fnv64(Join(*found, " "));
  co_return Fetched{std::move(found), digest};
}

}  // namespace capstan::op::nodeset
