#include "operator/controller/questions.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/schema.h"
#include "json/value.h"
#include "kube/client.h"
#include "operator/ask_pod.h"
#include "operator/names.h"
#include "operator/worker_comment.h"
#include "plan/services.h"
#include "slurm/hostlist.h"

namespace capstan::op::controller {
namespace {

constexpr Duration kAnswerLimit = 3s;
constexpr Duration kReadyLimit = 2s;
constexpr int64_t kBeats = 10;  // seconds; slurmctld writes every quarter of SlurmctldTimeout
constexpr size_t kMaxMessage = 500;

struct RefusedConfiguration {
  LiveConfiguration::Files files;
  std::string message;
  static const json::Schema& Schema() {
    using R = RefusedConfiguration;
    static const json::Schema schema =
        json::Object<R>({json::Field<&R::files>("files"), json::Field<&R::message>("message")});
    return schema;
  }
};
struct LiveAnswer {
  LiveConfiguration::Files files;
  std::string since;
  RefusedConfiguration refused;
  std::optional<bool> runs;
  static const json::Schema& Schema() {
    using A = LiveAnswer;
    static const json::Schema schema =
        json::Object<A>({json::Field<&A::files>("files"), json::Field<&A::since>("since"),
                         json::Field<&A::refused>("refused"), json::Field<&A::runs>("runs")});
    return schema;
  }
};

struct HeartbeatAnswer {
  std::optional<int64_t> server;
  int64_t age_s = 0;
  static const json::Schema& Schema() {
    using H = HeartbeatAnswer;
    static const json::Schema schema =
        json::Object<H>({json::Field<&H::server>("server"), json::Field<&H::age_s>("age_s")});
    return schema;
  }
};
struct StandbyAnswer {
  HeartbeatAnswer heartbeat;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<StandbyAnswer>({json::Field<&StandbyAnswer::heartbeat>("heartbeat")});
    return schema;
  }
};

using Fetched = plan::Question::Fetched;

}  // namespace

std::string InCharge::id() const {
  std::string id = "slurmctld in charge of " + cluster + " among";
  for (const Candidate& candidate : candidates) id += " " + candidate.pod + "=" + candidate.address;
  return id;
}

std::optional<int> InCharge::WriterIn(std::string_view json) {
  const auto answer = json::Decode<StandbyAnswer>(json);
  if (!answer || !answer->heartbeat.server || *answer->heartbeat.server < 0) return std::nullopt;
  return answer->heartbeat.age_s <= kBeats ? std::optional<int>(int(*answer->heartbeat.server)) : std::nullopt;
}

async::Task<Result<std::optional<Fetched>>> InCharge::Fetch(plan::Services& services, async::Deadline deadline) const {
  if (!services.ask) co_return Fail(Code::kUnavailable, "there is no way to pods");
  Value value;
  std::vector<const Candidate*> standing_by;
  for (const Candidate& candidate : candidates) {
    if (candidate.address.empty() || !value.pod.empty()) continue;
    const auto ready = co_await AskPod(services, candidate.address, kSlurmctldPort, "/readyz", kReadyLimit, deadline);
    if (ready && ready->status / 100 == 2)
      value.pod = candidate.pod;
    else if (ready)
      standing_by.push_back(&candidate);
  }
  for (const Candidate* candidate : standing_by) {
    if (!value.pod.empty() || value.writer) break;
    const auto told =
        co_await AskPod(services, candidate->address, kConfigurationPort, "/configuration", kReadyLimit, deadline);
    if (told && told->status == 200) value.writer = WriterIn(told->body);
  }
  const uint64_t digest = Fnv64(value.pod, value.writer ? uint64_t(*value.writer) + 1 : 0);
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

// Only full tenths are told: the few messages that are always on their way wake nobody.
async::Task<Result<std::optional<Fetched>>> AccountingQueueFill::Fetch(plan::Services& services,
                                                                       async::Deadline deadline) const {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster));
  CAPSTAN_CO_TRY(const slurm::AccountingQueue queue, co_await source->ReadAccountingQueue(deadline));
  const int64_t capacity = std::max<int64_t>(1, queue.capacity);
  const int tenths = int(std::clamp<int64_t>(queue.waiting, 0, capacity) * 10 / capacity);
  const uint64_t digest = Fnv64(std::to_string(capacity), uint64_t(tenths));
  co_return Fetched{std::make_shared<const Value>(tenths, capacity), digest};
}

std::string UnreadNodes::id() const {
  uint64_t digest = 0;
  for (const std::string& hosts : named) digest = Fnv64(hosts, digest + 1);
  return "unread nodes of " + cluster + " " + std::to_string(digest);
}

namespace {

bool Names(slurm::HostIndex& index, const std::string& node) {
  const auto one = slurm::Hostlist::Parse(node);
  bool named = true;
  return one && index.ForEachMissing(*one, [&](const std::string&) { return named = false; }) && named;
}

}  // namespace

Result<UnreadNodes::Value> UnreadNodes::In(const slurm::Snapshot& snapshot, const std::vector<std::string>& named) {
  Value value{.nodes = {}, .life = snapshot.incarnation.id};
  slurm::HostIndex index;
  for (const std::string& hosts : named) {
    const auto list = slurm::Hostlist::Parse(hosts);  // of one that is none, slurmctld complains itself
    if (list && !index.Add(*list)) return Fail(Code::kInvalid, "the files name more nodes than can be compared");
  }
  for (const slurm::Node& node : *snapshot.nodes) {
    const auto comment = WorkerComment::Of(node);
    if (!comment || comment->life.empty() || comment->life != value.life) continue;
    if (Names(index, node.name)) value.nodes.push_back(node.name);
  }
  return value;
}

async::Task<Result<std::optional<Fetched>>> UnreadNodes::Fetch(plan::Services& services, async::Deadline) const {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster));
  const slurm::Source::View view = source->Latest();
  if (view.error) co_return Fail(*view.error);
  if (view.snapshot == nullptr) co_return Fail(Code::kUnavailable, "Slurm's nodes have not been read yet");
  CAPSTAN_CO_TRY(Value value, In(*view.snapshot, named));
  const uint64_t digest = Fnv64(value.life, Fnv64(Join(value.nodes, ",")));
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

// How many jobs the cluster has changes all the time, and wakes nobody.
async::Task<Result<std::optional<Fetched>>> PartitionsInUse::Fetch(plan::Services& services,
                                                                   async::Deadline deadline) const {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster));
  CAPSTAN_CO_TRY(const slurm::PartitionUse all, co_await source->ReadPartitionUse(kMostJobs, deadline));
  Value value{.partitions = {}, .job_count = all.job_count, .jobs_read = all.jobs_read, .jobs = {}};
  uint64_t digest = Fnv64(all.jobs_read ? "read" : "too many");
  for (const std::string& name : names) {
    digest = Fnv64(name, digest);
    if (const slurm::Partition* found = all.Find(name)) {
      value.partitions.push_back(*found);
      digest = Fnv64(found->open ? "open" : "closed", digest);
    }
    const auto jobs = all.jobs.find(name);
    if (jobs == all.jobs.end()) continue;
    for (const int64_t id : jobs->second.ids) digest = Fnv64(std::to_string(id), digest);
    digest = Fnv64("over " + std::to_string(jobs->second.over), digest);
    value.jobs.insert(*jobs);
  }
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

Result<LiveConfiguration::Value> LiveConfiguration::Parse(std::string_view json) {
  CAPSTAN_TRY(LiveAnswer answer, json::Decode<LiveAnswer>(json));
  if (!answer.files.contains("slurm.conf") || !ParseRfc3339(answer.since))
    return Fail(Code::kInvalid, "what it answers is not its configuration");
  return Value{.live = std::move(answer.files),
               .since = std::move(answer.since),
               .refused = std::move(answer.refused.files),
               .message = OneLine(answer.refused.message, kMaxMessage),
               .runs = answer.runs.value_or(true)};
}

async::Task<Result<std::optional<Fetched>>> LiveConfiguration::Fetch(plan::Services& services,
                                                                     async::Deadline deadline) const {
  const auto response =
      co_await AskPod(services, address, kConfigurationPort, "/configuration", kAnswerLimit, deadline);
  if (!response && IsNobodyThere(response.error())) co_return std::optional<Fetched>();
  if (!response) co_return Fail(response.error());
  if (response->status != 200)
    co_return Fail(Code::kUnavailable, "it answers with status " + std::to_string(response->status));
  CAPSTAN_CO_TRY(Value value, Parse(response->body));
  const uint64_t digest = Fnv64(response->body);
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

}  // namespace capstan::op::controller
