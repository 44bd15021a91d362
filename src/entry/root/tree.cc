#include "entry/root/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "entry/descriptor.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"

namespace capstan::entry {
namespace {

// A copy of the mounts there, with these attributes.
Result<Descriptor> Take(const std::string& from, uint64_t attributes) {
  Descriptor taken(
      int(syscall(SYS_open_tree, AT_FDCWD, from.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
  if (!taken) return Cannot("taking " + from);
  mount_attr wanted{};
  wanted.attr_set = attributes;
  if (attributes != 0 &&
      syscall(SYS_mount_setattr, taken.fd(), "", AT_EMPTY_PATH | AT_RECURSIVE, &wanted, sizeof wanted) != 0)
    return Cannot("making " + from + " read-only");
  return taken;
}

Result<void> Put(const Descriptor& taken, const Descriptor& to, const std::string& what) {
  if (syscall(SYS_move_mount, taken.fd(), "", to.fd(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return Cannot("mounting " + what);
  return {};
}

Result<void> Mount(const BindMount& bind, int root) {
  CAPSTAN_TRY(const Descriptor from, Take(bind.from, bind.read_only ? MOUNT_ATTR_RDONLY : 0));
  CAPSTAN_TRY(const Descriptor to, FolderIn(root, bind.to, bind.links));
  return Put(from, to, bind.from + " at " + bind.to);
}

// A file system that is this mount alone: it ends with the last mount namespace that has it. What is about to be moved over / hides it.
Result<void> Begin(TreeWatch& watch) {
  const char* folder = watch.folder.c_str();
  if (mount("capstan-root", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k,mode=0") != 0)
    return Cannot("mounting at " + watch.folder);
  watch.number = inotify_add_watch(watch.notify, folder, IN_DELETE_SELF | IN_ONLYDIR);
  return {};
}

}  // namespace

Result<void> MountReadOnly(const std::string& from, const std::string& to) {
  CAPSTAN_TRY(const Descriptor taken, Take(from, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID));
  const Descriptor place(open(to.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) return Cannot("opening " + to);
  return Put(taken, place, from + " at " + to);
}

// The tree is moved over /: containers' default filters of system calls allow that to who has CAP_SYS_ADMIN, and not pivot_root.
Result<void> EnterTree(const Tree& tree, TreeWatch* watch) {
  if (unshare(CLONE_NEWNS) != 0) return Cannot("making a mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return Cannot("keeping mounts from going up");
  const char* folder = tree.root.c_str();
  if (mount(folder, folder, nullptr, MS_BIND | MS_REC, nullptr) != 0) return Cannot("mounting " + tree.root);
  const Descriptor root(open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Cannot("opening " + tree.root);
  for (const BindMount& bind : tree.mounts) CAPSTAN_CHECK_OK(Mount(bind, root.fd()));
  if (watch != nullptr && watch->notify >= 0) CAPSTAN_CHECK_OK(Begin(*watch));
  if (fchdir(root.fd()) != 0 || mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || chroot(".") != 0)
    return Cannot("making it /");
  return {};
}

}  // namespace capstan::entry
