// A file tree as it is, somewhere else: owners, modes, times, hard links, holes, extended attributes and file capabilities.
//
// For what an image has at its `/`. Only of the mount that `from` is on: of a folder on which something is mounted an empty one is
// made, and a file that is a mount is left out. Sockets are left out, as are attributes of who stores the tree (trusted.*) and labels
// that the other volume gives itself (security.selinux).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

struct Copied {
  uint64_t files = 0, bytes = 0;  // of all kinds, folders too; of their contents

  friend bool operator==(const Copied&, const Copied&) = default;
};

struct CopyOptions {
  int writers = 32;  // threads, each on a folder at a time: network file systems answer slowly, and many at once
  std::vector<std::string> empty;     // "/proc": the folder is made, and nothing in it
  std::vector<std::string> left_out;  // "/capstan": not made
};

// `to` is made. The first failure ends it, and names the file: kUnavailable for a volume that is full, kInternal for all else; what
// was copied by then stays. REQUIRES: nobody else writes to either; CHOWN, DAC_OVERRIDE, FOWNER, FSETID, MKNOD, SETFCAP.
Result<Copied> CopyTree(const std::string& from, const std::string& to, const CopyOptions& options);

}  // namespace capstan::entry
