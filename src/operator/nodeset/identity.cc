#include "operator/nodeset/identity.h"

#include <algorithm>

#include "base/hash.h"
#include "json/codec.h"
#include "json/schema.h"
#include "kube/client.h"
#include "operator/ask_pod.h"
#include "operator/names.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using async::Deadline;
using async::Task;
using plan::Proof;
using plan::Services;

constexpr Duration kAnswerLimit = 3s;
constexpr size_t kLongestName = 253;

struct Answer {
  std::string node;
  std::optional<bool> steps;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Answer>({json::Field<&Answer::node>("node"), json::Field<&Answer::steps>("steps")});
    return schema;
  }
};

// As the kubelet says. One of which it says nothing may run.
bool HasNoSlurmd(const Pod& pod) {
  if (pod.Ended()) return true;
  const auto slurmd = std::ranges::find(pod.status.container_statuses, kWorker.app, &ContainerStatus::name);
  return slurmd != pod.status.container_statuses.end() && (slurmd->state.waiting || slurmd->state.terminated);
}

class SlurmdIsFreeGuard final : public plan::Guard {
 public:
  SlurmdIsFreeGuard(kube::Key pod, std::string uid, std::string host)
      : pod_(std::move(pod)), uid_(std::move(uid)), host_(std::move(host)) {}

  std::string text() const override {
    return "pod " + pod_.ToString() + " says that its slurmd is " + host_ + " and has no job step";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
    if (!pod) co_return pod.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
    if (pod->metadata.uid != uid_) co_return Proof::kNo;
    if (HasNoSlurmd(*pod)) co_return Proof::kYes;
    if (pod->status.pod_ip.empty()) co_return Proof::kUnknown;
    const auto answer = co_await AskPod(services, pod->status.pod_ip, kIdentityPort, "/slurmd", kAnswerLimit, deadline);
    if (!answer || answer->status != 200) co_return Proof::kUnknown;
    const auto said = SlurmdIdentity::Parse(answer->body);
    if (!said) co_return Proof::kUnknown;
    co_return said->node == host_ && !said->steps ? Proof::kYes : Proof::kNo;
  }

 private:
  kube::Key pod_;
  std::string uid_;
  std::string host_;
};

}  // namespace

Result<SlurmdIdentity::Value> SlurmdIdentity::Parse(std::string_view json) {
  CAPSTAN_TRY(Answer answer, json::Decode<Answer>(json));
  if (answer.node.empty() || answer.node.size() > kLongestName || !answer.steps)
    return Fail(Code::kInvalid, "what it answers is not the name of a slurmd");
  return Value{.node = std::move(answer.node), .steps = *answer.steps};
}

async::Task<Result<std::optional<plan::Question::Fetched>>> SlurmdIdentity::Fetch(plan::Services& services,
                                                                                  async::Deadline deadline) const {
  const auto answer = co_await AskPod(services, address, kIdentityPort, "/slurmd", kAnswerLimit, deadline);
  if (!answer && IsNobodyThere(answer.error())) co_return std::optional<Fetched>();
  if (!answer) co_return Fail(answer.error());
  if (answer->status != 200) co_return std::optional<Fetched>();  // somebody else's port
  CAPSTAN_CO_TRY(Value value, Parse(answer->body));
  const uint64_t digest = Fnv64(value.node, value.steps ? 1 : 0);
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

SlurmdIdentity IdentityOf(const Worker& worker) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  return {{pod.namespace_, pod.name}, worker.pod->status.pod_ip};
}

std::shared_ptr<const plan::Guard> SlurmdIsFree(const Worker& worker) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  return std::make_shared<SlurmdIsFreeGuard>(kube::Key{pod.namespace_, pod.name}, pod.uid, worker.host);
}

}  // namespace capstan::op::nodeset
