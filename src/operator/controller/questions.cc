#include "operator/controller/questions.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/schema.h"
#include "json/value.h"
#include "kube/client.h"
#include "operator/names.h"
#include "plan/services.h"

namespace capstan::op::controller {
namespace {

constexpr Duration kAnswerLimit = 3s;
constexpr size_t kMaxMessage = 500;

struct ClaimSpec {
  std::vector<std::string> access_modes;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimSpec>({json::Field<&ClaimSpec::access_modes>("accessModes")});
    return schema;
  }
};
struct ClaimObject {
  ClaimSpec spec;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimObject>({json::Field<&ClaimObject::spec>("spec")});
    return schema;
  }
};

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
  static const json::Schema& Schema() {
    using A = LiveAnswer;
    static const json::Schema schema = json::Object<A>(
        {json::Field<&A::files>("files"), json::Field<&A::since>("since"), json::Field<&A::refused>("refused")});
    return schema;
  }
};

using Fetched = plan::Question::Fetched;

}  // namespace

async::Task<Result<std::optional<Fetched>>> ClaimModes::Fetch(plan::Services& services,
                                                              async::Deadline deadline) const {
  const auto claim = co_await services.client.Get<ClaimObject>(kube::kPersistentVolumeClaims, key, {}, deadline);
  if (!claim && claim.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!claim) co_return Fail(claim.error());
  const uint64_t digest = Fnv64(Join(claim->spec.access_modes, ","));
  co_return Fetched{std::make_shared<const Value>(claim->spec.access_modes), digest};
}

async::Task<Result<std::optional<Fetched>>> InCharge::Fetch(plan::Services& services, async::Deadline deadline) const {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, services.slurm.Reach(cluster));
  CAPSTAN_CO_TRY(const std::vector<slurm::ControllerPing> pings, co_await source->Ping(deadline));
  for (const slurm::ControllerPing& ping : pings) {
    if (ping.responding) co_return Fetched{std::make_shared<const Value>(ping.hostname), Fnv64(ping.hostname)};
  }
  co_return std::optional<Fetched>();
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

Result<LiveConfiguration::Value> LiveConfiguration::Parse(std::string_view json) {
  CAPSTAN_TRY(LiveAnswer answer, json::Decode<LiveAnswer>(json));
  if (!answer.files.contains("slurm.conf") || !ParseRfc3339(answer.since))
    return Fail(Code::kInvalid, "what it answers is not its configuration");
  return Value{.live = std::move(answer.files),
               .since = std::move(answer.since),
               .refused = std::move(answer.refused.files),
               .message = OneLine(answer.refused.message, kMaxMessage)};
}

async::Task<Result<std::optional<Fetched>>> LiveConfiguration::Fetch(plan::Services& services,
                                                                     async::Deadline deadline) const {
  if (!services.ask) co_return Fail(Code::kUnavailable, "there is no way to pods");
  const std::string host = address.contains(':') ? "[" + address + "]" : address;
  net::Request request{.method = "GET", .target = "/configuration", .repeatable = true};
  const auto response = co_await services.ask("http://" + host + ":" + std::to_string(kConfigurationPort),
                                              std::move(request), deadline.Earlier(services.loop.After(kAnswerLimit)));
  if (!response && response.error().message().contains("Connection refused")) co_return std::optional<Fetched>();
  if (!response) co_return Fail(response.error());
  if (response->status != 200)
    co_return Fail(Code::kUnavailable, "it answers with status " + std::to_string(response->status));
  CAPSTAN_CO_TRY(Value value, Parse(response->body));
  const uint64_t digest = Fnv64(response->body);
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

}  // namespace capstan::op::controller
