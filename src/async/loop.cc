#include "async/loop.h"

#include <time.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "async/turn.h"
#include "base/log.h"

namespace asio = boost::asio;

namespace capstan::async {

Loop::Loop() : context_(std::make_unique<asio::io_context>(1)) {}
Loop::~Loop() = default;

asio::any_io_executor Loop::executor() { return context_->get_executor(); }
void Loop::Post(std::move_only_function<void()> work) { asio::post(*context_, std::move(work)); }
void Loop::Stop() { context_->stop(); }
bool Loop::stopped() const { return context_->stopped(); }

Loop::TimerId Loop::Schedule(Tick at, std::move_only_function<void()> fire) {
  const TimerId id{at, next_sequence_++};
  timers_.emplace(id, std::move(fire));
  if (timers_.begin()->first == id) TimersChanged();
  return id;
}

void Loop::Unschedule(TimerId id) { timers_.erase(id); }

std::optional<Tick> Loop::NextTimer() const {
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.at);
}

void Loop::FireTimersDue(Tick now) {
  while (!timers_.empty() && timers_.begin()->first.at <= now) {
    auto fire = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    fire();
  }
}

// ---------------------------------------------------------------------------------------------------------------------

namespace {

constexpr Duration kWorthALine = 50ms;

thread_local std::string turn;

// Of this thread. Waiting takes none, and neither a busy machine nor a stopped process looks like work of ours.
Duration ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void NameTurn(std::string_view what) { turn.assign(what); }
std::string_view TurnName() { return turn; }

// How much of the processor each turn took. Its time is a system call to ask for; the ordinary clock is not, and says that
// a turn cannot have taken more than has passed.
class TurnMeter {
 public:
  // What the turn that ends now took, with what others took in the millisecond before it at most; 0 for short ones.
  Duration EndTurn() {
    const Tick now = std::chrono::steady_clock::now();
    const Duration passed = now - std::exchange(turn_began_, now);
    if (now - asked_at_ < kAskEvery) return Duration(0);
    asked_at_ = now;
    const Duration spent = ProcessorTime();
    return std::min(passed, spent - std::exchange(spent_, spent));
  }

 private:
  static constexpr Duration kAskEvery = 1ms;

  Tick turn_began_ = std::chrono::steady_clock::now();
  Tick asked_at_ = turn_began_;
  Duration spent_ = ProcessorTime();  // at asked_at_
};

struct RealLoop::Clock {
  explicit Clock(asio::io_context& context) : timer(context) {}
  asio::steady_timer timer;
  Tick armed_for = Tick::max();
  bool posted = false;  // timers that are due fire in their turn
  Duration longest_turn{0};
};

RealLoop::RealLoop() : clock_(std::make_unique<Clock>(context())) {}

RealLoop::~RealLoop() {
  clock_.reset();
  context_.reset();  // suspended coroutines unwind while this object is still whole
}

Tick RealLoop::Now() const { return std::chrono::steady_clock::now(); }
Time RealLoop::WallNow() const { return std::chrono::system_clock::now(); }

// The kernel's timer is set only when it must fire earlier: one that was set for a timer that is no longer there fires
// in vain, which is cheaper than setting it anew at each change.
void RealLoop::TimersChanged() {
  const auto next = NextTimer();
  if (!next) return;
  if (*next <= Now()) {
    if (std::exchange(clock_->posted, true)) return;
    return Post([this] {
      clock_->posted = false;
      FireTimersDue(Now());
      TimersChanged();
    });
  }
  if (*next >= clock_->armed_for) return;
  clock_->armed_for = *next;
  clock_->timer.expires_at(*next);
  clock_->timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // re-armed for an earlier timer
    clock_->armed_for = Tick::max();
    FireTimersDue(Now());
    TimersChanged();
  });
}

void RealLoop::Run() {
  auto work = asio::make_work_guard(*context_);
  TurnMeter meter;
  while (!stopped() && context_->run_one() > 0) {
    const Duration took = meter.EndTurn();
    clock_->longest_turn = std::max(clock_->longest_turn, took);
    if (took > kWorthALine) log::Warn("everything else had to wait", {{"for", FormatDuration(took)}, {"what", turn}});
    turn.clear();
  }
}

Duration RealLoop::TakeLongestTurn() { return std::exchange(clock_->longest_turn, Duration(0)); }

// ---------------------------------------------------------------------------------------------------------------------

VirtualLoop::VirtualLoop(Time start) : start_(start) {}
VirtualLoop::~VirtualLoop() { context_.reset(); }

Time VirtualLoop::WallNow() const { return start_ + now_.time_since_epoch() + wall_offset_; }

void VirtualLoop::RunReady() {
  context_->restart();
  while (context_->poll() > 0) {
  }
}

bool VirtualLoop::StepTo(Tick limit) {
  const auto next = NextTimer();
  if (!next || *next > limit) return false;
  now_ = std::max(now_, *next);
  FireTimersDue(now_);
  return true;
}

void VirtualLoop::Run() {
  do RunReady();
  while (StepTo(Tick::max()));
}

bool VirtualLoop::RunUntil(const std::function<bool()>& done, Duration limit) {
  const Tick end = now_ + limit;
  do {
    RunReady();
    if (done()) return true;
  } while (StepTo(end));
  return false;
}

void VirtualLoop::Advance(Duration duration) {
  const Tick end = now_ + duration;
  do RunReady();
  while (StepTo(end));
  now_ = end;
}

}  // namespace capstan::async
