// A modelled API server behind net::Transport, in virtual time: the other end of kube::Client, Watcher and
// Lease in the simulator and in unit tests of what uses them.
//
//   FakeApiServer server(loop, seed);
//   kube::Client client(loop, server, {});
//   server.Put(kPods, R"({"metadata":{"namespace":"slurm","name":"w-0"}})");      // somebody else's write
//   server.faults.lost_answer = 5;                                               // percent of writes
//   server.on_write = [&](const auto& write) { if (server.writes().size() == n) crash(); };
//
// Verbs: get, list (pages, selectors), watch (initial events, bookmarks, 410), create, replace, apply, JSON
// and merge patch, delete, deletecollection; subresources status, scale, eviction, binding. fake_objects.h
// says what objects do and what is not modelled. test/kube/twin_it_test.cc asks it and the real server the same, and
// compares the answers.
//
// Every request takes `latency` each way. Faults are drawn from the seed: equal seeds and calls give equal
// runs. REQUIRES: the loop outlives it, and no call to it is in flight when it is destroyed.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "base/random.h"
#include "kube/testing/fake_objects.h"
#include "net/http.h"

namespace capstan::kube::testing {

class FakeWatch;
struct FakeTarget;

// What may go wrong, in percent of the times it could; all off.
struct ApiFaults {
  unsigned refused = 0;      // of requests: no connection
  unsigned throttled = 0;    // of requests: 429 with Retry-After
  unsigned unavailable = 0;  // of requests: 503
  unsigned slow = 0;         // of requests: takes up to `slow_by` longer each way
  Duration slow_by = 5s;
  unsigned lost_answer = 0;  // of requests: done, and the connection breaks before the answer
  unsigned cut_watch = 0;    // of events: the stream breaks before it
  unsigned mute_watch = 0;   // of events: neither it nor anything else comes any more, the connection stays
  unsigned lag_watch = 0;    // of events: comes up to `lag_by` late, with all behind it
  Duration lag_by = 10s;
  unsigned lost_history = 0;  // of watches that begin from a version: it is gone (410), events between are never told

  friend bool operator==(const ApiFaults&, const ApiFaults&) = default;
};

// A request that reached the objects and was not a read.
struct ApiWrite {
  Tick at;
  std::string verb;  // "create", "update", "apply", "patch", "delete", "deletecollection"
  Resource resource;
  Key key;
  std::string subresource;
  std::string manager;
  int status;    // of the answer
  bool changed;  // the objects are not what they were
  std::string body;
};

class FakeApiServer final : public net::Transport {
 public:
  FakeApiServer(async::Loop& loop, uint64_t seed);
  ~FakeApiServer() override;

  FakeObjects& objects() { return objects_; }
  ApiFaults faults;
  Duration latency = 1ms;
  Duration bookmark_interval = 60s;
  bool streaming_lists = true;  // false: answers sendInitialEvents with 422, as older servers do

  // --- What was asked ------------------------------------------------------------------------------------------------
  const std::vector<ApiWrite>& writes() const { return writes_; }
  void ForgetWrites() { writes_.clear(); }
  uint64_t reads() const { return reads_; }
  size_t open_watches() const { return watches_.size(); }

  // Called after each write has taken effect (or was refused) and before its answer leaves. May cancel who
  // waits for it.
  std::function<void(const ApiWrite&)> on_write;
  // Asked before each request; a status of 400 or more is the answer, without effect (RBAC, an aggregated API
  // that is down).
  std::function<std::optional<Refusal>(std::string_view method, const Resource&, const Key&)> deny;
  // RBAC: whether the client may do `verb` ("get", "list", "watch", "create", "update", "patch", "delete",
  // "deletecollection"); 403 if not. Asked before `deny`; empty: it may do all.
  std::function<bool(std::string_view verb, const Resource&, std::string_view subresource)> authorize;
  // Asked before each eviction; false: a budget says not now (429).
  std::function<bool(const json::Value& pod)> may_evict;

  // --- The rest of the world, without faults and latency -------------------------------------------------------------

  // Creates the object, or replaces it but for its status; with `subresource` "status" the status alone.
  // `manager` is who did it. REQUIRES: valid JSON, an accepted write. Returns it as it is.
  json::Value Put(const Resource& resource, std::string_view object, std::string_view subresource = {},
                  std::string_view manager = "world");
  // Changes it in place; nothing when it is not there.
  void Edit(const Resource& resource, const Key& key, std::string_view subresource,
            const std::function<void(json::Value&)>& change, std::string_view manager = "world");
  void Remove(const Resource& resource, const Key& key, const Deletion& deletion = {});
  const json::Value* Find(const Resource& resource, const Key& key) const { return objects_.Find(resource, key); }

  // Breaks all open watches. With `lose_history`, what they missed is gone as well (410).
  void CutWatches(bool lose_history = false);
  // Puts etcd back to a backup, which cuts all watches.
  void Restore(const FakeObjects::Backup& backup);

  // --- net::Transport ------------------------------------------------------------------------------------------------
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

 private:
  friend class FakeWatch;

  struct Snapshot;  // what the further pages of a list are cut from

  bool Draw(unsigned percent) { return percent > 0 && random_.Percent(percent); }
  Duration DrawUpTo(Duration most) { return Duration(int64_t(random_.Below(uint64_t(most.count()) + 1))); }
  std::optional<net::Response> DrawRefusal();
  async::Task<Result<void>> Travel(async::Deadline deadline, bool sent);
  Answered<FakeTarget> Resolve(const net::Request& request);
  net::Response Handle(const net::Request& request);
  net::Response Read(const FakeTarget& target, const net::Request& request);
  net::Response List(const FakeTarget& target, const net::Request& request);
  net::Response Write(const FakeTarget& target, const net::Request& request);
  net::Response DryRun(const FakeTarget& target, const net::Request& request);
  Answered<Stored> Change(const FakeTarget& target, const net::Request& request);
  Answered<Stored> Post(const FakeTarget& target, const net::Request& request, json::Value body);
  Answered<Stored> Patch(const FakeTarget& target, const net::Request& request);
  Answered<Stored> Delete(const FakeTarget& target, const net::Request& request);
  Answered<Stored> Evict(const FakeTarget& target, json::Value body);
  Answered<Stored> Scale(const FakeTarget& target, const json::Value& scale, const FieldManager& manager);
  std::unique_ptr<net::BodyStream> Watch(const FakeTarget& target, const net::Request& request);
  std::optional<net::Response> RefuseWatch(const FakeTarget& target) const;
  void Schedule(Duration wait, std::function<void()> call);

  async::Loop& loop_;
  Random random_;
  FakeObjects objects_;
  std::vector<ApiWrite> writes_;
  uint64_t reads_ = 0;
  std::set<FakeWatch*> watches_;
  std::map<std::string, Snapshot> snapshots_;  // by continue token
  uint64_t next_snapshot_ = 0;
  std::set<async::Loop::TimerId> timers_;
};

}  // namespace capstan::kube::testing
