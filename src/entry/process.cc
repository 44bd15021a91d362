#include "entry/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/spawn_attributes.h"
#include "base/text.h"
#include "entry/files.h"

extern char** environ;

namespace capstan::entry {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kDaemonFolders = "/usr/local/sbin:/usr/sbin:/sbin:/opt/slurm/sbin";
constexpr size_t kMaxOutput = size_t{64} * 1024;
constexpr std::chrono::milliseconds kStopCheck{50};

std::string Reason(int error) { return strerror(error); }  // NOLINT(concurrency-mt-unsafe): one thread

// `output` >= 0 becomes the child's standard output, with /dev/null as its input, and `errors` >= 0 its standard error.
Result<pid_t> SpawnWith(const std::vector<std::string>& argv, int output, int errors = -1) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);

  const SpawnAttributes attributes;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output >= 0) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
  }
  if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, 2);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0].c_str(), &actions, attributes.get(), pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Fail(Code::kUnavailable, "cannot start " + argv[0] + ": " + Reason(error));
  return pid;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Reads until the end; false when the deadline, the size limit or a held stop signal came first.
bool ReadAll(int fd, Clock::time_point deadline, std::string* text) {
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {.fd = fd, .events = POLLIN, .revents = 0};
    if (left <= 0 || text->size() > kMaxOutput || PendingStopSignal()) return false;
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left, kStopCheck.count())));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    if (ready < 0) return false;
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count == 0) return true;
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text->append(buffer, static_cast<size_t>(count));
  }
}

bool IsOfOurUser(pid_t pid) {
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/status");
  return !text || ParseRealUid(*text).value_or(getuid()) == getuid();
}

}  // namespace

void Say(std::string_view text) {
  const std::string line = "capstan-entry: " + std::string(text) + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

Result<std::string> FindProgram(std::string_view name) {
  const char* path = getenv("PATH");
  const std::string folders = (path == nullptr ? "" : std::string(path) + ":") + std::string(kDaemonFolders);
  for (const std::string_view folder : Split(folders, ':')) {
    std::string candidate = std::string(folder) + "/" + std::string(name);
    if (folder.starts_with('/') && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return Fail(Code::kNotFound, "no program '" + std::string(name) + "' in " + folders);
}

void HoldStopSignals() {
  const sigset_t signals = StopSignals();
  sigprocmask(SIG_BLOCK, &signals, nullptr);
}

std::optional<int> PendingStopSignal() {
  sigset_t pending;
  sigpending(&pending);
  for (const int number : {SIGTERM, SIGINT}) {
    if (sigismember(&pending, number) == 1) return number;
  }
  return std::nullopt;
}

Result<pid_t> Spawn(const std::vector<std::string>& argv) { return SpawnWith(argv, -1); }

Result<pid_t> SpawnInto(const std::vector<std::string>& argv, int output) { return SpawnWith(argv, output, output); }

Result<pid_t> SpawnHeard(const std::vector<std::string>& argv, int errors) { return SpawnWith(argv, -1, errors); }

ScopedVariable::ScopedVariable(const char* name, const std::string& value) : name_(name) {
  if (const char* found = getenv(name); found != nullptr) before_ = found;  // NOLINT(concurrency-mt-unsafe): one thread
  setenv(name, value.c_str(), 1);                                           // NOLINT(concurrency-mt-unsafe)
}

ScopedVariable::~ScopedVariable() {
  if (before_)
    setenv(name_, before_->c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  else
    unsetenv(name_);  // NOLINT(concurrency-mt-unsafe)
}

Result<std::string> RunAndRead(const std::vector<std::string>& argv, std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(Code::kInternal, "no pipe: " + Reason(errno));
  const Result<pid_t> pid = SpawnWith(argv, ends[1]);
  close(ends[1]);
  std::string output;
  const bool complete = pid && ReadAll(ends[0], Clock::now() + limit, &output);
  close(ends[0]);
  if (!pid) return Fail(pid.error());
  if (!complete) kill(*pid, SIGKILL);
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string command = Join(argv, " ");
  if (PendingStopSignal()) return Fail(Code::kCancelled, "told to stop during " + command);
  if (!complete) {
    return Fail(Code::kDeadline, command + " was not done within " + std::to_string(limit.count()) + " ms");
  }
  if (status != 0) return Fail(Code::kUnavailable, command + " failed; it printed: " + output);
  return output;
}

std::optional<ProcessEntry> ParseStat(std::string_view text) {
  // "<pid> (<command>) <state> <parent> ...", and the command may hold anything, also ") ".
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto pid = ParseInt(Trim(text.substr(0, open)));
  const auto rest = Words(text.substr(close + 1));
  if (!pid || rest.size() < 2) return std::nullopt;
  const auto parent = ParseInt(rest[1]);
  if (!parent) return std::nullopt;
  return ProcessEntry{.pid = static_cast<pid_t>(*pid),
                      .parent = static_cast<pid_t>(*parent),
                      .command = std::string(text.substr(open + 1, close - open - 1))};
}

std::optional<ProcessEntry> ReadProcess(pid_t pid) {
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/stat");
  return text ? ParseStat(*text) : std::nullopt;
}

bool IsDescendant(pid_t pid) {
  for (auto entry = ReadProcess(pid); entry && entry->parent > 0; entry = ReadProcess(entry->parent)) {
    if (entry->parent == getpid()) return true;
  }
  return false;
}

std::optional<uid_t> ParseRealUid(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("Uid:")) continue;
    const auto ids = Words(line.substr(line.find(':') + 1));
    const auto real = ids.empty() ? std::nullopt : ParseInt(ids[0]);
    return real ? std::optional(static_cast<uid_t>(*real)) : std::nullopt;
  }
  return std::nullopt;
}

bool HasChild(std::string_view prefix) {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return false;
  bool found = false;
  while (const dirent* item = found ? nullptr : readdir(proc)) {  // NOLINT(concurrency-mt-unsafe): one thread
    const auto pid = ParseInt(item->d_name);
    const auto entry = pid ? ReadProcess(static_cast<pid_t>(*pid)) : std::nullopt;
    found = entry && entry->parent == getpid() && entry->command.starts_with(prefix) && IsOfOurUser(entry->pid);
  }
  closedir(proc);
  return found;
}

}  // namespace capstan::entry
