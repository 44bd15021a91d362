#include "entry/drain.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "entry/files.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using WallClock = std::chrono::system_clock;

constexpr seconds kLookEvery = 2s;
constexpr seconds kAskEvery = 1min;
constexpr seconds kSilence = 10min;
constexpr auto kAskLimit = 30s;
constexpr seconds kWarnings[] = {1h, 10min};  // before the end
constexpr int64_t kMaxLimit = int64_t{30} * 24 * 3600;

std::string UtcTime(WallClock::time_point moment) {
  const time_t second = WallClock::to_time_t(moment);
  tm parts;
  gmtime_r(&second, &parts);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return std::string(text) + " UTC";
}

std::string Notice(WallClock::time_point end, seconds left) {
  return "This login is being replaced and ends at " + UtcTime(end) + " (in " + FormatDuration(left) +
         "). Your session goes on until then. A new login leads to another one.";
}

// Names in `folder` that are numbers.
std::vector<std::string> Numbers(const char* folder) {
  std::vector<std::string> names;
  DIR* open = opendir(folder);
  if (open == nullptr) return names;
  while (const dirent* item = readdir(open)) {  // NOLINT(concurrency-mt-unsafe): one thread
    if (ParseInt(item->d_name)) names.emplace_back(item->d_name);
  }
  closedir(open);
  return names;
}

size_t CountSessions() {
  return static_cast<size_t>(std::ranges::count_if(Numbers("/proc"), [](const std::string& pid) {
    const std::optional<std::string> status = ReadFile("/proc/" + pid + "/status");
    return status && IsSshSession(*status);
  }));
}

void TellTerminals(const std::string& text) {
  const std::string line = "\r\n\a" + text + "\r\n";
  for (const std::string& number : Numbers("/dev/pts")) {
    // One that takes nothing is passed over.
    const int fd = open(("/dev/pts/" + number).c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    [[maybe_unused]] const ssize_t written = write(fd, line.data(), line.size());
    close(fd);
  }
}

bool SlurmctldAnswers() {
  const Result<std::string> program = FindProgram("scontrol");
  return program && RunAndRead({*program, "ping"}, kAskLimit);
}

}  // namespace

std::string WaitForSessions(seconds limit, const DrainWorld& world) {
  const WallClock::time_point start = world.now(), end = start + limit;
  WallClock::time_point asked = start, answered = start;
  std::optional<seconds> told;  // how much time was left then
  for (;;) {
    const size_t sessions = world.sessions();
    if (sessions == 0) return "no session is left";
    const WallClock::time_point now = world.now();
    const auto left = std::chrono::ceil<seconds>(end - now);
    if (left <= 0s) return "the time is over; sessions that end with this pod: " + std::to_string(sessions);
    const auto due = [&](seconds before) { return left <= before && *told > before; };
    if (!told || std::ranges::any_of(kWarnings, due)) {
      world.tell(Notice(end, left));
      told = left;
    }
    if (now - asked >= kAskEvery) {
      asked = now;
      if (world.slurmctld_answers()) answered = asked;
      if (asked - answered >= kSilence) {
        return "slurmctld has not answered for " + FormatDuration(kSilence) +
               "; sessions that end with this pod: " + std::to_string(sessions);
      }
    }
    world.sleep(std::min(left, kLookEvery));
  }
}

bool IsSshSession(std::string_view status) {
  bool session = false, root = false;
  for (const std::string_view line : Split(status, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 2) continue;
    if (words[0] == "Name:") session = words[1] == "sshd-session";
    if (words[0] == "Uid:") root = words[1] == "0";
  }
  return session && root;
}

Result<int> DrainLogins(const std::vector<std::string>& arguments) {
  const std::optional<int64_t> limit = arguments.size() == 1 ? ParseInt(arguments[0]) : std::nullopt;
  if (!limit || *limit < 1 || *limit > kMaxLimit) {
    return Fail(Code::kInvalid, "usage: capstan-entry drain-logins SECONDS, 1 to " + std::to_string(kMaxLimit));
  }
  const DrainWorld world{.now = [] { return WallClock::now(); },
                         .sleep = [](seconds time) { sleep(static_cast<unsigned>(time.count())); },
                         .sessions = CountSessions,
                         .tell = TellTerminals,
                         .slurmctld_answers = SlurmctldAnswers};
  Say(WaitForSessions(seconds(*limit), world));
  return 0;
}

}  // namespace capstan::entry
