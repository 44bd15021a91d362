// Asks slurmctld whether it is in charge: GET /readyz at its port of this machine, as a kubelet does.
//
// What it announces to its service manager is too early: that it has begun, before it has read partitions and jobs, and that it
// stands by. For one thread, which polls; never waits.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace capstan::entry {

// kSilent: nothing came that is HTTP, in time.
enum class Charge : uint8_t { kYes, kNo, kSilent };

class Readiness {
 public:
  using Clock = std::chrono::steady_clock;

  Readiness() = default;
  Readiness(Readiness&&) = delete;
  Readiness& operator=(Readiness&&) = delete;
  ~Readiness() { GiveUp(); }

  // Asks, unless a question is under way. It has two seconds.
  void Ask(uint16_t port, Clock::time_point now);
  bool asking() const { return fd_ >= 0; }
  void GiveUp();

  void AddTo(std::vector<pollfd>* waiting) const;
  std::optional<Clock::time_point> next() const { return asking() ? deadline_ : std::nullopt; }
  // What it said, once that is known; yes is a status of 2xx. Then nothing is under way any more.
  std::optional<Charge> Turn(Clock::time_point now);

 private:
  int fd_ = -1;
  bool sent_ = false, failed_ = false;
  bool six_ = false;  // by IPv6 next time: one of the two may be turned off
  std::string heard_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace capstan::entry
