// Child processes, and what /proc tells about others. For one thread; nothing here uses more.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

// One line to standard error, where a container's log is: "capstan-entry: <text>".
void Say(std::string_view text);

// The path of a program, from $PATH and then the usual folders of daemons. kNotFound names all that were
// tried.
Result<std::string> FindProgram(std::string_view name);

// Starts argv[0] (a path) with default signal handling and an empty signal mask, in a process group of its
// own, so that a terminal's ^C reaches it only through us. The caller reaps it.
Result<pid_t> Spawn(const std::vector<std::string>& argv);

// The same; what it prints goes to `output`, and it reads nothing.
Result<pid_t> SpawnInto(const std::vector<std::string>& argv, int output);

// The same as Spawn; what it writes to standard error goes to `errors`.
Result<pid_t> SpawnHeard(const std::vector<std::string>& argv, int errors);

// A variable of the environment that is another while this lives, for who is spawned meanwhile.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value);
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable();

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Blocks SIGTERM and SIGINT, so that they are pending from then on. As PID 1 a process would lose them, any other
// would end without a word to its children.
void HoldStopSignals();

// Which of the two is pending; nullopt: none.
std::optional<int> PendingStopSignal();

// Runs argv to its end and returns its standard output, at most 64 KiB; it reads nothing from standard input.
// An error when it fails, says more, or takes longer than `limit` (it is killed then); kCancelled when a held
// stop signal came before or meanwhile, which stays pending. REQUIRES: SIGCHLD is not awaited elsewhere meanwhile.
Result<std::string> RunAndRead(const std::vector<std::string>& argv, std::chrono::milliseconds limit);

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string command;  // at most 15 characters, as in /proc/<pid>/comm
};

// The text of /proc/<pid>/stat; nullopt when it is not one.
std::optional<ProcessEntry> ParseStat(std::string_view text);

// What /proc says of `pid`; nullopt when there is no such process.
std::optional<ProcessEntry> ReadProcess(pid_t pid);

// True when `pid` is a child of this process, or a child's child, and so on.
bool IsDescendant(pid_t pid);

// The real user id in the text of /proc/<pid>/status; nullopt when it says none.
std::optional<uid_t> ParseRealUid(std::string_view text);

// True when a child of this process, of the same real user, has a command name that starts with `prefix`: a job may call its own processes
// whatever it likes, and leave them behind as our children. (The effective user of slurmstepd is the job's at times.) One whose user cannot be
// read counts.
bool HasChild(std::string_view prefix);

}  // namespace capstan::entry
