// One thread's event loop, and its time.
//
// Everything above net/ takes its time, its timers and its turn from a Loop. RealLoop runs on the machine's
// clocks; VirtualLoop, for tests and the simulator, jumps to the next timer whenever nothing else is ready,
// so that hours pass in milliseconds and every run with the same inputs is the same run.
//
// A Loop belongs to the thread that runs it. Only Post and Stop may be called from other threads.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "async/deadline.h"
#include "async/task.h"
#include "base/time.h"

namespace boost::asio {
class io_context;
}

namespace capstan::async {

class Loop {
 public:
  Loop();
  virtual ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  virtual Tick Now() const = 0;      // monotonic
  virtual Time WallNow() const = 0;  // UTC; may jump

  Deadline After(Duration wait) const { return Deadline::After(Now(), wait); }

  boost::asio::any_io_executor executor();
  boost::asio::io_context& context() { return *context_; }

  // Calls `work` on the loop's thread, after what is already waiting. Any thread.
  void Post(std::move_only_function<void()> work);

  // Runs until Stop() or until nothing is left that could ever happen.
  virtual void Run() = 0;
  void Stop();

  // A timer's place in the queue. Timers due at the same moment fire in the order they were set.
  struct TimerId {
    Tick at;
    uint64_t sequence;
    auto operator<=>(const TimerId&) const = default;
  };
  // Calls `fire` once, at `at` or as soon after as the loop gets to it. For async::Timer; use that.
  TimerId Schedule(Tick at, std::move_only_function<void()> fire);
  void Unschedule(TimerId id);  // no effect when it has fired

 protected:
  // The earliest timer changed; RealLoop arms its clock.
  virtual void TimersChanged() {}
  std::optional<Tick> NextTimer() const;
  void FireTimersDue(Tick now);
  bool stopped() const;

  std::unique_ptr<boost::asio::io_context> context_;

 private:
  std::map<TimerId, std::move_only_function<void()>> timers_;
  uint64_t next_sequence_ = 0;
};

class RealLoop final : public Loop {
 public:
  RealLoop();
  ~RealLoop() override;
  Tick Now() const override;
  Time WallNow() const override;
  void Run() override;

  // How long the longest uninterrupted turn took since the last call; 0: no turn took a millisecond.
  Duration TakeLongestTurn();

 private:
  void TimersChanged() override;
  struct Clock;
  std::unique_ptr<Clock> clock_;
};

// Time begins at `start` and moves only in Run, RunUntil and Advance.
class VirtualLoop final : public Loop {
 public:
  explicit VirtualLoop(Time start = Time(std::chrono::seconds(1'700'000'000)));
  ~VirtualLoop() override;
  Tick Now() const override { return now_; }
  Time WallNow() const override;
  void Run() override;

  // Runs until `done` says so, or `limit` of virtual time has passed, or nothing is left to happen. True when
  // done.
  bool RunUntil(const std::function<bool()>& done, Duration limit);

  // Lets `duration` pass, firing what is due on the way.
  void Advance(Duration duration);

  // Shifts the wall clock only, as a clock step on a real machine would.
  void JumpWallClock(Duration by) { wall_offset_ += by; }

 private:
  void RunReady();
  bool StepTo(Tick limit);

  Tick now_{};
  Time start_;
  Duration wall_offset_{0};
};

}  // namespace capstan::async
