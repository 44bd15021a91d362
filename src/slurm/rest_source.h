// A Source over any slurmrestd: it polls, as often as somebody expects a change and no more.
//
// - At rest the node list is asked for every `watch`, with update_time: "unchanged" costs slurmctld 0.6 ms, and whoever
// shows elsewhere what Slurm says is a second behind. A slurmrestd that cannot answer so is asked every `slow`.
// - While a change is expected (ExpectChange, Expect), every `fast`. Where the full list is expensive (large clusters), it
// is read
//   at most a tenth of the time, and the expected nodes are looked at one by one in between. A slow answer about few
//   nodes is no reason for that: it puts nothing off.
// - After a write of ours, at once.
// - After a failure, again with growing waits up to `retry_cap`; before the list is asked for again, the
// cheap ping
//   must say that a slurmctld responds, since every other request hangs for ten seconds while none does.
// - One poll at a time, never a second beside it; other calls are limited to `max_calls` in flight.
// - Single jobs that somebody follows are looked at beside all this (job_follower.h).
// - All jobs are read only while somebody wants them: every `slow`, or `fast` while a change is expected, and a tenth of the
//   time at most. What goes wrong with that is no error of the View: jobs_read shows it.
//
// A fresh read of single nodes is laid over the last list until a list that began later replaces it, so a
// snapshot never goes back in time. Every `full`, the list is read whole whatever update_time would say, so
// that a stepped clock on slurmctld's machine hides nothing for long; and at once, after a write of ours (which
// changes the whole list anyway) and when a single read contradicts an "unchanged".
#pragma once

#include <list>
#include <map>
#include <set>

#include "async/backoff.h"
#include "async/event.h"
#include "slurm/job_follower.h"
#include "slurm/rest_client.h"

namespace capstan::slurm {

class RestSource final : public Source {
 public:
  struct Options {
    Duration fast = 500ms;
    Duration watch = 1s;
    Duration slow = 15s;
    Duration full = 5min;
    Duration retry_first = 250ms, retry_cap = 4s;
    Duration list_limit = 120s;  // for one read of all nodes
    Duration call_limit = 20s;   // for any other request of the poller; callers bring their own deadline
    size_t max_calls = 4;
    uint64_t seed = 0;  // of the jitter
    RestClient::Options client;
  };

  // REQUIRES: loop and transport outlive it.
  RestSource(async::Loop& loop, net::Transport& transport, TokenFactory sign, Options options);
  RestSource(async::Loop& loop, net::Transport& transport, TokenFactory sign)
      : RestSource(loop, transport, std::move(sign), Options()) {}
  ~RestSource() override;

  // Polls until it is cancelled. To be spawned once, in a group that is joined before the RestSource is
  // destroyed.
  async::Task<void> Run();

  View Latest() const override;
  std::unique_ptr<Subscription> Subscribe(Changed changed) override;
  void ExpectChange(std::span<const std::string> nodes, Tick until) override;
  std::unique_ptr<Expectation> Expect(std::vector<std::string> nodes) override;
  std::unique_ptr<JobsWanted> WantJobs() override;
  std::unique_ptr<Following> Follow(std::vector<int64_t> ids) override { return follower_.Follow(std::move(ids)); }
  async::Task<Result<FreshNodes>> ReadNodes(std::vector<std::string> names, async::Deadline deadline) override;
  async::Task<Result<std::vector<std::string>>> ReadNodesOfSuspendedJobs(async::Deadline deadline) override;
  async::Task<Result<void>> UpdateNode(NodeUpdate update, async::Deadline deadline) override;
  async::Task<Result<void>> CreateNode(NewNode node, async::Deadline deadline) override;
  async::Task<Result<void>> DeleteNode(std::string name, async::Deadline deadline) override;
  async::Task<Result<void>> WriteReservation(ReservationUpdate update, async::Deadline deadline) override;
  async::Task<Result<void>> DeleteReservation(std::string name, async::Deadline deadline) override;
  async::Task<Result<std::vector<Reservation>>> ReadReservations(async::Deadline deadline) override;
  async::Task<Result<void>> Reconfigure(async::Deadline deadline) override;
  async::Task<Result<PartitionUse>> ReadPartitionUse(size_t most_jobs, async::Deadline deadline) override;
  async::Task<Result<std::optional<Job>>> ReadJob(int64_t id, async::Deadline deadline) override;
  async::Task<Result<std::vector<Job>>> ReadExternalJobs(async::Deadline deadline) override;
  async::Task<Result<void>> SubmitJob(ExternalJob job, async::Deadline deadline) override;
  async::Task<Result<void>> UpdateJob(JobUpdate update, async::Deadline deadline) override;
  async::Task<Result<void>> CancelJob(JobCancel cancel, async::Deadline deadline) override;
  async::Task<Result<std::vector<ControllerPing>>> Ping(async::Deadline deadline) override;
  async::Task<Result<AccountingQueue>> ReadAccountingQueue(async::Deadline deadline) override;

  // Since the start, for metrics.
  struct Counters {
    uint64_t lists = 0, lists_unchanged = 0, single_reads = 0, failures = 0, writes = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  struct Entry;          // a Subscription
  struct JobsEntry;      // a JobsWanted
  struct ExpectedEntry;  // an Expectation
  class Permit;

  // Single reads of a fresh read or a poll, of nodes or of jobs; more are a list's business at any size of cluster.
  static constexpr size_t kMaxSingleReads = 256;

  // A single node read later than the list.
  struct Overlay {
    uint64_t read = 0;
    std::optional<Node> node;  // nullopt: it was gone
  };
  using NodesPtr = std::shared_ptr<const std::vector<Node>>;

  // Polling.
  async::Task<void> Poll();
  async::Task<Result<void>> PollLists();
  async::Task<Result<void>> ReadNodeList();
  async::Task<Result<void>> ReadJobList();
  async::Task<Result<void>> PollExpected();
  async::Task<Result<void>> AwaitController();
  async::Task<void> Rest();
  bool Expecting() const;
  std::set<std::string> Expected();
  Tick ListDue() const;
  bool JobsDue() const;
  void RefreshSoon();

  // Publishing.
  void LayOver(const FreshNodes& fresh, uint64_t read);
  void PublishList(Snapshot next, uint64_t read);
  NodesPtr MergedList() const;
  void Publish(Snapshot next);
  void Succeeded();
  void Failed(Error error);
  void Notify();

  // Fresh reads.
  async::Task<Result<void>> ReadByList(std::span<const std::string> names, FreshNodes& fresh, async::Deadline deadline);
  async::Task<Result<void>> ReadOneByOne(std::span<const std::string> names, FreshNodes& fresh,
                                         async::Deadline deadline);
  async::Task<Result<Incarnation>> ReadIncarnation(async::Deadline deadline);

  async::Loop& loop_;
  Options options_;
  RestClient client_;
  Random random_;
  async::Backoff backoff_;
  JobFollower follower_;
  Counters counters_;

  View view_;
  std::list<Entry*> subscribers_;
  NodesPtr list_;  // as last read, without what was laid over it
  std::map<std::string, Overlay> overlay_;
  uint64_t reads_ = 0, list_read_ = 0;  // reads are numbered in the order they began; the number of list_
  std::map<std::string, Tick> expected_until_;
  std::map<std::string, size_t> expected_;  // by how many Expectations
  Incarnation incarnation_;                 // id "" until known
  size_t jobs_wanted_ = 0;

  async::Event poked_;
  int64_t nodes_update_time_ = 0, jobs_update_time_ = 0;  // 0: ask for everything
  Tick list_began_{}, list_ended_{};                      // of the last list of nodes, whatever came of it
  Tick jobs_began_{}, jobs_ended_{};                      // the same of that of jobs
  Duration singles_cost_{};                               // of the last poll of expected nodes
  Tick whole_list_began_{};                               // of the last one without update_time
  uint64_t refreshes_wanted_ = 0,
           refreshes_done_ = 0;  // differ: a list that begins from now on is wanted at once
  size_t calls_ = 0;
  async::Event call_ended_;
};

}  // namespace capstan::slurm
