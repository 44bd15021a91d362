// Files that a daemon reads, kept equal to what is mounted.
//
// A mounted folder follows its Secret or ConfigMap while the pod runs, a mounted file does not; and neither has the owners
// and modes that sshd and sssd insist on. So folders are mounted below /mnt, and their files are copied to where the daemon
// reads them, at the start and whenever they change. What is not mounted is left as it is. For one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <span>
#include <string>

namespace capstan::entry {

struct MountedFile {
  const char* from;
  const char* to;
  mode_t mode = 0600;
  bool reload = true;           // the daemon must be told of a change
  const char* check = nullptr;  // a program: `check -t -f FILE` says whether the daemon would take the file
};

class Mounted {
 public:
  // `root` stands in front of all paths. `files` must outlive this.
  explicit Mounted(std::span<const MountedFile> files, std::string root = "") : files_(files), root_(std::move(root)) {}

  // Copies what has changed since it was last copied. A file that is gone, that cannot be copied, or that the check
  // refuses leaves the copy as it is; the last two are said, once for each content. At the first call nothing is checked:
  // a daemon does not start with what it does not take, instead of starting with another configuration. Blocks for as long
  // as the checks do, 10 s each at most. Returns whether the daemon must be told.
  bool Refresh();

 private:
  std::span<const MountedFile> files_;
  std::string root_;
  std::map<std::string, std::string> seen_;  // path, content: copied or refused
  bool first_ = true;
};

}  // namespace capstan::entry
