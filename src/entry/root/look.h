// One look at the volume of a shared root, by a process of its own: a volume that does not answer holds up nobody else.
//
// It reads what is current, and where that is not what is known it makes the tree: kept folders are mounted in the container's own view too,
// where daemons look for them (but /root, and what is below /usr), and then the mount namespace is made (tree.h).
// For one thread, which polls. Its process is reaped by whoever reaps all.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

struct Looked {
  std::string current;  // the current text of Layout
  // Its mount namespace, which lives as long as this and the processes in it; empty where the text is the known one. Others join by
  // /proc/<our pid>/fd/<number>. (Another way is a file that it is bound to; but Linux 6.18 refuses that where its number is below that
  // of our own namespace, and numbers are not in the order of time across processors.)
  Descriptor tree;
};

class Look {
 public:
  // `known`: the text whose tree there is already, or "". `people`: the folder that shows who has an account (people.h). REQUIRES: one
  // thread.
  static Result<Look> Begin(const std::string& volume, const std::string& known, const std::string& people);

  void AddTo(std::vector<pollfd>* waiting) const;
  // What it saw, once; nullopt: not yet. kNotFound: nothing is current yet. kUnavailable: the volume cannot be read.
  std::optional<Result<Looked>> Turn();

 private:
  Look(pid_t process, Descriptor hears, Descriptor holds, std::string known)
      : process_(process), hears_(std::move(hears)), holds_(std::move(holds)), known_(std::move(known)) {}

  pid_t process_;
  Descriptor hears_;  // the end of what it says
  Descriptor holds_;  // it stays until this is closed
  std::string known_;
  std::string heard_;
};

}  // namespace capstan::entry
