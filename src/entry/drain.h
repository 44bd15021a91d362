// What a login pod does before it is stopped: it waits for the people in it.
//
// The pod has left its Service by then, and nobody new comes. It waits until no session is left, at most for as long as it was
// given. Each terminal is told at the start, an hour and ten minutes before the end. Without slurmctld a login is of little
// use, and the whole cluster may be going: when it has not answered for ten minutes the wait ends too.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

struct DrainWorld {
  std::function<std::chrono::system_clock::time_point()> now;
  std::function<void(std::chrono::seconds)> sleep;
  std::function<size_t()> sessions;
  std::function<void(const std::string&)> tell;  // every terminal
  std::function<bool()> slurmctld_answers;       // asked once a minute
};

// Returns why it ended: for the log.
std::string WaitForSessions(std::chrono::seconds limit, const DrainWorld& world);

// True for the text of /proc/<pid>/status of an ssh session's process that belongs to root: sshd keeps one for each
// connection. What a user calls so is none.
bool IsSshSession(std::string_view status);

// `arguments`: the seconds that it may take, 1 to 30 days. Returns exit status 0; kInvalid for other arguments.
Result<int> DrainLogins(const std::vector<std::string>& arguments);

}  // namespace capstan::entry
