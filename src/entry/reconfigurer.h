// Brings a changed configuration to the slurmctld that runs, without a restart, and says which one is live.
//
// Slurm does the hard part: `scontrol reconfigure` makes slurmctld start a new process of itself, which takes over once it
// runs well; else the old one goes on. Here is decided when that is asked for, and what came of it:
//
// | what happens                             | what is done                                                              |
// |------------------------------------------|---------------------------------------------------------------------------|
// | the files change                         | half a second later they are read; several changes meanwhile are one      |
// | they are what is live again              | nothing                                                                   |
// | scontrol cannot parse them, or one is    | refused, in scontrol's words; slurmctld, which would wait for a missing   |
// | missing                                  | file for a minute and answer nobody meanwhile, is not asked               |
// | slurmctld takes them                     | they are live, since now                                                  |
// | slurmctld refuses them                   | refused; it goes on with what is live; they are not tried again           |
// | slurmctld cannot be reached              | tried again, after 1 s and up to 30 s                                     |
// | its answer is lost, or late              | live if its process changes within 90 s, else refused; not asked twice    |
// | they change again meanwhile              | that is looked at afterwards, two seconds after the last time at the      |
// |                                          | earliest                                                                  |
// | somebody else reconfigures               | what was refused may be tried again                                       |
// | slurmctld is not ready, or told to stop  | nothing: a new process reads them anyway                                  |
// | it stands by for another slurmctld       | they count as live once they can be parsed: it reads them when it takes   |
// |                                          | over                                                                      |
// | slurmctld was started with what it ran   | it reads that in a folder of ours. A changed text is put there before     |
// | with before (start.h)                    | slurmctld is asked, and taken back when it is refused                     |
// | the files are those that it did not      | tried again after half a minute, and ever later, up to ten minutes: it    |
// | start with                               | also ends for what is no fault of theirs                                  |
//
// scontrol asks with a copy of what is live: with the new text it would already call at a changed port, or would not run
// at all. GET /configuration of kConfigurationPort (CAPSTAN_CONFIGURATION_PORT) answers
//
//   {"files": {"slurm.conf": "<sha256>"}, "since": "2026-11-23T05:00:00Z", "reconfigures": 2,
//    "refused": {"files": {...}, "message": "..."}}
//
// where "refused" is what is mounted and not live, if it is. While slurmctld does not run, because it is starting or does not
// start, the digest of slurm.conf is "" and "runs" is false. Of several slurmctld it also says who wrote the state last
// (heartbeat.h), as it was at the last look, at most two seconds ago: "heartbeat": {"server": 0, "age_s": 3}. Who asks has nothing read or
// hashed. For one thread, the supervisor's; never waits.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "entry/answerer.h"
#include "entry/configuration.h"

namespace capstan::entry {

inline constexpr uint16_t kConfigurationPort = 6815;

class Reconfigurer {
 public:
  using Clock = Answerer::Clock;

  struct Options {
    std::string mounted = "/etc/slurm";
    std::string folder;    // ours alone, writable
    std::string scontrol;  // the program's path
    std::string host;      // this one's name in SlurmctldHost
    uint16_t port = kConfigurationPort;
    std::chrono::milliseconds settle{500}, between{2000}, first_retry{1000}, answer_limit{90'000}, start_again{30'000};
  };

  // What slurmctld is started with.
  struct Start {
    Configuration configuration;
    std::string folder = {};         // where it reads that, ours alone; "": where it is mounted
    std::optional<Time> since = {};  // it is live since then; nullopt: since slurmctld is ready
  };

  // What is mounted now is taken for what the daemon reads, which has not been started yet. kUnavailable, kNotFound: it
  // cannot look, or cannot listen.
  static Result<Reconfigurer> Begin(Options options);

  Reconfigurer(Reconfigurer&& other) noexcept;
  Reconfigurer& operator=(Reconfigurer&&) = delete;
  ~Reconfigurer();

  void AddTo(std::vector<pollfd>* waiting) const;
  std::optional<Clock::time_point> next() const;

  // After each poll. `daemon`: its main process; `able`: it is in charge or stands by, and was not told to stop.
  void Serve(pid_t daemon, bool able, Clock::time_point now);
  void OnReaped(pid_t pid, int exit_status, Clock::time_point now);

  // slurmctld, which does not run, is about to be started. What did not start is told until what is mounted runs.
  void Starts(Start start);
  // It has ended with what is mounted, and does not run.
  void DoesNotStart(Configuration mounted, std::string message);

  // What slurmctld runs with; nullptr: it does not run.
  const Configuration* live() const { return runs_ ? &live_ : nullptr; }
  Time since() const { return since_; }
  int64_t times_live() const { return times_live_; }  // how often another configuration became live

  std::string Answer() const;  // the JSON above

 private:
  enum class Step : uint8_t { kIdle, kChecking, kAsking, kAwaiting };
  struct Refusal {
    Configuration configuration;
    std::string message;
    std::string files;  // JSON
  };

  Reconfigurer(Options options, int watch, int output, Answerer answerer, Configuration live)
      : options_(std::move(options)), watch_(watch), output_(output), answerer_(std::move(answerer)) {
    SetLive(std::move(live));
  }

  void SetLive(Configuration configuration);
  void SetRefused(Configuration configuration, std::string message);
  void LookAtHeartbeat(Clock::time_point now);

  void NoteChanges(Clock::time_point now);
  void NoteDaemon(pid_t daemon, Clock::time_point now);
  void BeginsToRun(Clock::time_point now);
  void Look(Clock::time_point now);
  void Run(Step step, const std::vector<std::string>& arguments, const std::string& folder, Clock::time_point now);
  void Checked(int exit_status, Clock::time_point now);
  void Asked(int exit_status, Clock::time_point now);
  void IsLive(Clock::time_point now);
  void Refuse(std::string message, Clock::time_point now);
  void Rest(Clock::time_point now);
  Result<void> WriteCopy() const;
  std::string Output(const Configuration& configuration) const;  // in one line, without its passwords

  const Options options_;
  int watch_;   // inotify
  int output_;  // a file: what scontrol said
  Answerer answerer_;

  Configuration live_;                             // or what it is being started with
  std::string live_files_;                         // JSON
  bool several_ = false;                           // slurmctlds, by what is live
  std::string heartbeat_;                          // as it stands in an answer; "": none was read
  std::optional<Clock::time_point> heartbeat_at_;  // when it is looked at next
  std::string reads_;  // the folder of ours where slurmctld reads it; "": where it is mounted
  std::optional<Time> started_since_;
  bool runs_ = false;
  Time since_ = Time::clock::now();
  int64_t reconfigures_ = 0, times_live_ = 0;
  std::optional<Refusal> refused_;
  std::optional<Clock::time_point> again_at_;  // when what was refused is tried again
  std::chrono::milliseconds again_after_{0};

  Step step_ = Step::kIdle;
  std::optional<Configuration> candidate_;
  pid_t daemon_ = 0, asked_ = 0;  // the main process: now, and when it was asked
  pid_t child_ = 0;
  std::optional<Clock::time_point> limit_, look_at_, not_before_;
  std::chrono::milliseconds retry_{0};
};

}  // namespace capstan::entry
