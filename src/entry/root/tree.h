// The mount tree of a shared root: a mount namespace whose / is a folder.
//
// Paths below the folder are followed within it (openat2: RESOLVE_IN_ROOT, no magic links): neither `..` nor a link of somebody who
// may write there leads anywhere else. Only folders are mounted on, and never files: a file that is a mount point goes away when
// somebody replaces it elsewhere. Linux 5.12 or newer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

// A folder of the caller's view, with all that is mounted below it, at a place in the root. It is made there where it is missing.
struct BindMount {
  std::string from;  // "/run"
  std::string to;    // "/run"
  bool read_only = false;
  bool links = false;  // its place may be behind links within the root
};

struct Tree {
  std::string root;               // the folder that becomes /
  std::vector<BindMount> mounts;  // in this order
};

// The mounts at `from`, with all below, at the folder `to` of this mount namespace; nobody can write to them, and no program there becomes
// root. REQUIRES: CAP_SYS_ADMIN.
Result<void> MountReadOnly(const std::string& from, const std::string& to);

// Tells when a tree has ended: when no process and no open file has it any more, nor a copy of it (unshare).
struct TreeWatch {
  int notify = -1;     // an inotify instance, which then has an event IN_UNMOUNT of `number`; -1: nobody is told
  std::string folder;  // of the caller's view: nobody in the tree sees what is mounted there
  int number = -1;     // set by EnterTree; -1: the kernel has no watch to give, and nobody is told
};

// Makes the tree, with the calling process in it: in a mount namespace of its own, which ends with the last process there and the last
// open file of it. Failures say which step it was; the process is then good for nothing but its end. REQUIRES: CAP_SYS_ADMIN, one
// thread. Blocks for as long as the mounts take.
Result<void> EnterTree(const Tree& tree, TreeWatch* watch = nullptr);

}  // namespace capstan::entry
