// slurmrestd's protocol: one call of the API each, typed. No state but the API version and the token;
// RestSource (rest_source.h) puts polling, snapshots and guards on top.
//
// Errors of all calls, besides those named: kUnavailable (no answer, slurmctld away, a server error),
// kUnauthenticated (401, 511 or error 1007, after one more try with a new token), kForbidden, kInvalid (what
// was asked, or the answer, makes no sense or is larger than Options allow), kDeadline. An HTTP 200 whose body
// lists errors is an error. Writes may also end as kUnknownOutcome. What a Slurm is too old for is kInvalid: "making nodes: not
// supported by this Slurm (24.11.5); ...". Messages carry Slurm's own words, never a token.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/deadline.h"
#include "async/loop.h"
#include "async/task.h"
#include "base/secret.h"
#include "net/http.h"
#include "slurm/accounting.h"
#include "slurm/batch_job.h"
#include "slurm/cloud_node.h"
#include "slurm/external_job.h"
#include "slurm/job_resources.h"
#include "slurm/source.h"
#include "slurm/usage.h"

namespace capstan::slurm {

namespace wire {
struct ConfAnswer;
}

// Signs a token that is valid from now for `lifetime` (jwt.h). Called again when four fifths of it have
// passed and when Slurm refuses a token, so a rotated key is picked up at once. An issue time some seconds in
// the past lets clocks differ a little. An empty token is not sent: the other side of a socket may know whose process asks.
using TokenFactory = std::function<Result<Secret>(Duration lifetime)>;

class RestClient {
 public:
  struct Options {
    std::vector<int> versions = {44, 45, 43, 42};  // of the data parser (v0.0.44), the preferred one first
    Duration token_lifetime = 15min;
    // Of everything but lists, whose elements are cut out one by one: bytes, and elements of what it holds.
    size_t max_answer_bytes = 4 << 20;
    size_t max_answer_elements = 20'000;
    // Of a list: more is no cluster, but something that would take all of our memory.
    size_t max_nodes = 100'000;
    size_t max_jobs = 500'000;
    size_t max_partitions = 10'000;
    size_t max_reservations = 10'000;
    size_t max_licenses = 10'000;
    size_t max_shares = 100'000;
    size_t max_list_bytes = size_t{1} << 30;    // as it is sent
    size_t max_held_bytes = size_t{128} << 20;  // of its records, as they are kept
  };

  // REQUIRES: loop and transport outlive it; calls end before it does.
  RestClient(async::Loop& loop, net::Transport& transport, TokenFactory sign, Options options);
  RestClient(async::Loop& loop, net::Transport& transport, TokenFactory sign)
      : RestClient(loop, transport, std::move(sign), Options()) {}

  // A whole list, sorted. `update_time` of 0 asks for everything; that of an earlier answer asks only if something changed since,
  // and `unchanged` is the answer when nothing did. Of nodes everything is the answer also where CanAskForChangedNodes says no.
  template <class Record>
  struct List {
    bool unchanged = false;
    std::vector<Record> records;
    int64_t update_time = 0;
    std::string release;  // "26.05.5"
  };

  // What a list said beside its records.
  struct ListEnd {
    bool unchanged = false;
    int64_t update_time = 0;
    std::string release, cluster;
  };
  // A list of which no record is kept: `take` is called for each as it arrives, in Slurm's order. `begin` is called before the
  // first, and again if the list has to be asked for anew: what was taken before it counts for nothing. It counts only if the
  // call succeeds in the end. Neither may call back.
  template <class Record>
  struct Visitor {
    std::function<void()> begin;
    std::function<void(Record&&)> take;
  };
  async::Task<Result<ListEnd>> VisitNodes(Visitor<NodeUsage> visitor, async::Deadline deadline);
  async::Task<Result<ListEnd>> VisitJobs(Visitor<JobUsage> visitor, async::Deadline deadline);

  async::Task<Result<List<Node>>> Nodes(int64_t update_time, async::Deadline deadline);
  async::Task<Result<List<Job>>> Jobs(int64_t update_time, async::Deadline deadline);

  // Every job's state, sorted by id: a hundredth of what the jobs cost.
  struct JobBrief {
    int64_t id = 0;  // of the job, or of another of its array or heterogeneous job; 0: not told
    JobState state;
  };
  async::Task<Result<List<JobBrief>>> JobStates(async::Deadline deadline);

  // Of these jobs only, at most kMaxIds; slurmctld looks up no others. One that it does not know is left out.
  static constexpr size_t kMaxIds = 500;  // a request line of 8 KiB
  async::Task<Result<List<JobBrief>>> JobStates(std::vector<int64_t> ids, async::Deadline deadline);

  // The job of that id, with the others of its array or heterogeneous job if it is the first of them. Empty: slurmctld
  // does not know it (any more).
  async::Task<Result<std::vector<Job>>> JobNumbered(int64_t id, async::Deadline deadline);

  // Those of these jobs that a list of all jobs has, sorted. `ids`: ascending.
  async::Task<Result<std::vector<Job>>> JobsNumbered(std::vector<int64_t> ids, async::Deadline deadline);

  // Queues a batch job of the token's user, and gives its id. Each submission makes a job: look before another one after any error
  // but kInvalid, kForbidden and kUnauthenticated.
  async::Task<Result<int64_t>> Submit(BatchJob job, async::Deadline deadline);
  // Makes an external job. kAlreadyExists: the id is in use, perhaps by this very submission. kInvalid: Slurm refuses it and
  // says why. A job that cannot start as the cluster is now is no error, but waits.
  async::Task<Result<void>> Submit(ExternalJob job, async::Deadline deadline);
  // kNotFound when there is no such job or it is over.
  async::Task<Result<void>> UpdateJob(JobUpdate update, async::Deadline deadline);
  // kNotFound when there is no such job or it is over; kConflict when it is another job, or in another state, than was said.
  async::Task<Result<void>> CancelJob(JobCancel cancel, async::Deadline deadline);
  // Cancels all jobs that the filter means, which may be none. kInvalid: the filter is not narrow, or Slurm does not cancel one of
  // the jobs and says why. An error may leave some of them cancelled.
  async::Task<Result<void>> CancelJobs(JobFilter filter, async::Deadline deadline);

  // What a job holds on each of its nodes. kConflict: it does not run; kNotFound: there is no such job.
  async::Task<Result<std::vector<JobResources>>> ResourcesOf(int64_t id, async::Deadline deadline);

  async::Task<Result<List<Partition>>> Partitions(async::Deadline deadline);

  // One node, 3 ms at any size of cluster. nullopt: slurmctld has no record of that name. A node with some
  // free cores shows as ALLOCATED here and as MIXED in a list.
  async::Task<Result<std::optional<Node>>> NodeNamed(std::string name, async::Deadline deadline);

  // What identifies the running slurmctld; `uptime` by slurmctld's own clock.
  struct Life {
    std::string id;
    Duration uptime{};
    std::optional<Duration> slurmd_timeout;  // only from v0.0.45 on
  };
  async::Task<Result<Life>> ReadLife(async::Deadline deadline);

  async::Task<Result<std::vector<ControllerPing>>> Ping(async::Deadline deadline);
  async::Task<Result<AccountingQueue>> ReadAccountingQueue(async::Deadline deadline);
  async::Task<Result<Statistics>> ReadStatistics(async::Deadline deadline);
  async::Task<Result<List<License>>> Licenses(async::Deadline deadline);

  // All associations, as slurmctld counts them, in its order: each account before its users. None without slurmdbd.
  async::Task<Result<List<Share>>> Shares(async::Deadline deadline);
  // A job as slurmdbd has it, with each of its runs if it was requeued. Empty: slurmdbd has none of that id. kUnavailable: this
  // slurmrestd does no accounting, or slurmdbd is away.
  async::Task<Result<std::vector<BookedJob>>> BookedJobs(int64_t id, async::Deadline deadline);
  async::Task<Result<void>> Update(NodeUpdate update, async::Deadline deadline);
  // kAlreadyExists: there is a node of that name. kInvalid: Slurm refuses it, in its words.
  async::Task<Result<void>> CreateNode(NewNode node, async::Deadline deadline);
  // kNotFound when there is no such node, kConflict while a job or a reservation holds it.
  async::Task<Result<void>> Delete(std::string name, async::Deadline deadline);
  async::Task<Result<List<Reservation>>> Reservations(async::Deadline deadline);
  async::Task<Result<void>> WriteReservation(ReservationUpdate update, async::Deadline deadline);
  // kNotFound when there is no such reservation, kConflict while jobs use it.
  async::Task<Result<void>> DeleteReservation(std::string name, async::Deadline deadline);
  async::Task<Result<void>> Reconfigure(async::Deadline deadline);

  // The version in use, "v0.0.44"; "": not known, as before the first call, or not any more, as after an upgrade of slurmrestd.
  // The next call finds it.
  const std::string& version() const { return version_; }

  // Whether update_time may be asked for nodes: slurmrestd before 26.05.3 fails with it.
  static bool CanAskForChangedNodes(std::string_view release);

 private:
  static constexpr std::string_view kSlurmctldApi = "slurm", kSlurmdbdApi = "slurmdb";
  struct Answer;

  // The elements of the array of that name in an answer. `begin` and `take`: as with Visitor.
  struct Elements {
    std::string path, array;
    std::function<void()> begin;
    std::function<Result<void>(std::string_view)> take;
  };

  Result<Secret> Token();
  Result<net::Request> MakeRequest(std::string method, std::string target, std::string body);
  async::Task<Result<Answer>> Call(std::string method, std::string path, std::string body, async::Deadline deadline,
                                   std::string api = std::string(kSlurmctldApi));
  async::Task<Result<Answer>> CallOnce(std::string method, std::string target, std::string body,
                                       async::Deadline deadline);
  async::Task<Result<Answer>> Get(std::string path, async::Deadline deadline);
  static Error AsOrder(const Answer& answer);
  async::Task<Result<void>> Negotiate(async::Deadline deadline);
  void NoteRelease(std::string_view release);
  // Only Slurm `since` and newer can do `what`.
  Error NotSupported(std::string_view what, std::string_view since) const;
  async::Task<Result<wire::ConfAnswer>> ReadConf(async::Deadline deadline);
  async::Task<Result<Life>> LifeFromDiag(async::Deadline deadline);
  template <class Record>
  async::Task<Result<List<Record>>> ReadList(std::string path, std::string array, async::Deadline deadline);
  async::Task<Result<ListEnd>> ReadElements(Elements elements, async::Deadline deadline);
  template <class Wire, class Record>
  async::Task<Result<ListEnd>> Visit(std::string path, std::string array, size_t most, Visitor<Record> visitor,
                                     async::Deadline deadline);
  async::Task<Result<ListEnd>> ReadElementsOnce(Elements& elements, bool& unknown_path, async::Deadline deadline);

  async::Loop& loop_;
  net::Transport& transport_;
  TokenFactory sign_;
  Options options_;
  std::string version_, release_;
  bool has_conf_ = true;  // v0.0.45/conf, until it proves missing
  Secret token_;
  Tick token_until_{};
};

}  // namespace capstan::slurm
