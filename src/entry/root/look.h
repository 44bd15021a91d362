// One look at the volume of a shared root, by a process of its own: a volume that does not answer holds up nobody else.
//
// It reads what is current, and where that is not what is known it makes the tree: kept folders are mounted in the container's own view too,
// where daemons look for them (but /root, and what is below /usr), and then the mount namespace is made (tree.h). Before that the pod's
// report names its generation.
// For one thread, which polls. Its process is reaped by whoever reaps all.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

struct Looking {
  std::string volume;
  std::string known;             // the text of Layout whose tree there is already, or ""
  std::string people;            // the folder that shows who has an account (people.h)
  std::string pod;               // the uid of whose report this is (reports.h); "": it has none
  std::set<std::string> in_use;  // generations of trees that have not ended
  bool reports = false;          // also where there is no new tree
  int notify = -1;               // an inotify instance that is told when a tree has ended; -1: nobody is
  std::string hidden;            // a folder for that (TreeWatch), in which an empty one is made
};

struct Looked {
  std::string current;  // the current text of Layout
  std::string trouble;  // why it could not be written
  int watch = -1;       // of the tree, for `notify`; -1: there is none
  // Its mount namespace, which lives as long as this and the processes in it; empty where the text is the known one. Others join by
  // /proc/<our pid>/fd/<number>. (Another way is a file that it is bound to; but Linux 6.18 refuses that where its number is below that
  // of our own namespace, and numbers are not in the order of time across processors.)
  Descriptor tree;
};

class Look {
 public:
  // REQUIRES: one thread.
  static Result<Look> Begin(Looking looking);

  void AddTo(std::vector<pollfd>* waiting) const;
  // What it saw, once; nullopt: not yet. kNotFound: nothing is current yet. kUnavailable: the volume cannot be read.
  std::optional<Result<Looked>> Turn();

 private:
  Look(pid_t process, Descriptor hears, Descriptor holds, std::string known)
      : process_(process), hears_(std::move(hears)), holds_(std::move(holds)), known_(std::move(known)) {}
  Result<Looked> Read(std::string_view told);

  pid_t process_;
  Descriptor hears_;  // the end of what it says
  Descriptor holds_;  // it stays until this is closed
  std::string known_;
  std::string heard_;
};

}  // namespace capstan::entry
