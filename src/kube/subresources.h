// Subresources with a shape of their own: the replicas of anything that scales, the node of a pod, the log of a
// container. ("status" needs nothing special: the verbs of client.h take it as a subresource. Evict is there too.)
//
//   Result<Scale> scale = co_await GetScale(client, kDeployments, key, deadline);
//   co_await SetScale(client, kDeployments, key, 3, {}, deadline);
//   co_await Bind(client, pod, uid, "node-1", deadline);
//   auto log = co_await OpenLog(client, pod, {.container = "slurmd", .follow = true, .tail_lines = 100}, deadline);
//
// Errors are those of client.h. Thread: the loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "json/object_meta.h"
#include "kube/client.h"

namespace capstan::kube {

// autoscaling/v1 Scale: what every kind with replicas shows of itself at its subresource "scale".
struct Scale {
  struct Spec {
    int64_t replicas = 0;
    static const json::Schema& Schema();
  };
  struct Status {
    int64_t replicas = 0;  // that exist
    std::string selector;  // of their pods, as a label selector in text; "" when the kind names none
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;      // wanted
  Status status;  // seen
  static const json::Schema& Schema();
};

async::Task<Result<Scale>> GetScale(Client& client, Resource resource, Key key, async::Deadline deadline);

// Wants `replicas` of it, whatever was wanted before, and leaves everything else to its other writers. kInvalid: below
// 0, or the kind has no replicas.
async::Task<Result<Scale>> SetScale(Client& client, Resource resource, Key key, int64_t replicas, WriteOptions options,
                                    async::Deadline deadline);

// Puts the pod of this uid on `node`, as a scheduler does. kConflict: it is on a node already, is being deleted, still
// has scheduling gates, or is another pod of that name. What the node has room for is the caller's business.
async::Task<Result<void>> Bind(Client& client, Key pod, std::string uid, std::string node, async::Deadline deadline);

struct LogOptions {
  std::string container = {};               // may be empty when the pod has only one
  bool follow = false;                      // goes on with what is written later, until the container ends
  bool previous = false;                    // of the container's life before this one
  std::optional<int64_t> tail_lines = {};   // only so many of the last ones; 0: none of those there already
  std::optional<Duration> since = {};       // only what is younger, in whole seconds
  bool timestamps = false;                  // puts "2026-01-31T12:00:00.000000000Z " before each line
  std::optional<int64_t> limit_bytes = {};  // ends after so many, maybe within a line
};

// What a container has written, byte by byte as it wrote it: lines may be of any length, and the last one may lack its
// newline. The deadline bounds the opening; each Read has its own, and a quiet container is no failure. A stream that is
// followed breaks when the kubelet or the API server restarts: `since` is how to go on.
// kInvalid: no such container, or it has not started; kNotFound: no such pod; kUnavailable also when the pod's kubelet
// cannot be reached.
async::Task<Result<std::unique_ptr<net::BodyStream>>> OpenLog(Client& client, Key pod, LogOptions options,
                                                              async::Deadline deadline);

}  // namespace capstan::kube
