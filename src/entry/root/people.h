// The people of a shared root as the image knows them: sshd stays in the image, and lets in whom the root has.
//
// libnss-extrausers reads their files in a folder of the image's, /var/lib/extrausers, which no session sees: a volume that hangs holds up
// no login of somebody whom the image knows, and nobody in the root writes there.
#pragma once

#include <string>

#include "base/result.h"
#include "entry/root/layout.h"

namespace capstan::entry {

// Writes passwd, shadow and group of the current root, people alone, to `folder`, when they have changed. An Error says why they
// cannot be read; what was there stays.
Result<void> ShowPeople(const std::string& volume, const Layout& layout, const std::string& folder);

}  // namespace capstan::entry
