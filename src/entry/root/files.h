// Files of a shared root that are somebody's ConfigMaps (spec.files of a SharedRoot).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

struct PutFile {
  unsigned mode = 0644;
  std::string sha256;  // of its text, in hex
  std::string from;    // a file of the caller's view
  std::string to;      // its path in the root
};

// Puts the files in place, each in one step; those that are there already, root's and of that mode, are left alone. Folders on the way are made;
// links are followed within the root. Returns how many were written. A file that cannot be written keeps no other one from it; the Error then says
// of each why: kInvalid where all of them can never be, such as where a folder is in the way. kUnavailable: a text has another digest, as its
// source changes. kNotFound: the generation is not there. REQUIRES: VolumeLock::kCurrent.
Result<size_t> PutFiles(const std::string& volume, const std::string& generation, const std::vector<PutFile>& files);

}  // namespace capstan::entry
