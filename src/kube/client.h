// The verbs of the Kubernetes API, over any net::Transport.
//
//   Result<std::string> text = co_await client.Get(kPods, key, {}, deadline);  // as JSON
//   Result<Pod> pod = co_await client.Get<Pod>(kPods, key, {}, deadline);      // by its field table
//   auto done = co_await client.Delete(kPods, key, {.uid = pod->metadata.uid}, deadline);
//
// What the client repeats by itself, always within the caller's deadline and with jitter:
// - any request answered 429 with Retry-After, when there is time left for it (the server did not begin);
// - reads, after a lost connection or a 5xx; applies, after a 503.
// Nothing else: a write whose answer was lost is the caller's to find out about (kUnknownOutcome). There is
// no client-side throttle: API Priority and Fairness is the server's business, and 429 its way to say so.
//
// A call that names one object needs its name, and its namespace if the kind has any; without them it is kInvalid and
// nothing is sent. (To the server a DELETE without a name is one of everything.)
//
// Every request carries an id (Audit-ID, the name under which the server's audit log knows it), which the debug log
// shows with verb, path, status and time. Errors are those of errors.h with "get pods slurm/worker-0: " in front;
// FailedCallOf tells their request's id. What the server warns of (deprecated versions, fields it does not know) is
// logged once each.
//
// Thread: the loop's. Calls may overlap in any number. A call whose coroutine is cancelled has really
// stopped; a write that was cancelled may have happened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/loop.h"
#include "base/random.h"
#include "json/codec.h"
#include "kube/errors.h"
#include "kube/resource.h"
#include "net/http.h"
#include "net/metrics.h"

namespace capstan::kube {

struct GetOptions {
  std::string subresource = {};  // "status", "scale"
  bool metadata_only = false;    // PartialObjectMetadata instead of the object
};

struct ListOptions {
  std::string ns = {};  // empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  int limit = 500;                          // objects a page; 0: all in one answer
  std::string continue_token = {};          // of the page before; kGone when it is too old: begin anew
  std::string resource_version = {};        // empty: what etcd has now. Never "0", which is any cache however old
  std::string resource_version_match = {};  // "Exact", "NotOlderThan"
  bool metadata_only = false;
  bool protobuf = false;  // where the server can, else JSON; the answer tells (protobuf.h)
};

struct WatchOptions {
  std::string ns = {};
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};  // empty with send_initial_events: state now, then changes
  bool send_initial_events = false;   // streaming list: objects as ADDED, then a bookmark that says so
  bool bookmarks = true;
  std::optional<Duration> timeout = {};  // when the server ends the watch by itself
  bool metadata_only = false;
  bool protobuf = false;  // where the server can, else JSON; the answer's Content-Type tells (protobuf.h)
};

struct WriteOptions {
  std::string subresource = {};    // "status", "scale", "binding"
  std::string field_manager = {};  // empty: the client's
  bool dry_run = false;
  bool strict = false;  // kInvalid names fields that the server does not know; else they are dropped with a warning
};

struct ApplyOptions {
  std::string subresource = {};
  std::string field_manager = {};  // empty: the client's
  bool force = true;               // take fields over from other managers; false: kConflict names them
  bool dry_run = false;
  bool strict = false;  // as for WriteOptions
};

enum class PatchType : uint8_t { kJson, kMerge, kStrategic };

enum class Propagation : uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct DeleteOptions {
  std::string uid = {};               // kConflict when the object has another one; give it wherever it is known
  std::string resource_version = {};  // the same
  Propagation propagation = Propagation::kDefault;
  std::optional<int64_t> grace_seconds = {};
  bool dry_run = false;
};

// One page of a list, decoded. For long lists of which little is kept, take the text and decode item by item.
template <class T>
struct Page {
  struct Metadata {
    std::string resource_version;
    std::string continue_token;  // empty: this was the last page
    int64_t remaining = 0;       // how many are left, when the server says
    static const json::Schema& Schema();
  };
  Metadata metadata;
  std::vector<T> items;
  static const json::Schema& Schema();
};

class Client {
 public:
  struct Options {
    std::string field_manager = "capstan";
    uint64_t seed = 1;                // of jitter and request ids; different in each process
    net::Metrics* metrics = nullptr;  // rest_client_requests_total, rest_client_request_duration_seconds
    std::string host = {};            // the metrics' label
    int tries = 6;                    // at most, of one call
  };

  // REQUIRES: loop and transport outlive the client.
  Client(async::Loop& loop, net::Transport& transport, Options options);
  ~Client();

  // Where its users may count too; nullptr: nowhere.
  net::Metrics* metrics() const { return options_.metrics; }

  // --- Reads --------------------------------------------------------------------------------------------

  // The object as JSON. kNotFound: it is not there (or its kind, or its namespace).
  async::Task<Result<std::string>> Get(Resource resource, Key key, GetOptions options, async::Deadline deadline);

  // One page: a <Kind>List, as JSON unless protobuf was asked for.
  async::Task<Result<std::string>> List(Resource resource, ListOptions options, async::Deadline deadline);

  // Anything else that is read: "/version", "/apis/apps/v1". `target` is already encoded.
  async::Task<Result<std::string>> GetPath(std::string target, async::Deadline deadline);

  // A subresource that comes piece by piece, such as the log of a pod (subresources.h). The deadline bounds the opening
  // only; each Read has its own. Not repeated here.
  async::Task<Result<std::unique_ptr<net::BodyStream>>> OpenSubresource(Resource resource, Key key,
                                                                        std::string subresource, Query query,
                                                                        async::Deadline deadline);

  // Opens a watch: one event a line, or a frame of protobuf. The deadline bounds the opening only; each Read has its own. Not
  // repeated here: the caller has a state to begin again from. kGone: resource_version is too old. kInvalid:
  // may mean that the server does not know sendInitialEvents. A too old version can also come as an ERROR
  // event in the stream.
  async::Task<Result<std::unique_ptr<net::BodyStream>>> OpenWatch(Resource resource, WatchOptions options,
                                                                  async::Deadline deadline);

  template <class T>
  async::Task<Result<T>> Get(Resource resource, Key key, GetOptions options, async::Deadline deadline) {
    return Decoded<T>(Get(resource, std::move(key), std::move(options), deadline));
  }
  template <class T>
  async::Task<Result<Page<T>>> List(Resource resource, ListOptions options, async::Deadline deadline) {
    return Decoded<Page<T>>(List(resource, std::move(options), deadline));
  }

  // --- Writes -------------------------------------------------------------------------------------------
  // All return the object as the server has it now. Any of them may end in kUnknownOutcome.

  // kAlreadyExists when the name is taken. A subresource ("binding") is created on the object whose name
  // `name` is; otherwise `name` may stay empty, the object says it.
  async::Task<Result<std::string>> Create(Resource resource, Key key, std::string object, WriteOptions options,
                                          async::Deadline deadline);

  // Puts `object` in place of the one there. kConflict when its metadata.resourceVersion is not the present
  // one.
  async::Task<Result<std::string>> Replace(Resource resource, Key key, std::string object, WriteOptions options,
                                           async::Deadline deadline);

  // Server-side apply: makes the fields in `object` (JSON) so, drops those applied before under the same
  // manager and not in it now, creates the object when it is not there.
  async::Task<Result<std::string>> Apply(Resource resource, Key key, std::string object, ApplyOptions options,
                                         async::Deadline deadline);

  // kInvalid when a JSON patch's test fails, or the patch names a list or field that is not there. kStrategic
  // is known for built-in kinds only (415 for custom resources, kInvalid).
  async::Task<Result<std::string>> Patch(Resource resource, Key key, PatchType type, std::string patch,
                                         WriteOptions options, async::Deadline deadline);

  // The object while it still ends (finalizers, grace), or a Status when it is gone already. kNotFound is an
  // answer that callers usually welcome; it is not hidden, since with `uid` set they may want to know.
  async::Task<Result<std::string>> Delete(Resource resource, Key key, DeleteOptions options, async::Deadline deadline);

  // Everything that the selectors of `options` match in options.ns. REQUIRES: ns is not empty for a
  // namespaced kind.
  async::Task<Result<std::string>> DeleteCollection(Resource resource, ListOptions selection, DeleteOptions options,
                                                    async::Deadline deadline);

  // Deletes a pod as far as its disruption budgets allow. kThrottled with IsBudgetsRefusal (errors.h), at once: a budget
  // says not now, and names itself. A server that merely is busy is waited for as with any other call.
  async::Task<Result<void>> Evict(Key pod, DeleteOptions options, async::Deadline deadline);

  template <class T>
  async::Task<Result<T>> Create(Resource resource, Key key, std::string object, WriteOptions options,
                                async::Deadline deadline) {
    return Decoded<T>(Create(resource, std::move(key), std::move(object), std::move(options), deadline));
  }
  template <class T>
  async::Task<Result<T>> Replace(Resource resource, Key key, std::string object, WriteOptions options,
                                 async::Deadline deadline) {
    return Decoded<T>(Replace(resource, std::move(key), std::move(object), std::move(options), deadline));
  }
  template <class T>
  async::Task<Result<T>> Apply(Resource resource, Key key, std::string object, ApplyOptions options,
                               async::Deadline deadline) {
    return Decoded<T>(Apply(resource, std::move(key), std::move(object), std::move(options), deadline));
  }
  template <class T>
  async::Task<Result<T>> Patch(Resource resource, Key key, PatchType type, std::string patch, WriteOptions options,
                               async::Deadline deadline) {
    return Decoded<T>(Patch(resource, std::move(key), type, std::move(patch), std::move(options), deadline));
  }

 private:
  // One call: its request, and what of the answer may be repeated.
  struct Call {
    std::string what;        // "patch pods slurm/worker-0", for errors and logs
    std::string_view fault;  // why it is not to be sent at all; "": nothing is wrong with it
    std::string verb;
    net::Request request;
    Effect effect = Effect::kRead;
    bool retry_503 = false;
  };
  Call MakeCall(std::string_view verb, const Resource& resource, const Key& key, std::string target,
                std::string_view subresource) const;
  static void SetDelete(Call& call, const DeleteOptions& options);
  enum class Place : uint8_t { kCollection, kObject };
  // Not a coroutine itself: its references need not outlive the call.
  async::Task<Result<std::string>> Write(std::string_view verb, std::string_view method, std::string_view content_type,
                                         const Resource& resource, const Key& key, Place place, std::string body,
                                         const WriteOptions& options, async::Deadline deadline);
  async::Task<Result<std::string>> Run(Call call, async::Deadline deadline);
  async::Task<Result<net::Response>> SendOnce(const Call& call, async::Deadline deadline);
  async::Task<Result<std::unique_ptr<net::BodyStream>>> RunForStream(Call call, async::Deadline deadline);
  // How long to wait before another try; nullopt: there shall be none.
  std::optional<Duration> RetryWait(const Call& call, const Error& error, int tries, async::Deadline deadline);
  std::string AddId(net::Request& request);
  void Note(const Call& call, std::string_view id, int status, Duration took);
  void LogWarnings(const Call& call, const net::Headers& headers);

  template <class T>
  static async::Task<Result<T>> Decoded(async::Task<Result<std::string>> raw) {
    const Result<std::string> text = co_await std::move(raw);
    if (!text) co_return Fail(text.error());
    Result<T> decoded = json::Decode<T>(*text);
    if (!decoded) co_return Fail(Code::kInternal, "the API server's answer: " + decoded.error().message());
    co_return decoded;
  }

  async::Loop& loop_;
  net::Transport& transport_;
  Options options_;
  Random random_;
  std::string process_id_;  // what all our request ids begin with
  uint64_t last_request_ = 0;
  std::set<std::string, std::less<>> warned_;  // Warning headers already logged; bounded
};

// --------------------------------------------------------------------------------------------------------

template <class T>
const json::Schema& Page<T>::Metadata::Schema() {
  static const json::Schema schema = json::Object<Metadata>({
      json::Field<&Metadata::resource_version>("resourceVersion"),
      json::Field<&Metadata::continue_token>("continue"),
      json::Field<&Metadata::remaining>("remainingItemCount"),
  });
  return schema;
}

template <class T>
const json::Schema& Page<T>::Schema() {
  static const json::Schema schema = json::Object<Page>({
      json::Field<&Page::metadata>("metadata"),
      json::Field<&Page::items>("items"),
  });
  return schema;
}

}  // namespace capstan::kube
