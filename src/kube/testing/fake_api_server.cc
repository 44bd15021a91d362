#include "kube/testing/fake_api_server.h"

#include <algorithm>
#include <cassert>

#include "async/timer.h"
#include "base/log.h"
#include "base/text.h"
#include "json/merge.h"
#include "kube/testing/fake_target.h"
#include "kube/testing/fake_watch.h"
#include "kube/testing/json_patch.h"

namespace capstan::kube::testing {

using boost::json::array;
using boost::json::object;
using json::FindText;

namespace {

constexpr size_t kSnapshots = 16;

net::Response JsonResponse(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}
net::Response JsonResponse(int status, const json::Value& body) { return JsonResponse(status, json::Serialize(body)); }

net::Response RefusalResponse(const Refusal& refusal) {
  object status{{"kind", "Status"},      {"apiVersion", "v1"},         {"metadata", object()},
                {"status", "Failure"},   {"message", refusal.message}, {"reason", refusal.reason},
                {"code", refusal.status}};
  if (!refusal.cause.empty())
    status["details"] = object{{"causes", array{object{{"reason", refusal.cause}, {"field", refusal.field}}}}};
  net::Response response = JsonResponse(refusal.status, status);
  if (refusal.status == 429) response.headers.emplace_back("Retry-After", "1");
  return response;
}

Stored SuccessStatus(const std::string& uid) {
  return std::make_shared<const json::Value>(object{{"kind", "Status"},
                                                    {"apiVersion", "v1"},
                                                    {"metadata", object()},
                                                    {"status", "Success"},
                                                    {"details", object{{"uid", uid}}}});
}

json::Value ScaleOf(const json::Value& value) {
  const auto number = [&](std::initializer_list<std::string_view> path) {
    const json::Value* found = json::Find(value, path);
    return found && found->is_int64() ? found->get_int64() : 0;
  };
  object meta;
  for (const auto name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const json::Value* found = json::Find(value, {"metadata", name})) meta[name] = *found;
  }
  return object{{"kind", "Scale"},
                {"apiVersion", "autoscaling/v1"},
                {"metadata", std::move(meta)},
                {"spec", object{{"replicas", number({"spec", "replicas"})}}},
                {"status", object{{"replicas", number({"status", "replicas"})}}}};
}

bool WantsMetadataOnly(const net::Request& request) {
  return net::Find(request.headers, "Accept").find("PartialObjectMetadata") != std::string_view::npos;
}

Deletion DeletionOf(const json::Value& options) {
  Deletion deletion;
  deletion.uid = FindText(options, {"preconditions", "uid"});
  deletion.resource_version = FindText(options, {"preconditions", "resourceVersion"});
  deletion.propagation = FindText(options, {"propagationPolicy"});
  const json::Value* grace = json::Find(options, {"gracePeriodSeconds"});
  if (grace && grace->is_int64()) deletion.grace_seconds = grace->get_int64();
  return deletion;
}

std::string VerbOf(const net::Request& request, const FakeTarget& target) {
  if (request.method == "POST") return "create";
  if (request.method == "PUT") return "update";
  if (request.method == "DELETE") return target.key.name.empty() ? "deletecollection" : "delete";
  return net::Find(request.headers, "Content-Type").starts_with("application/apply-patch") ? "apply" : "patch";
}

FieldManager ManagerOf(const net::Request& request, const FakeTarget& target) {
  std::string name = target.Parameter("fieldManager");
  if (name.empty()) name = "unknown";
  return {name, VerbOf(request, target) == "apply" ? "Apply" : "Update", target.subresource};
}

}  // namespace

struct FakeApiServer::Snapshot {
  uint64_t version;
  std::vector<json::Value> rest;
};

FakeApiServer::FakeApiServer(async::Loop& loop, uint64_t seed)
    : loop_(loop),
      random_(seed),
      objects_({.now = [&loop] { return loop.WallNow(); },
                .schedule = [this](Duration wait, std::function<void()> call) { Schedule(wait, std::move(call)); }}) {
  objects_.on_change = [this](FakeTable& table) {
    for (FakeWatch* watch : watches_) {
      if (&watch->table() == &table) watch->Wake();
    }
  };
}

FakeApiServer::~FakeApiServer() {
  for (const auto timer : timers_) loop_.Unschedule(timer);
  for (FakeWatch* watch : watches_) watch->Detach();
}

void FakeApiServer::Schedule(Duration wait, std::function<void()> call) {
  auto place = std::make_shared<async::Loop::TimerId>();
  *place = loop_.Schedule(loop_.Now() + wait, [this, place, call = std::move(call)] {
    timers_.erase(*place);
    call();
  });
  timers_.insert(*place);
}

// --- The wire --------------------------------------------------------------------------------------------------------

std::optional<net::Response> FakeApiServer::DrawRefusal() {
  if (Draw(faults.throttled))
    return RefusalResponse({429, "TooManyRequests", "too many requests, please try again later"});
  if (Draw(faults.unavailable))
    return RefusalResponse({503, "ServiceUnavailable", "the server is currently unable to handle the request"});
  return std::nullopt;
}

// One way through the network.
async::Task<Result<void>> FakeApiServer::Travel(async::Deadline deadline, bool sent) {
  const Duration wait = latency + (Draw(faults.slow) ? DrawUpTo(faults.slow_by) : Duration(0));
  const Duration patience = deadline.Left(loop_.Now());
  co_await async::Sleep(loop_, std::min(wait, patience));
  if (wait <= patience) co_return Result<void>();
  if (sent) co_return Fail(Code::kUnknownOutcome, "the answer did not come in time");
  co_return Fail(Code::kDeadline, "the deadline passed before the request was sent");
}

async::Task<Result<net::Response>> FakeApiServer::Send(net::Request request, async::Deadline deadline) {
  if (Draw(faults.refused)) co_return Fail(Code::kUnavailable, "connection refused");
  CAPSTAN_CO_CHECK_OK(co_await Travel(deadline, false));
  std::optional<net::Response> refusal = DrawRefusal();
  net::Response response = refusal ? std::move(*refusal) : Handle(request);
  const bool lost = Draw(faults.lost_answer);
  CAPSTAN_CO_CHECK_OK(co_await Travel(deadline, true));
  if (lost) co_return Fail(Code::kUnknownOutcome, "the connection was reset before the answer");
  co_return response;
}

namespace {

// An answer that is no stream, read as one.
class FixedBody final : public net::BodyStream {
 public:
  explicit FixedBody(net::Response response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const net::Headers& headers() const override { return response_.headers; }
  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline) override {
    const size_t bytes = std::min(buffer.size(), response_.body.size() - read_);
    response_.body.copy(buffer.data(), bytes, read_);
    read_ += bytes;
    co_return bytes;
  }

 private:
  net::Response response_;
  size_t read_ = 0;
};

}  // namespace

async::Task<Result<std::unique_ptr<net::BodyStream>>> FakeApiServer::Open(net::Request request,
                                                                          async::Deadline deadline) {
  if (Draw(faults.refused)) co_return Fail(Code::kUnavailable, "connection refused");
  CAPSTAN_CO_CHECK_OK(co_await Travel(deadline, false));
  ++reads_;
  std::optional<net::Response> refusal = DrawRefusal();
  if (!refusal) {
    const Answered<FakeTarget> target = Resolve(request);
    if (!target)
      refusal = RefusalResponse(target.error());
    else if (!(refusal = RefuseWatch(*target)))
      co_return Watch(*target, request);
  }
  co_return std::make_unique<FixedBody>(std::move(*refusal));
}

// --- Reads -----------------------------------------------------------------------------------------------------------

namespace {

// What RBAC calls a request.
std::string_view VerbOf(std::string_view method, const FakeTarget& target) {
  const bool one = !target.key.name.empty();
  if (method == "GET") return one ? "get" : target.Parameter("watch") == "true" ? "watch" : "list";
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  return one ? "delete" : "deletecollection";
}

}  // namespace

Answered<FakeTarget> FakeApiServer::Resolve(const net::Request& request) {
  auto target = FakeTarget::Parse(request.target, objects_);
  if (!target) return std::unexpected(target.error());
  const Resource& resource = target->table->resource;
  const std::string_view verb = VerbOf(request.method, *target);
  if (authorize && !authorize(verb, resource, target->subresource)) {
    return std::unexpected(Refusal{403, "Forbidden", "no role grants " + std::string(verb) + " on " + target->Title()});
  }
  if (deny) {
    if (const auto refusal = deny(request.method, resource, target->key)) return std::unexpected(*refusal);
  }
  return target;
}

net::Response FakeApiServer::Handle(const net::Request& request) {
  const Answered<FakeTarget> target = Resolve(request);
  if (request.method != "GET") {
    if (target) return Write(*target, request);
    return RefusalResponse(target.error());
  }
  ++reads_;
  if (!target) return RefusalResponse(target.error());
  return target->key.name.empty() ? List(*target, request) : Read(*target, request);
}

net::Response FakeApiServer::Read(const FakeTarget& target, const net::Request& request) {
  const auto at = target.table->objects.find(target.key);
  if (at == target.table->objects.end()) return RefusalResponse({404, "NotFound", target.Title() + " not found"});
  if (target.subresource == "scale") return JsonResponse(200, ScaleOf(*at->second));
  if (!target.subresource.empty() && target.subresource != "status") {
    return RefusalResponse({404, "NotFound", "the server could not find the requested resource"});
  }
  return JsonResponse(200, WantsMetadataOnly(request) ? MetadataOnly(*at->second) : *at->second);
}

net::Response FakeApiServer::List(const FakeTarget& target, const net::Request& request) {
  Snapshot page{objects_.version(), {}};
  const std::string token = target.Parameter("continue");
  if (token.empty()) {
    const auto selection = target.Selection();
    if (!selection) return RefusalResponse({400, "BadRequest", selection.error().message()});
    for (const auto& [key, value] : target.table->objects) {
      if (Selects(*selection, *value)) page.rest.push_back(WantsMetadataOnly(request) ? MetadataOnly(*value) : *value);
    }
  } else {
    const auto at = snapshots_.find(token);
    if (at == snapshots_.end() || at->second.version < target.table->compacted) {
      return RefusalResponse(
          {410, "Expired", "The provided continue parameter is too old to display a consistent list result"});
    }
    page = std::move(at->second);
    snapshots_.erase(at);
  }
  const size_t limit = size_t(ParseInt(target.Parameter("limit")).value_or(0));
  object meta{{"resourceVersion", std::to_string(page.version)}};
  array items;
  const size_t count = limit > 0 ? std::min(limit, page.rest.size()) : page.rest.size();
  for (size_t i = 0; i < count; ++i) items.push_back(std::move(page.rest[i]));
  page.rest.erase(page.rest.begin(), page.rest.begin() + ptrdiff_t(count));
  if (!page.rest.empty()) {
    const std::string next = "page-" + std::to_string(1'000'000 + next_snapshot_++);
    meta["continue"] = next;
    meta["remainingItemCount"] = page.rest.size();
    snapshots_.emplace(next, std::move(page));
    if (snapshots_.size() > kSnapshots) snapshots_.erase(snapshots_.begin());
  }
  return JsonResponse(200, object{{"kind", std::string(target.table->resource.kind) + "List"},
                                  {"apiVersion", target.table->resource.ApiVersion()},
                                  {"metadata", std::move(meta)},
                                  {"items", std::move(items)}});
}

std::optional<net::Response> FakeApiServer::RefuseWatch(const FakeTarget& target) const {
  const bool initial = target.Parameter("sendInitialEvents") == "true";
  if (initial && !streaming_lists) {
    return RefusalResponse({422, "Invalid",
                            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless "
                            "the WatchList feature gate is enabled"});
  }
  if (const auto selection = target.Selection(); !selection)
    return RefusalResponse({400, "BadRequest", selection.error().message()});
  const std::string version = target.Parameter("resourceVersion");
  if (version.empty()) return std::nullopt;
  const auto number = ParseInt(version);
  if (!number || *number < 0)
    return RefusalResponse({400, "BadRequest", "Invalid value: \"" + version + "\": resourceVersion"});
  if (uint64_t(*number) <= objects_.version()) return std::nullopt;
  return RefusalResponse(
      {504, "Timeout", "Too large resource version: " + version + ", current: " + std::to_string(objects_.version())});
}

std::unique_ptr<net::BodyStream> FakeApiServer::Watch(const FakeTarget& target, const net::Request& request) {
  FakeWatchRequest watch = *target.Selection();
  watch.initial = target.Parameter("sendInitialEvents") == "true";
  watch.bookmarks = target.Parameter("allowWatchBookmarks") == "true";
  watch.metadata_only = WantsMetadataOnly(request);
  watch.timeout = std::chrono::seconds(ParseInt(target.Parameter("timeoutSeconds")).value_or(0));
  watch.from = uint64_t(ParseInt(target.Parameter("resourceVersion")).value_or(int64_t(objects_.version())));
  if (!watch.initial && Draw(faults.lost_history)) watch.from = 0;
  return std::make_unique<FakeWatch>(*this, std::move(watch));
}

// --- Writes ----------------------------------------------------------------------------------------------------------

net::Response FakeApiServer::Write(const FakeTarget& target, const net::Request& request) {
  if (target.Parameter("dryRun") == "All") return DryRun(target, request);
  const uint64_t before = objects_.version();
  const Answered<Stored> answer = Change(target, request);
  const bool created = request.method == "POST" || (answer && before != objects_.version() &&
                                                    VerbOf(request, target) == "apply" && !target.existed);
  net::Response response =
      answer ? JsonResponse(created ? 201 : 200, TextOf(*target.table, *answer)) : RefusalResponse(answer.error());
  Key key = target.key;
  if (key.name.empty() && answer) key.name = FindText(**answer, {"metadata", "name"});
  writes_.push_back({loop_.Now(), VerbOf(request, target), target.table->resource, std::move(key), target.subresource,
                     ManagerOf(request, target).name, response.status, before != objects_.version(), request.body});
  if (on_write) {
    const ApiWrite write = writes_.back();
    on_write(write);
  }
  return response;
}

// Of a creation only: it is taken as it is, and nothing comes of it.
net::Response FakeApiServer::DryRun(const FakeTarget& target, const net::Request& request) {
  const auto body = json::Parse(request.body);
  if (request.method != "POST" || !target.subresource.empty())
    return RefusalResponse({501, "NotImplemented", "a dry run of this is not modelled"});
  if (!body) return RefusalResponse({400, "BadRequest", body.error().message()});
  return JsonResponse(201, *body);
}

Answered<Stored> FakeApiServer::Change(const FakeTarget& target, const net::Request& request) {
  if (target.subresource == "status" && !target.table->has_status) {
    return Refuse(404, "NotFound", "the server could not find the requested resource");
  }
  if (request.method == "DELETE") return Delete(target, request);
  if (request.method == "PATCH") return Patch(target, request);
  auto body = json::Parse(request.body);
  if (!body) return Refuse(400, "BadRequest", body.error().message());
  if (request.method == "POST") return Post(target, request, *std::move(body));
  if (request.method != "PUT")
    return Refuse(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  if (target.subresource == "scale") return Scale(target, *body, ManagerOf(request, target));
  return objects_.Update(*target.table, target.key, ManagerOf(request, target),
                         [&](const json::Value&) { return *body; });
}

Answered<Stored> FakeApiServer::Post(const FakeTarget& target, const net::Request& request, json::Value body) {
  if (target.subresource.empty()) {
    if (!target.key.name.empty())
      return Refuse(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
    return objects_.Create(*target.table, target.key.ns, std::move(body), ManagerOf(request, target));
  }
  if (target.subresource == "eviction") return Evict(target, std::move(body));
  if (target.subresource != "binding")
    return Refuse(404, "NotFound", "the server could not find the requested resource");
  return objects_.Update(*target.table, target.key, ManagerOf(request, target),
                         [&](const json::Value& live) -> Answered<json::Value> {
                           const std::string_view uid = FindText(body, {"metadata", "uid"});
                           if (!uid.empty() && uid != FindText(live, {"metadata", "uid"}))
                             return Refuse(409, "Conflict", "Precondition failed: UID in precondition");
                           if (!FindText(live, {"metadata", "deletionTimestamp"}).empty())
                             return Refuse(409, "Conflict", "pod is being deleted, cannot be assigned to a host");
                           if (!FindText(live, {"spec", "nodeName"}).empty())
                             return Refuse(409, "Conflict", "pod is already assigned to a node");
                           json::Value after = live;
                           if (const json::Value* told = json::Find(body, {"metadata", "annotations"}))
                             for (const auto& one : told->as_object())
                               json::MakeObject(after, {"metadata", "annotations"})[one.key()] = one.value();
                           json::MakeObject(after, {"spec"})["nodeName"] = FindText(body, {"target", "name"});
                           return after;
                         });
}

Answered<Stored> FakeApiServer::Patch(const FakeTarget& target, const net::Request& request) {
  auto patch = json::Parse(request.body);
  if (!patch) return Refuse(400, "BadRequest", patch.error().message());
  const std::string_view type = net::Find(request.headers, "Content-Type");
  const FieldManager manager = ManagerOf(request, target);
  if (type.starts_with("application/apply-patch")) {
    if (target.subresource == "scale") return Scale(target, *patch, manager);
    return objects_.Apply(*target.table, target.key, std::move(*patch), manager, target.Parameter("force") == "true");
  }
  const bool merge = type.starts_with("application/merge-patch");
  const bool strategic = type.starts_with("application/strategic-merge-patch");
  if (!merge && !strategic && !type.starts_with("application/json-patch")) {
    return Refuse(415, "UnsupportedMediaType", "the modelled server does not know patches of " + std::string(type));
  }
  if (target.subresource == "scale" && merge) return Scale(target, *patch, manager);
  return objects_.Update(*target.table, target.key, manager, [&](const json::Value& live) -> Answered<json::Value> {
    json::Value after = live;
    if (merge) {
      json::ApplyMergePatch(after, *patch);
    } else if (strategic) {
      after = ApplyStrategicPatch(std::move(after), *patch);
    } else {
      auto patched = ApplyJsonPatch(std::move(after), *patch);
      if (!patched)
        return Refuse(422, "Invalid",
                      "the server rejected our request due to an error in our request: " + patched.error().message());
      after = std::move(*patched);
    }
    if (const auto refusal = FakeObjects::RefuseOtherUid(live, after)) return std::unexpected(*refusal);
    return after;
  });
}

Answered<Stored> FakeApiServer::Scale(const FakeTarget& target, const json::Value& scale, const FieldManager& manager) {
  const json::Value* replicas = json::Find(scale, {"spec", "replicas"});
  if (!replicas || !replicas->is_int64()) return Refuse(422, "Invalid", "spec.replicas must be an integer");
  auto scaled = objects_.Update(*target.table, target.key, manager, [&](const json::Value& live) {
    json::Value after = live;
    json::MakeObject(after, {"spec"})["replicas"] = *replicas;
    return after;
  });
  if (!scaled) return scaled;
  return std::make_shared<const json::Value>(ScaleOf(**scaled));
}

Answered<Stored> FakeApiServer::Delete(const FakeTarget& target, const net::Request& request) {
  auto options = json::Parse(request.body.empty() ? "{}" : request.body);
  if (!options) return Refuse(400, "BadRequest", options.error().message());
  if (target.key.name.empty()) {
    const auto selection = target.Selection();
    if (!selection) return Refuse(400, "BadRequest", selection.error().message());
    std::vector<Key> doomed;
    array items;
    for (const auto& [key, value] : target.table->objects) {
      if (!Selects(*selection, *value)) continue;
      doomed.push_back(key);
      items.push_back(*value);
    }
    for (const Key& key : doomed) (void)objects_.Delete(*target.table, key, DeletionOf(*options));
    return std::make_shared<const json::Value>(
        object{{"kind", std::string(target.table->resource.kind) + "List"},
               {"apiVersion", target.table->resource.ApiVersion()},
               {"metadata", object{{"resourceVersion", std::to_string(objects_.version())}}},
               {"items", std::move(items)}});
  }
  const json::Value* live = Find(target.table->resource, target.key);
  const std::string uid(live ? FindText(*live, {"metadata", "uid"}) : "");
  auto ending = objects_.Delete(*target.table, target.key, DeletionOf(*options));
  if (!ending) return std::unexpected(ending.error());
  return *ending ? *ending : SuccessStatus(uid);
}

Answered<Stored> FakeApiServer::Evict(const FakeTarget& target, json::Value body) {
  const json::Value* pod = Find(target.table->resource, target.key);
  if (!pod) return Refuse(404, "NotFound", target.Title() + " not found");
  if (may_evict && !may_evict(*pod)) {
    return std::unexpected(Refusal{429, "TooManyRequests",
                                   "Cannot evict pod as it would violate the pod's disruption budget.",
                                   "DisruptionBudget"});
  }
  const json::Value* options = json::Find(body, {"deleteOptions"});
  auto ending = objects_.Delete(*target.table, target.key, DeletionOf(options ? *options : json::Value(object())));
  if (!ending) return std::unexpected(ending.error());
  return SuccessStatus("");
}

// --- The rest of the world -------------------------------------------------------------------------------------------

json::Value FakeApiServer::Put(const Resource& resource, std::string_view text, std::string_view subresource,
                               std::string_view manager) {
  json::Value value = *json::Parse(text);
  FakeTable& table = objects_.Table(resource);
  const Key key{std::string(FindText(value, {"metadata", "namespace"})),
                std::string(FindText(value, {"metadata", "name"}))};
  const FieldManager who{std::string(manager), "Update", std::string(subresource)};
  auto done = table.objects.contains(key)
                  ? objects_.Update(table, key, who, [&](const json::Value&) -> Answered<json::Value> { return value; })
                  : objects_.Create(table, key.ns, value, who);
  if (!done)
    log::Error("the modelled API server refuses the test's own write",
               {{"key", key.ToString()}, {"message", done.error().message}});
  assert(done);
  return **done;
}

void FakeApiServer::Edit(const Resource& resource, const Key& key, std::string_view subresource,
                         const std::function<void(json::Value&)>& change, std::string_view manager) {
  const FieldManager who{std::string(manager), "Update", std::string(subresource)};
  (void)objects_.Update(objects_.Table(resource), key, who, [&](const json::Value& live) {
    json::Value after = subresource == "status" ? FakeObjects::StatusPartOf(live) : live;
    change(after);
    return after;
  });
}

void FakeApiServer::Remove(const Resource& resource, const Key& key, const Deletion& deletion) {
  (void)objects_.Delete(objects_.Table(resource), key, deletion);
}

void FakeApiServer::CutWatches(bool lose_history) {
  if (lose_history) objects_.CompactHistory();
  for (FakeWatch* watch : watches_) watch->Cut();
}

void FakeApiServer::Restore(const FakeObjects::Backup& backup) {
  objects_.Restore(backup);
  CutWatches();
}

}  // namespace capstan::kube::testing
