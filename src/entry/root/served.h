// The shared root of a container: the tree of mounts that pam_capstan_root.so lets sessions and steps join, as the volume says.
//
// The volume is looked at every two seconds. What is current there and has no tree yet gets one; a session or step keeps the tree
// that it began in, and once nothing has it any more the pod's report names its generation no longer (root/reports.h). A tree that cannot be made changes nothing, and is said once for each reason. /run/capstan/etc has the container's
// hosts, hostname and resolv.conf, to which a root's links lead. sshd knows the people of the root that the tree is of
// (root/people.h). For one thread, which polls and reaps.
#pragma once

#include <poll.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"
#include "entry/mounted.h"
#include "entry/root/look.h"

namespace capstan::entry {

class ServedRoot {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string volume;                       // "/capstan/root"
    std::string pod = "";                     // its uid; without one it makes no report
    std::string links = "/run/capstan/root";  // of the module
    std::string pod_files = "";               // in front of what is written; for tests
  };

  // From then on no session begins without a root. An Error: the folder of the links cannot be made.
  static Result<ServedRoot> Begin(Options options);

  void AddTo(std::vector<pollfd>* waiting) const;
  std::optional<Clock::time_point> next() const { return next_; }
  void Serve(Clock::time_point now);

  // There is a tree: sessions and steps may begin.
  bool stands() const { return bool(tree_); }
  // And the volume answers.
  bool ready() const { return stands() && !silent_; }

 private:
  explicit ServedRoot(Options options);
  void Take(Result<Looked> looked, Clock::time_point now);
  void SeeEnds();
  Result<Look> BeginLook(Clock::time_point now);
  Result<void> Lead(int tree) const;
  void SayOnce(const std::string& text);

  Options options_;
  Mounted files_;
  std::optional<Look> look_;
  Clock::time_point begun_;
  std::optional<Clock::time_point> next_;
  bool silent_ = false;
  std::string current_;       // of tree_
  Descriptor tree_, former_;  // the one before: who read the link just now opens it
  Clock::time_point former_since_;
  Descriptor ends_;                    // inotify; none where the kernel has none to give
  std::map<int, std::string> in_use_;  // the generations of trees that have not ended, by their watches
  std::set<std::string> unwatched_;    // those of trees whose end nobody tells
  std::set<std::string> reported_;     // as the look that goes on does, or the last one did
  bool reports_ = false;               // that one does
  Clock::time_point report_at_;        // again
  std::string said_;
};

}  // namespace capstan::entry
