#include "entry/registration.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

using std::chrono::seconds;

constexpr seconds kAnyway{600};
constexpr seconds kBetween{20};                             // of those who ask, at the most so often
constexpr int64_t kAgainLeast = 5000, kAgainMost = 15'000;  // ms
constexpr seconds kFirstPause{60}, kLongestPause{1800};
constexpr seconds kLimit{20};

}  // namespace

Known KnownBy(int exit_status, std::string_view said, std::string_view node) {
  if (exit_status == 0) return Known::kYes;
  // Whatever else it says, as when slurmctld cannot be reached, is about no node.
  const std::string missing = "Node " + std::string(node) + " not found";
  const auto says_so = [&](std::string_view line) { return Trim(line) == missing; };
  return std::ranges::any_of(Split(said, '\n'), says_so) ? Known::kNo : Known::kNobodyKnows;
}

Result<Registration> Registration::Begin(Options options, Clock::time_point now) {
  const int output = memfd_create("scontrol", MFD_CLOEXEC);
  if (output < 0) return Fail(Code::kInternal, std::string("no memory file: ") + strerror(errno));
  return Registration(std::move(options), output, now);
}

Registration::Registration(Options options, int output, Clock::time_point now)
    : options_(std::move(options)),
      random_(options_.seed),
      output_(output),
      look_at_(now + kAnyway + std::chrono::milliseconds(random_.Below(kAnyway.count() * 1000))) {}

Registration::Registration(Registration&& other) noexcept
    : options_(std::move(other.options_)),
      random_(other.random_),
      output_(std::exchange(other.output_, -1)),
      child_(std::exchange(other.child_, 0)),
      limit_(other.limit_),
      look_at_(other.look_at_),
      asked_(other.asked_),
      missing_(other.missing_),
      lost_(other.lost_),
      pause_(other.pause_),
      not_before_(other.not_before_),
      told_(other.told_) {}

Registration::~Registration() {
  if (child_ > 0) kill(child_, SIGKILL);
  if (output_ >= 0) close(output_);
}

void Registration::Suspect(Clock::time_point now) {
  if (child_ == 0 && now >= asked_ + kBetween) look_at_ = std::min(look_at_, now);
}

std::optional<Registration::Clock::time_point> Registration::next() const {
  if (child_ != 0) return limit_;
  return look_at_;
}

bool Registration::Serve(bool able, const std::function<bool()>& steps, Clock::time_point now) {
  if (child_ != 0) {
    if (limit_ && now >= *limit_) kill(child_, SIGKILL), limit_.reset();
    return false;
  }
  if (!able) {
    missing_ = lost_ = false;
    look_at_ = std::max(look_at_, now + seconds(1));
    return false;
  }
  if (std::exchange(lost_, false)) {
    missing_ = false;
    if (options_.state_kept && steps()) {
      if (!std::exchange(told_, true))
        Say("slurmctld has no record of " + options_.node +
            ": it came up without its state, perhaps with a wrong or an empty volume. Job steps are here, which it "
            "would "
            "end if slurmd registered now, so that it does when they have ended");
      return false;
    }
    pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
    not_before_ = now + pause_;
    Say("slurmctld has no record of " + options_.node + " any more: slurmd is started anew, to register");
    return true;
  }
  if (now >= look_at_) Ask(now);
  return false;
}

void Registration::Ask(Clock::time_point now) {
  asked_ = now;
  look_at_ = now + kAnyway + std::chrono::milliseconds(random_.Below(kAnyway.count() * 1000));
  [[maybe_unused]] const int truncated = ftruncate(output_, 0);
  lseek(output_, 0, SEEK_SET);
  const Result<pid_t> child = SpawnInto({options_.scontrol, "show", "node", options_.node}, output_);
  if (!child) return Say(child.error().message());
  child_ = *child;
  limit_ = now + kLimit;
}

void Registration::OnReaped(pid_t pid, int exit_status, Clock::time_point now) {
  if (child_ == 0 || pid != child_) return;
  child_ = 0;
  limit_.reset();
  switch (KnownBy(exit_status, Output(), options_.node)) {
    case Known::kYes:
      missing_ = lost_ = told_ = false;
      pause_ = seconds(0);
      return;
    case Known::kNobodyKnows:
      missing_ = lost_ = false;
      return;
    case Known::kNo:
      lost_ = std::exchange(missing_, true) && now >= not_before_;
      if (!lost_)
        look_at_ = std::max(not_before_, now) +
                   std::chrono::milliseconds(kAgainLeast + int64_t(random_.Below(kAgainMost - kAgainLeast)));
  }
}

std::string Registration::Output() const {
  std::array<char, 1024> text;
  const ssize_t size = pread(output_, text.data(), text.size(), 0);
  return size <= 0 ? std::string() : std::string(text.data(), size_t(size));
}

}  // namespace capstan::entry
