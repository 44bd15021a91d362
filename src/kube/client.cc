#include "kube/client.h"

#include <algorithm>

#include "async/backoff.h"
#include "async/timer.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/protobuf.h"

namespace capstan::kube {
namespace {

constexpr async::Backoff::Limits kRetryWaits{.first = 100ms, .cap = 5s, .jitter = 0.2};
constexpr size_t kErrorBytes = 64 << 10;  // of a refused watch's answer
constexpr size_t kWarningsRemembered = 64;

enum class Shape : uint8_t { kObject, kList };

std::string AcceptFor(bool metadata_only, Shape shape, bool protobuf) {
  std::string as;
  if (metadata_only) {
    as = shape == Shape::kList ? ";as=PartialObjectMetadataList" : ";as=PartialObjectMetadata";
    as += ";g=meta.k8s.io;v=v1";
  }
  const std::string json = "application/json" + as;
  return protobuf ? std::string(kProtobufType) + as + "," + json : json;
}

std::string_view ContentTypeFor(PatchType type) {
  switch (type) {
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return {};
}

std::string_view NameOf(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
    case Propagation::kDefault:
      break;
  }
  return {};
}

Query Selection(const ListOptions& options) {
  Query query;
  query.Add("labelSelector", options.label_selector).Add("fieldSelector", options.field_selector);
  return query;
}

// "" when the path of `key` is that of one object. Without a name it would be that of the whole collection, and the
// server would do to all what was meant for one; without a namespace it is nothing's.
std::string_view FaultOf(const Resource& resource, const Key& key) {
  if (key.name.empty()) return "the object's name is empty";
  // A server may take "x/.." for another path, encoded or not.
  if (key.name == "." || key.name == ".." || key.name.find_first_of("/%") != key.name.npos)
    return "the object's name holds what no name can, and would lead to another path";
  if (resource.group.empty() && !IsDnsSubdomain(key.name))
    return "a name has lower case letters, digits, '-' and '.' only, 253 of them at most";
  if (!key.ns.empty() && !IsDnsSubdomain(key.ns)) return "the namespace has no name that one can have";
  return resource.namespaced && key.ns.empty() ? "the object's namespace is empty" : "";
}

// What a server that does not open a stream says instead.
async::Task<net::Response> ReadRefusal(net::BodyStream& stream, async::Deadline deadline) {
  net::Response response{stream.status(), stream.headers(), std::string(kErrorBytes, '\0')};
  size_t size = 0;
  while (size < kErrorBytes) {
    const Result<size_t> got = co_await stream.Read(std::span(response.body).subspan(size), deadline);
    if (!got || *got == 0) break;  // the status alone says enough
    size += *got;
  }
  response.body.resize(size);
  co_return response;
}

// The text in `299 - "text"` (RFC 7234, section 5.5), or all of it when it does not look like that.
std::string WarningText(std::string_view header) {
  const size_t begin = header.find('"'), end = header.rfind('"');
  if (begin == end) return std::string(header);
  std::string text;
  for (size_t i = begin + 1; i < end; ++i) {
    if (header[i] == '\\' && i + 1 < end) ++i;
    text += header[i];
  }
  return text;
}

std::string DeleteOptionsJson(const DeleteOptions& options) {
  std::string json = R"({"kind":"DeleteOptions","apiVersion":"v1")";
  std::string preconditions;
  if (!options.uid.empty()) preconditions = R"("uid":)" + JsonQuoted(options.uid);
  if (!options.resource_version.empty()) {
    preconditions +=
        (preconditions.empty() ? "" : ",") + (R"("resourceVersion":)" + JsonQuoted(options.resource_version));
  }
  if (!preconditions.empty()) json += R"(,"preconditions":{)" + preconditions + "}";
  if (const auto name = NameOf(options.propagation); !name.empty())
    json += R"(,"propagationPolicy":)" + JsonQuoted(name);
  if (options.grace_seconds) json += R"(,"gracePeriodSeconds":)" + std::to_string(*options.grace_seconds);
  if (options.dry_run) json += R"(,"dryRun":["All"])";
  return json + "}";
}

}  // namespace

Client::Client(async::Loop& loop, net::Transport& transport, Options options)
    : loop_(loop), transport_(transport), options_(std::move(options)), random_(options_.seed) {}
Client::~Client() = default;

// --- Reads ----------------------------------------------------------------------------------------------

async::Task<Result<std::string>> Client::Get(Resource resource, Key key, GetOptions options, async::Deadline deadline) {
  Call call = MakeCall("get", resource, key, ObjectPath(resource, key, options.subresource), options.subresource);
  call.fault = FaultOf(resource, key);
  call.request.method = "GET";
  call.request.headers.emplace_back("Accept", AcceptFor(options.metadata_only, Shape::kObject, false));
  return Run(std::move(call), deadline);
}

async::Task<Result<std::string>> Client::List(Resource resource, ListOptions options, async::Deadline deadline) {
  Query query = Selection(options);
  if (options.limit > 0) query.Add("limit", options.limit);
  query.Add("continue", options.continue_token);
  query.Add("resourceVersion", options.resource_version);
  query.Add("resourceVersionMatch", options.resource_version_match);
  Call call = MakeCall("list", resource, {options.ns, ""}, query.On(CollectionPath(resource, options.ns)), "");
  call.request.method = "GET";
  call.request.headers.emplace_back("Accept", AcceptFor(options.metadata_only, Shape::kList, options.protobuf));
  return Run(std::move(call), deadline);
}

async::Task<Result<std::string>> Client::GetPath(std::string target, async::Deadline deadline) {
  Call call;
  call.what = "get " + target;
  call.verb = "get";
  call.request.method = "GET";
  call.request.target = std::move(target);
  call.request.headers.emplace_back("Accept", "application/json, */*;q=0.5");
  return Run(std::move(call), deadline);
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Client::OpenSubresource(Resource resource, Key key,
                                                                              std::string subresource, Query query,
                                                                              async::Deadline deadline) {
  Call call = MakeCall("get", resource, key, query.On(ObjectPath(resource, key, subresource)), subresource);
  call.fault = FaultOf(resource, key);
  call.request.method = "GET";
  call.request.headers.emplace_back("Accept", "*/*");
  return RunForStream(std::move(call), deadline);
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Client::OpenWatch(Resource resource, WatchOptions options,
                                                                        async::Deadline deadline) {
  Query query;
  query.Add("watch", "true").AddIf(options.bookmarks, "allowWatchBookmarks", "true");
  query.Add("labelSelector", options.label_selector).Add("fieldSelector", options.field_selector);
  query.Add("resourceVersion", options.resource_version);
  query.AddIf(options.send_initial_events, "sendInitialEvents", "true");
  query.AddIf(options.send_initial_events, "resourceVersionMatch", "NotOlderThan");
  if (options.timeout) query.Add("timeoutSeconds", int64_t(*options.timeout / 1s));
  Call call = MakeCall("watch", resource, {options.ns, ""}, query.On(CollectionPath(resource, options.ns)), "");
  call.request.method = "GET";
  call.request.headers.emplace_back("Accept", AcceptFor(options.metadata_only, Shape::kObject, options.protobuf));
  return RunForStream(std::move(call), deadline);
}

// --- Writes ---------------------------------------------------------------------------------------------

async::Task<Result<std::string>> Client::Create(Resource resource, Key key, std::string object, WriteOptions options,
                                                async::Deadline deadline) {
  const Place place = options.subresource.empty() ? Place::kCollection : Place::kObject;
  return Write("create", "POST", "application/json", resource, key, place, std::move(object), options, deadline);
}

async::Task<Result<std::string>> Client::Replace(Resource resource, Key key, std::string object, WriteOptions options,
                                                 async::Deadline deadline) {
  return Write("replace", "PUT", "application/json", resource, key, Place::kObject, std::move(object), options,
               deadline);
}

async::Task<Result<std::string>> Client::Patch(Resource resource, Key key, PatchType type, std::string patch,
                                               WriteOptions options, async::Deadline deadline) {
  return Write("patch", "PATCH", ContentTypeFor(type), resource, key, Place::kObject, std::move(patch), options,
               deadline);
}

async::Task<Result<std::string>> Client::Write(std::string_view verb, std::string_view method,
                                               std::string_view content_type, const Resource& resource, const Key& key,
                                               Place place, std::string body, const WriteOptions& options,
                                               async::Deadline deadline) {
  const bool object = place == Place::kObject;
  Query query;
  query.Add("fieldManager", options.field_manager.empty() ? options_.field_manager : options.field_manager);
  query.AddIf(options.dry_run, "dryRun", "All").AddIf(options.strict, "fieldValidation", "Strict");
  std::string path = object ? ObjectPath(resource, key, options.subresource) : CollectionPath(resource, key.ns);
  Call call = MakeCall(verb, resource, key, query.On(std::move(path)), options.subresource);
  if (object) call.fault = FaultOf(resource, key);
  call.effect = Effect::kWrite;
  call.request.method = method;
  call.request.headers.emplace_back("Accept", "application/json");
  call.request.headers.emplace_back("Content-Type", content_type);
  call.request.body = std::move(body);
  return Run(std::move(call), deadline);
}

async::Task<Result<std::string>> Client::Apply(Resource resource, Key key, std::string object, ApplyOptions options,
                                               async::Deadline deadline) {
  Query query;
  query.Add("fieldManager", options.field_manager.empty() ? options_.field_manager : options.field_manager);
  query.Add("force", options.force ? "true" : "false").AddIf(options.dry_run, "dryRun", "All");
  query.AddIf(options.strict, "fieldValidation", "Strict");
  Call call =
      MakeCall("apply", resource, key, query.On(ObjectPath(resource, key, options.subresource)), options.subresource);
  call.fault = FaultOf(resource, key);
  call.effect = Effect::kWrite;
  call.retry_503 = true;
  call.request.method = "PATCH";
  call.request.headers.emplace_back("Accept", "application/json");
  call.request.headers.emplace_back("Content-Type", "application/apply-patch+yaml");  // JSON is YAML
  call.request.body = std::move(object);
  return Run(std::move(call), deadline);
}

async::Task<Result<std::string>> Client::Delete(Resource resource, Key key, DeleteOptions options,
                                                async::Deadline deadline) {
  Call call = MakeCall("delete", resource, key, ObjectPath(resource, key), "");
  call.fault = FaultOf(resource, key);
  SetDelete(call, options);
  return Run(std::move(call), deadline);
}

async::Task<Result<std::string>> Client::DeleteCollection(Resource resource, ListOptions selection,
                                                          DeleteOptions options, async::Deadline deadline) {
  const std::string path = CollectionPath(resource, selection.ns);
  Call call = MakeCall("deletecollection", resource, {selection.ns, ""}, Selection(selection).On(path), "");
  SetDelete(call, options);
  return Run(std::move(call), deadline);
}

void Client::SetDelete(Call& call, const DeleteOptions& options) {
  call.effect = Effect::kWrite;
  call.request.method = "DELETE";
  call.request.headers.emplace_back("Accept", "application/json");
  call.request.headers.emplace_back("Content-Type", "application/json");
  call.request.body = DeleteOptionsJson(options);
}

async::Task<Result<void>> Client::Evict(Key pod, DeleteOptions options, async::Deadline deadline) {
  Call call = MakeCall("evict", kPods, pod, ObjectPath(kPods, pod, "eviction"), "");
  call.fault = FaultOf(kPods, pod);
  call.effect = Effect::kWrite;
  call.request.method = "POST";
  call.request.headers.emplace_back("Accept", "application/json");
  call.request.headers.emplace_back("Content-Type", "application/json");
  call.request.body = R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":)" + JsonQuoted(pod.name) +
                      R"(,"namespace":)" + JsonQuoted(pod.ns) + R"(},"deleteOptions":)" + DeleteOptionsJson(options) +
                      "}";
  const Result<std::string> done = co_await Run(std::move(call), deadline);
  if (!done) co_return Fail(done.error());
  co_return Result<void>();
}

// --- All of them ----------------------------------------------------------------------------------------

Client::Call Client::MakeCall(std::string_view verb, const Resource& resource, const Key& key, std::string target,
                              std::string_view subresource) const {
  Call call;
  call.verb = verb;
  call.what = std::string(verb) + " " + std::string(resource.plural);
  if (!subresource.empty()) call.what.append("/").append(subresource);
  if (!key.name.empty()) {
    call.what += " " + key.ToString();
  } else if (!key.ns.empty()) {
    call.what += " in " + key.ns;
  }
  call.request.target = std::move(target);
  return call;
}

async::Task<Result<std::string>> Client::Run(Call call, async::Deadline deadline) {
  if (!call.fault.empty()) co_return Fail(Code::kInvalid, call.what + ": " + std::string(call.fault));
  call.request.repeatable = call.effect == Effect::kRead;
  for (int tries = 1;; ++tries) {
    Result<net::Response> response = co_await SendOnce(call, deadline);
    if (response) co_return std::move(response->body);
    const std::optional<Duration> wait = RetryWait(call, response.error(), tries, deadline);
    if (!wait) co_return Fail(std::move(response).error().WithContext(call.what));
    co_await async::Sleep(loop_, *wait);
  }
}

// One try. Answers that are no success are errors.
async::Task<Result<net::Response>> Client::SendOnce(const Call& call, async::Deadline deadline) {
  net::Request request = call.request;
  const std::string id = AddId(request);
  const Tick begin = loop_.Now();
  Result<net::Response> response = co_await transport_.Send(std::move(request), deadline);
  Note(call, id, response ? response->status : 0, loop_.Now() - begin);
  if (!response) co_return Fail(ErrorFromTransport(std::move(response).error(), call.effect, id));
  LogWarnings(call, response->headers);
  if (response->status >= 200 && response->status < 300) co_return response;
  co_return Fail(ErrorFromResponse(*response, call.effect, id));
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Client::RunForStream(Call call, async::Deadline deadline) {
  if (!call.fault.empty()) co_return Fail(Code::kInvalid, call.what + ": " + std::string(call.fault));
  call.request.repeatable = true;
  const std::string id = AddId(call.request);
  const Tick begin = loop_.Now();
  Result<std::unique_ptr<net::BodyStream>> stream = co_await transport_.Open(call.request, deadline);
  Note(call, id, stream ? (*stream)->status() : 0, loop_.Now() - begin);
  if (!stream) co_return Fail(ErrorFromTransport(std::move(stream).error(), Effect::kRead, id).WithContext(call.what));
  LogWarnings(call, (*stream)->headers());
  if ((*stream)->status() == 200) co_return stream;
  const net::Response refusal = co_await ReadRefusal(**stream, deadline);
  co_return Fail(ErrorFromResponse(refusal, Effect::kRead, id).WithContext(call.what));
}

std::optional<Duration> Client::RetryWait(const Call& call, const Error& error, int tries, async::Deadline deadline) {
  // A budget's no is for the caller to hear: what it waits for is pods, not the server.
  const bool throttled = error.code() == Code::kThrottled && error.retry_after() && !IsBudgetsRefusal(error);
  const bool failed_read = call.effect == Effect::kRead && error.code() == Code::kUnavailable;
  const FailedCall* failed = FailedCallOf(error);
  const bool refused_apply = call.retry_503 && failed != nullptr && failed->status == 503;
  if (!throttled && !failed_read && !refused_apply) return std::nullopt;
  if (tries >= options_.tries) return std::nullopt;
  Duration wait = async::Backoff::After(kRetryWaits, tries, random_);
  // Never earlier than the server asked, and not all at once after it.
  if (error.retry_after())
    wait = std::max(wait, *error.retry_after() + random_.Jittered(*error.retry_after() / 10, 1.0));
  return wait < deadline.Left(loop_.Now()) ? std::optional(wait) : std::nullopt;
}

std::string Client::AddId(net::Request& request) {
  if (process_id_.empty()) process_id_ = "capstan-" + std::to_string(random_.Next() % 1'000'000'000) + "-";
  std::string id = process_id_ + std::to_string(++last_request_);
  request.headers.emplace_back("Audit-ID", id);
  return id;
}

void Client::Note(const Call& call, std::string_view id, int status, Duration took) {
  if (options_.metrics) {
    const std::string code = status ? std::to_string(status) : "<error>";
    net::Metrics& metrics = *options_.metrics;
    metrics
        .AddCounter("rest_client_requests_total",
                    "Number of HTTP requests, partitioned by status code, method, and host.",
                    {{"code", code}, {"host", options_.host}, {"method", call.request.method}})
        .Add();
    metrics
        .AddHistogram("rest_client_request_duration_seconds",
                      "Request latency in seconds. Broken down by verb, and host.", net::Metrics::LatencyBounds(),
                      {{"host", options_.host}, {"verb", call.request.method}})
        .Observe(took);
  }
  if (!log::Enabled(log::Level::kDebug)) return;
  log::Debug(
      "request",
      {{"id", id}, {"call", call.what}, {"target", call.request.target}, {"status", status}, {"took_ms", took / 1ms}});
}

void Client::LogWarnings(const Call& call, const net::Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!EqualsIgnoreCase(name, "Warning") || warned_.size() >= kWarningsRemembered) continue;
    if (!warned_.insert(value).second) continue;
    log::Warn("the API server warns", {{"call", call.what}, {"warning", WarningText(value)}});
    if (warned_.size() == kWarningsRemembered) log::Warn("further warnings of the API server are not shown");
  }
}

}  // namespace capstan::kube
