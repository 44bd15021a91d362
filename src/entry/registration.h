// Has slurmctld still a record of the slurmd of this container? A slurmd registers until that has succeeded once, and then never
// again: to a slurmctld that came up without its state it is unknown until it is started anew.
//
// Nobody asks slurmctld as long as nobody asks this container what its slurmd is called (identity.h): the operator does that when it
// finds the node missing. And without one, once in ten minutes.
//
// | slurmctld says                  | what is done                                                                     |
// |---------------------------------|----------------------------------------------------------------------------------|
// | there is no such node           | it is asked once more, 5 to 15 s later                                           |
// | that, twice in a row            | slurmd is started anew, and registers. Where slurmctld keeps its state, not while |
// |                                 | job steps are here: it would end those that it does not know, and may be one with |
// |                                 | a wrong or an empty volume, which a person mends                                  |
// | that, again after that          | the same, asked anew a minute later at the earliest, then 2, 4, ... 30 minutes   |
// | it knows the node, or nothing   | nothing                                                                          |
//
// For one thread, the supervisor's; never waits.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"

namespace capstan::entry {

enum class Known : uint8_t { kYes, kNo, kNobodyKnows };

// What `scontrol show node NODE` says by its exit status and its words.
Known KnownBy(int exit_status, std::string_view said, std::string_view node);

class Registration {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string scontrol;    // the program's path
    std::string node;        // what the slurmd is called in Slurm
    bool state_kept = true;  // slurmctld has its state on a volume
    uint64_t seed = 0;
  };
  // kInternal: there is nowhere to write to.
  static Result<Registration> Begin(Options options, Clock::time_point now);

  Registration(Registration&& other) noexcept;
  Registration& operator=(Registration&&) = delete;
  ~Registration();

  // Somebody wants to know what the slurmd is called.
  void Suspect(Clock::time_point now);

  std::optional<Clock::time_point> next() const;
  // After each poll. `able`: slurmd has registered once, and was not told to stop. `steps`: whether job steps are here.
  // True: slurmd is to be started anew.
  bool Serve(bool able, const std::function<bool()>& steps, Clock::time_point now);
  void OnReaped(pid_t pid, int exit_status, Clock::time_point now);

 private:
  Registration(Options options, int output, Clock::time_point now);
  void Ask(Clock::time_point now);
  std::string Output() const;

  Options options_;
  Random random_;
  int output_;  // a file without a name
  pid_t child_ = 0;
  std::optional<Clock::time_point> limit_;  // until the child must have ended
  Clock::time_point look_at_;
  Clock::time_point asked_{};      // last
  bool missing_ = false;           // by the last answer
  bool lost_ = false;              // by the last two, of which nothing was done yet
  std::chrono::seconds pause_{0};  // from one start to the next; 0: it is known
  Clock::time_point not_before_{};
  bool told_ = false;  // that job steps are in the way
};

}  // namespace capstan::entry
