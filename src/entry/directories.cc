#include "entry/directories.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr mode_t kMode = 0755;

struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

}  // namespace

Result<void> OwnDirectory(const std::string& path, uid_t owner) {
  const bool made = mkdir(path.c_str(), kMode) == 0;
  if (!made && errno != EEXIST) {
    Say("cannot make " + path + ": " + strerror(errno));
    return {};
  }
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.fd < 0)
    return Fail(Code::kInvalid, path + " must be a folder, and cannot be opened as one: " + strerror(errno));
  struct stat found;
  if (fstat(folder.fd, &found) != 0) return {};
  const bool root = geteuid() == 0;
  if (root && (made || found.st_uid != owner) && fchown(folder.fd, owner, owner) != 0)
    Say("cannot give " + path + " to uid " + std::to_string(owner) + ": " + strerror(errno));
  if ((root || found.st_uid == geteuid()) && (found.st_mode & 07777) != kMode && fchmod(folder.fd, kMode) != 0)
    Say("cannot set the mode of " + path + ": " + strerror(errno));
  return {};
}

}  // namespace capstan::entry
