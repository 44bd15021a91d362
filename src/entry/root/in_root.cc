#include "entry/root/in_root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

#include "base/text.h"
#include "entry/root/failed.h"

namespace capstan::entry {
namespace {

Descriptor Open(int root, const std::string& path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = uint64_t(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | resolve;
  return Descriptor(int(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

}  // namespace

Descriptor OpenIn(int root, const std::string& path, int flags) {
  return Open(root, path, flags, RESOLVE_NO_MAGICLINKS);
}

Result<Descriptor> FolderIn(int root, const std::string& path, bool links) {
  const uint64_t resolve = links ? RESOLVE_NO_MAGICLINKS : RESOLVE_NO_SYMLINKS;
  std::string so_far;
  Descriptor folder = OpenIn(root, "/", O_PATH | O_DIRECTORY);
  for (const std::string_view name : Split(path, '/')) {
    if (name.empty()) continue;
    if (name == "..") return Fail(Code::kInvalid, path + " leads out of its root");
    so_far += "/" + std::string(name);
    Descriptor next = Open(root, so_far, O_PATH | O_DIRECTORY, resolve);
    if (!next && errno == ENOENT) {
      if (mkdirat(folder.fd(), std::string(name).c_str(), 0755) != 0 && errno != EEXIST)
        return Cannot("making " + so_far + " in the root");
      next = Open(root, so_far, O_PATH | O_DIRECTORY, resolve);
    }
    if (!next) return Cannot("opening " + so_far + " in the root");
    folder = std::move(next);
  }
  if (!folder) return Cannot("opening the root");
  return folder;
}

}  // namespace capstan::entry
