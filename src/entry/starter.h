// Has slurmctld started with what is mounted, or with what it ran with last, and waits where neither runs (start.h).
//
// Here are the effects: it reads and keeps configurations (kept.h), puts the kept one where slurmctld reads it, tells the
// Reconfigurer, and answers a kubelet's probes at slurmctld's port while none runs: GET /livez with 200, so that the container is
// not killed, and all else with 503, so that it is not ready. A slurmctld that runs is never touched. For one thread, the
// supervisor's, whose loop this is:
//
//   Serve, after each poll
//   if due: Next, and slurmctld is started, unless that says to wait
//   Ended, when it has ended before it ran
//   Keep, while it runs
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "entry/answerer.h"
#include "entry/configuration.h"
#include "entry/last_words.h"
#include "entry/reconfigurer.h"
#include "entry/start.h"

namespace capstan::entry {

class Starter {
 public:
  using Clock = Answerer::Clock;

  // The mounted folder, and one that is ours alone. The first start is due at once.
  Starter(std::string mounted, const std::string& folder, uint64_t seed);

  void AddTo(std::vector<pollfd>* waiting) const;
  std::optional<Clock::time_point> next() const;
  // While slurmctld does not run, looks twice a second for another text, which is tried at once. Never waits.
  void Serve(Clock::time_point now);

  bool due(Clock::time_point now) const { return due_ && now >= *due_; }
  // What is due is another try of a text that did not start.
  bool again() const { return again_; }
  // What is mounted, if it is another than the one that did not start. Told once.
  std::optional<Configuration> TakeChanged() { return std::exchange(changed_, std::nullopt); }
  void NotBefore(Clock::time_point at) { due_ = at; }
  // Waits for half a minute, or for another text.
  void Wait(Clock::time_point now);

  // The slurm.conf that slurmctld is to be started with, "" for the usual one. nullopt: it is not to be started now.
  // `another_writes`: another of several slurmctld is in charge.
  std::optional<std::string> Next(Reconfigurer& reconfigurer, bool another_writes, Clock::time_point now);
  // slurmctld has ended before it was in charge, or could not be started. `otherwise`: what is told when it said nothing.
  void Ended(const LastWords& words, const std::string& otherwise, Clock::time_point now);
  uint16_t port() const;  // slurmctld's
  // What slurmctld runs with is not kept yet.
  bool HasToKeep(const Reconfigurer& reconfigurer, Clock::time_point now) const;
  // slurmctld is in charge, as it says itself (readiness.h).
  void Keep(const Reconfigurer& reconfigurer, Clock::time_point now);

 private:
  void BeginAnew(Clock::time_point now);
  void Tell(const std::string& told);
  std::optional<std::string> StartKept(Reconfigurer& reconfigurer, const Kept& kept, const std::string& told);

  const std::string mounted_folder_, kept_folder_;
  Random random_;
  Configuration mounted_, tried_;  // what is wanted, and what slurmctld was started with last
  std::optional<std::string> mounted_said_, kept_said_;
  StartWith with_ = StartWith::kNone;
  std::string told_;
  bool again_ = false;
  std::optional<Configuration> changed_;
  std::optional<Clock::time_point> due_ = Clock::time_point();
  std::optional<Clock::time_point> look_at_, again_at_;  // while it waits
  std::optional<Answerer> probes_;                       // the same
  int64_t kept_life_ = 0;                                // Reconfigurer::times_live of what was written
  Clock::time_point keep_at_{};
  std::string keep_said_;
};

}  // namespace capstan::entry
