// The volume of a shared root, for the Jobs that write to it: of each kind one at a time (VolumeLock), and only to one that can hold a root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"
#include "entry/root/layout.h"

namespace capstan::entry {

enum class VolumeLock : uint8_t {
  kCurrent,  // what is current, and which generations are there: for moments
  kRoots,    // the files of generations: for as long as it takes to write or to remove them. Taken before kCurrent
};

// Makes the folders of a volume (layout.h) and keeps everybody else from the same until this is destroyed. kUnavailable: somebody else
// has the lock, kCurrent still after ten seconds; all other failures say what the volume does not let us do.
Result<Descriptor> LockVolume(const std::string& volume, VolumeLock lock);

// Tries with a folder of its own, meta/<name>, what a root needs: owners, setuid programs, hard links, symbolic links, a file that takes
// another one's place. kInvalid: what it does not keep, in one sentence.
Result<void> ProbeVolume(const std::string& volume, const std::string& name = "probe");

// Whose wish a switch is, and which of theirs: a later one has the greater number.
struct SwitchOrder {
  std::string owner;  // a uid
  int64_t number = 0;

  friend bool operator==(const SwitchOrder&, const SwitchOrder&) = default;
};

// The switch that was made last; nobody's where there is none that can be read.
SwitchOrder LastOrder(const std::string& volume);

// What is current; nullopt: nothing is yet.
Result<std::optional<Layout>> CurrentLayout(const std::string& volume);

// The names in a folder, without . and ..; all of them, or an Error.
Result<std::vector<std::string>> NamesIn(const std::string& folder);

// The file takes the place of the one of that name in one step, and is stored then.
Result<void> StoreFile(const std::string& folder, const std::string& name, const std::string& text);

// From then on `layout` is current. A folder that is kept has one copy: where nothing is current yet, what the image has there; later an
// empty one. Another generation gets the people of the one that was current (accounts.h). kNotFound: its generation is not there, whole.
// kInvalid, and what was current stays so: a later switch of the same owner has been made, which stays; a folder is kept, or a mount, from now on
// in which the current root has files; a folder of the Layout is a file or a link in the generation; accounts clash. REQUIRES: kCurrent.
Result<void> SetCurrent(const std::string& volume, const Layout& layout, const SwitchOrder& order);

}  // namespace capstan::entry
