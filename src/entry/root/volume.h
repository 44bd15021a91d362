// The volume of a shared root, for the Jobs that write to it: one at a time, and only to one that can hold a root.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "entry/descriptor.h"
#include "entry/root/layout.h"

namespace capstan::entry {

// Makes the folders of a volume (layout.h) and keeps everybody else from writing until this is destroyed. kUnavailable: somebody else
// writes; all other failures say what the volume does not let us do.
Result<Descriptor> LockVolume(const std::string& volume);

// Tries with a folder of its own what a root needs: owners, setuid programs, hard links, symbolic links, a file that takes another
// one's place. kInvalid: what it does not keep, in one sentence.
Result<void> ProbeVolume(const std::string& volume);

// Whose wish a switch is, and which of theirs: a later one has the greater number.
struct SwitchOrder {
  std::string owner;  // a uid
  int64_t number = 0;
};

// From then on `layout` is current. A folder that is kept has one copy: where nothing is current yet, what the image has there; later an
// empty one. Another generation gets the people of the one that was current (accounts.h). kNotFound: its generation is not there, whole.
// kInvalid: a later switch of the same owner has been made, which stays; or a folder is kept from now on in which the current root
// has files; or accounts clash. REQUIRES: the lock.
Result<void> SetCurrent(const std::string& volume, const Layout& layout, const SwitchOrder& order);

}  // namespace capstan::entry
