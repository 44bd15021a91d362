#include "entry/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "base/text.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kDone =
    "done";  // what the child says when its tree stands; anything else is why it does not

std::unexpected<Error> Cannot(const std::string& what) {
  return Fail(errno == ENOENT ? Code::kNotFound : Code::kInternal, what + ": " + strerror(errno));
}

Descriptor OpenIn(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return Descriptor(int(syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
}

// The folder at `path` within `root`; it and those above it are made where they are missing.
Result<Descriptor> FolderIn(int root, const std::string& path) {
  std::string so_far;
  Descriptor folder = OpenIn(root, "/");
  for (const std::string_view name : Split(path, '/')) {
    if (name.empty()) continue;
    if (name == "..") return Fail(Code::kInvalid, path + " leads out of its root");
    so_far += "/" + std::string(name);
    Descriptor next = OpenIn(root, so_far);
    if (!next && errno == ENOENT) {
      if (mkdirat(folder.fd(), std::string(name).c_str(), 0755) != 0 && errno != EEXIST)
        return Cannot("making " + so_far + " in the root");
      next = OpenIn(root, so_far);
    }
    if (!next) return Cannot("opening " + so_far + " in the root");
    folder = std::move(next);
  }
  if (!folder) return Cannot("opening the root");
  return folder;
}

Result<void> Mount(const BindMount& bind, int root) {
  const Descriptor from(
      int(syscall(SYS_open_tree, AT_FDCWD, bind.from.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
  if (!from) return Cannot("taking " + bind.from);
  if (bind.read_only) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    if (syscall(SYS_mount_setattr, from.fd(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) != 0)
      return Cannot("making " + bind.from + " read-only");
  }
  CAPSTAN_TRY(const Descriptor to, FolderIn(root, bind.to));
  if (syscall(SYS_move_mount, from.fd(), "", to.fd(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return Cannot("mounting " + bind.from + " at " + bind.to);
  return {};
}

// In a process of its own.
Result<void> Build(const Tree& tree) {
  if (unshare(CLONE_NEWNS) != 0) return Cannot("making a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return Cannot("keeping mounts from going up");
  const char* folder = tree.root.c_str();
  if (mount(folder, folder, nullptr, MS_BIND | MS_REC, nullptr) != 0) return Cannot("mounting " + tree.root);
  const Descriptor root(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Cannot("opening " + tree.root);
  for (const BindMount& bind : tree.binds) CAPSTAN_CHECK_OK(Mount(bind, root.fd()));
  if (fchdir(root.fd()) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return Cannot("making it /");
  if (umount2(".", MNT_DETACH) != 0) return Cannot("letting go of the former /");
  return {};
}

// All that is sent until the other end is closed.
std::string ReadAll(int fd) {
  std::string text;
  char part[512];
  for (;;) {
    const ssize_t size = read(fd, part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(part, size_t(size));
  }
}

// Says how it went on `said`, and lives until `stays` ends.
[[noreturn]] void BuildAndStay(const Tree& tree, Descriptor said, int stays) {
  const auto built = Build(tree);
  const std::string text = built ? std::string(kDone) : built.error().message();
  (void)!write(said.fd(), text.data(), text.size());
  said.Close();
  char end;
  while (read(stays, &end, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

Result<Descriptor> MakeTree(const Tree& tree) {
  int said[2], stays[2];
  if (pipe2(said, O_CLOEXEC) != 0) return Cannot("making a pipe");
  Descriptor hears(said[0]), says(said[1]);
  if (pipe2(stays, O_CLOEXEC) != 0) return Cannot("making a pipe");
  Descriptor waits(stays[0]), lives(stays[1]);
  const pid_t child = fork();
  if (child < 0) return Cannot("forking");
  if (child == 0) {
    hears.Close();
    lives.Close();
    BuildAndStay(tree, std::move(says), waits.fd());
  }
  says.Close();
  const std::string how = ReadAll(hears.fd());
  Descriptor made;
  if (how == kDone)
    made = Descriptor(open(("/proc/" + std::to_string(child) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  const int why = errno;
  lives.Close();
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (made) return made;
  errno = why;
  if (how == kDone) return Cannot("taking the mount namespace of " + tree.root);
  return Fail(Code::kInternal, "the tree of " + tree.root +
                                   " cannot be made: " + (how.empty() ? "the process that makes it has ended" : how));
}

}  // namespace capstan::entry
