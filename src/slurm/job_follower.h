// Looks at single jobs again and again: the part of RestSource behind Source::Follow.
//
// One request asks for the states of all followed jobs (of 500 at most), of which slurmctld looks up only those; a job is read
// whole when its state is another than at the last whole read, and else in turn with all others: while it is pending for its
// reason and the start that Slurm expects, while it runs for a preemption whose grace time has begun. So what is followed costs
// slurmctld little, and a change shows after half a second.
//
// - The states are asked for every `fast`, and a tenth of the time at most; every `slow` once all of them are over or gone.
// - After a write of ours to one of them that one is read whole, at once.
// - One look reads jobs whole for `whole_reads_for` and no longer; the others have their turn in the next. Where so many are to be
//   read that a list of all jobs takes Slurm less time, they are read from one, for a quarter of the time at most; after
//   failures ever more rarely.
// - While the Source is not heard, and for growing waits after a failure, nobody is asked.
//
// A job that is missing among the states is gone only once slurmctld has answered a question about it alone so. One that is
// known to have changed since it was read, and cannot be read yet, is not shown: what was true before is not told as news.
//
// Thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "async/backoff.h"
#include "async/event.h"
#include "slurm/rest_client.h"
#include "slurm/source.h"

namespace capstan::slurm {

class JobFollower {
 public:
  struct Options {
    Duration fast = 500ms;
    Duration slow = 10s;
    Duration call_limit = 20s;
    size_t reads_in_turn = 20;         // a second, of jobs whose state has not changed
    Duration whole_reads_for = 500ms;  // in one look
    std::function<bool()> heard;       // the Source is
    std::function<void()> changed;     // jobs() is another
  };
  // REQUIRES: all outlive it.
  JobFollower(async::Loop& loop, RestClient& client, Random& random, Options options);
  ~JobFollower();

  std::unique_ptr<Source::Following> Follow(std::vector<int64_t> ids);

  // Until it is cancelled.
  async::Task<void> Run();

  // We have written to it: a whole read that begins now or later is wanted.
  void LookSoon(int64_t id);

  // The Source is heard again.
  void Resume();

  const std::shared_ptr<const FollowedJobs>& jobs() const { return jobs_; }
  Tick looked_at() const { return looked_at_; }

 private:
  struct Entry;
  // What was seen of one job.
  struct Seen {
    JobState state;                  // as it was last listed or read; without any name: slurmctld did not know the job
    std::optional<Tick> read_at;     // began its last whole read, if the state was this one then
    Tick stale_since = Tick::min();  // what was read before is out of date
    int failures = 0;                // of reading it whole, one after the other
    Tick retry_at = Tick::min();
  };
  // One look at those that were written, and at all when that is due, from its beginning to its end.
  struct Look {
    bool listed = false;                     // Seen::state is as the states were listed in this look
    Duration states_took{0}, whole_took{0};  // the requests for states, and the whole reads
    int failures = 0;                        // of whole reads, one by one
    FollowedJobs read;                       // and not published yet
    std::vector<int64_t> hidden;             // likewise
    Tick published;
  };

  async::Task<Result<void>> LookAtAll(Look& look);
  async::Task<void> LookAtWritten(Look& look);
  async::Task<Result<std::vector<int64_t>>> LookAt(std::vector<int64_t> ids, Look& look);
  async::Task<std::vector<int64_t>> ReadAllWhole(std::vector<int64_t> ids, Look& look);
  async::Task<void> ReadFromList(std::vector<int64_t>& ids, Look& look);
  async::Task<bool> ReadWhole(int64_t id, Look& look);
  void Take(int64_t id, std::optional<Job> job, Tick began, Look& look);
  void Publish(Look& look);
  std::vector<int64_t> Followed() const;
  std::vector<int64_t> LongestUnread();
  bool AllOver() const;
  Tick Due() const;
  async::Task<void> Rest();

  async::Loop& loop_;
  RestClient& client_;
  Options options_;
  async::Backoff backoff_;
  std::map<int64_t, size_t> followed_;  // by how many
  std::map<int64_t, Seen> seen_;        // of those
  std::shared_ptr<const FollowedJobs> jobs_ = std::make_shared<const FollowedJobs>();
  Tick looked_at_{};
  Tick looked_until_{};        // the last look at all ended
  Duration least_rest_{0};     // after it
  Tick took_turn_{};           // when jobs were last read in turn
  Duration one_takes_{5ms};    // a whole read of one job, of late
  Duration list_takes_{0};     // a list of all jobs, of late; 0: none was read
  int list_failures_ = 0;      // of reading it, one after the other
  Tick list_from_{};           // when the next may be
  std::set<int64_t> written_;  // by us, or followed since: to be read soon
  async::Event poked_;
};

}  // namespace capstan::slurm
