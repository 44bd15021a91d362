// The mount tree of a shared root: a mount namespace whose / is a folder. pam_capstan_root.so joins it.
//
// Paths below the folder are followed within it (openat2: RESOLVE_IN_ROOT, no magic links): neither `..` nor a link of somebody who
// may write there leads anywhere else. Only folders are mounted on, and never files: a file that is a mount point goes away when
// somebody replaces it elsewhere. Linux 5.12 or newer.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

// A folder of the caller's view, with all that is mounted below it, at a place in the root. It is made there where it is missing.
struct BindMount {
  std::string from;  // "/run"
  std::string to;    // "/run"
  bool read_only = false;
};

struct Tree {
  std::string root;              // the folder that becomes /
  std::vector<BindMount> binds;  // in this order
};

// Makes the tree: an open file of its mount namespace, which ends with the last of that file's owners and of the processes in it.
// Others join by /proc/<pid of an owner>/fd/<number>: a file bound to it would be another way, but Linux 6.18 refuses that bind (ELOOP)
// where the namespace's number, which is not in the order of time across processors, is below that of its maker's.
// Failures say which step it was, and leave nothing behind but empty folders. REQUIRES: CAP_SYS_ADMIN. Forks, and blocks for as long
// as the mounts take.
Result<Descriptor> MakeTree(const Tree& tree);

}  // namespace capstan::entry
