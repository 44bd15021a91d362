// One daemon of a container: started, signalled, heard and, by its OnEnd, started again.
//
// Only its main process itself may name its successor (notify.h), and only a process of ours. For one thread, the supervisor's,
// which reaps and polls.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "entry/last_words.h"
#include "entry/notify.h"
#include "entry/overheard.h"

namespace capstan::entry {

enum class OnEnd {
  kEnd,  // of the daemon is the end of the container
  // The same, but jobs outlive slurmd and not the container: a daemon that was not asked to end and leaves job steps
  // running is started again, five times at most, after 1, 2, 4, 8 and 16 s.
  kEndUnlessJobs,
  kStartAgain,  // for ever, after 1 s and up to a minute; the sessions of people go on meanwhile
};
// The delays and their count begin anew once a daemon has run for five minutes.

struct Service {
  std::string name;
  std::vector<std::string> argv;  // argv[0] is the program's path
  bool notifies = false;
  OnEnd on_end = OnEnd::kEnd;
  bool may_fail = false;  // once it has ended by itself, all counts as ready without it
  std::string node = {};  // of a slurmd: its name in Slurm
  std::chrono::milliseconds first_restart_delay{1000};
  std::function<bool()> refresh = {};  // true: the daemon must be told, by `reload_signal`
  int reload_signal = 0;               // after SIGTERM it is started again at once
};

// What may happen at any rate is told once a minute.
class OncePerMinute {
 public:
  // How many times it was not told since it was last told; nullopt: not now.
  std::optional<int64_t> Tell(std::chrono::steady_clock::time_point now);

 private:
  std::optional<std::chrono::steady_clock::time_point> told_;
  int64_t untold_ = 0;
};

// Its main process while it has one, else the moment when it gets one again.
class Daemon {
 public:
  using Clock = std::chrono::steady_clock;
  using Moment = std::optional<Clock::time_point>;

  // `service` must outlive this. `socket`: where it announces itself, if it does.
  Daemon(const Service& service, std::optional<NotifySocket> socket) : service_(service), socket_(std::move(socket)) {}

  Result<void> Start();
  // What it says is heard from its next start on.
  void Overhear(Overheard overheard) { overheard_.emplace(std::move(overheard)); }
  // The same as Start, with another slurm.conf unless it is "". Its end before Runs() is a start that failed, and no end.
  Result<void> TryWith(const std::string& conf);
  void Runs() { trying_ = false; }
  // How a start failed, "status 1" or "signal 11", that was not taken yet.
  std::optional<std::string> TakeFailed() { return std::exchange(failed_, std::nullopt); }
  const LastWords& words() const { return words_; }  // since it was last tried
  Clock::time_point started() const { return started_; }
  void AddTo(std::vector<pollfd>* waiting) const;
  void Signal(int number) const {
    if (main_ > 0) kill(main_, number);
  }
  void Stop(int number);
  void KillLate();
  // After each poll, in this order; OnReaped for each process that has ended, 128 + n by signal n.
  void OnNotifications();
  void Listen();
  void OnReaped(pid_t pid, int exit_status);
  void LookForMain();  // after reaping
  void OnTime(Clock::time_point now);
  void Refresh();
  void StartAnew();  // it is told to end, and started again at once; a start that fails counts as its end (OnEnd)

  pid_t main() const { return main_; }
  bool ready() const { return ready_ || (service_.may_fail && restarts_ > 0); }
  bool trying() const { return trying_; }  // it was started by TryWith, and nobody has called Runs since
  const Moment& restart_at() const { return restart_at_; }
  bool refreshes() const { return service_.refresh != nullptr; }
  // Set: it has ended, and is not started again.
  const std::optional<int>& exit_status() const { return exit_status_; }

 private:
  void OnNotification(const Notification& notification);
  void Hear(std::string_view bytes);
  void Ignore(const std::string& what);
  void OnEnded(int exit_status);

  const Service& service_;
  std::optional<NotifySocket> socket_;
  std::optional<Overheard> overheard_;
  LastWords words_;
  std::string conf_;  // its slurm.conf; "": the usual one
  bool trying_ = false;
  std::optional<std::string> failed_;
  pid_t main_ = 0;  // 0 while it waits to be started again
  pid_t predecessor_ = -1;
  int stop_signal_ = 0;      // the SIGTERM or SIGINT we were sent
  bool restarting_ = false;  // it was told to end, to be started anew
  bool ready_ = false;
  std::optional<int> exit_status_;
  int last_status_ = 0;
  int restarts_ = 0;
  OncePerMinute ignored_;
  Clock::time_point started_;
  Moment restart_at_;
};

}  // namespace capstan::entry
