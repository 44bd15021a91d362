// Has a daemon that keeps no configuration wait where it does not start: slurmdbd, whose configuration holds a password, and
// slurmrestd, which has no folder for it.
//
// It does not start when it ends within ten seconds and was not asked to. Its container, which the kubelet would start ever later,
// goes on: the daemon is tried again after half a minute, and at once when what is mounted changes. GET /start of
// kConfigurationPort answers
//
//   {"message": "slurmdbd does not start: fatal: ..."}
//
// and "" once it has run for so long; GET /readyz there answers 503 from a start that failed on, and else 200. While it waits, the
// port whose being open is its life to the kubelet (`probed`) is open, and answers 503, with the message. For one thread, the
// supervisor's; never waits.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "entry/answerer.h"
#include "entry/configuration.h"
#include "entry/last_words.h"

namespace capstan::entry {

class Waiting {
 public:
  using Clock = Answerer::Clock;
  struct Options {
    std::string daemon;
    std::string mounted;
    uint16_t port = 0;
    uint16_t probed = 0;  // 0: no probe kills it
  };
  static constexpr std::chrono::seconds kSoon{10};  // after its start: an end is no start

  // Says so when it cannot listen: nobody is told then, and all else is the same.
  Waiting(Options options, uint64_t seed);

  void AddTo(std::vector<pollfd>* waiting) const;
  std::optional<Clock::time_point> next() const;
  // After each poll. Whether the daemon is to be started now.
  bool Serve(Clock::time_point now);
  // It did not start. `otherwise`: what is told when it said nothing.
  void Ended(const LastWords& words, const std::string& otherwise, Clock::time_point now);
  void Runs() { message_.clear(); }

  std::string Answer() const;  // the JSON above
  bool ready() const { return message_.empty(); }

 private:
  void StandIn();

  const Options options_;
  Random random_;
  std::optional<Answerer> answerer_, in_its_place_;
  std::optional<Configuration> mounted_;  // when it was started last
  std::string message_;
  std::optional<Clock::time_point> look_at_, again_at_;  // while it waits
};

}  // namespace capstan::entry
