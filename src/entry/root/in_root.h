// Folders below a root that others write to, without ever leaving it: openat2 with RESOLVE_IN_ROOT and without magic links, so that
// neither `..` nor a link leads out. Linux 5.6 or newer. For any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

// A file or folder at `path`, opened with `flags`; links are followed within the root. Empty, with errno: there is none.
Descriptor OpenIn(int root, const std::string& path, int flags);

// The folder at `path`, with O_PATH; it and those above it are made where they are missing. kInvalid: it has a "..". Without `links` one on
// the way is a failure: whoever may write there would say where it leads.
Result<Descriptor> FolderIn(int root, const std::string& path, bool links);

}  // namespace capstan::entry
