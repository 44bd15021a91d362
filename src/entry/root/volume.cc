#include "entry/root/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "entry/root/accounts.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;

constexpr auto kLockedBriefly = 10s;
constexpr unsigned kSomebody = 12'345;  // an owner other than root

// By errno: it may be otherwise later.
bool MayPass() {
  return errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == ESTALE || errno == ENOLCK || errno == ETIMEDOUT;
}

std::unexpected<Error> Unfit(const std::string& sentence) {
  return Fail(Code::kInvalid, "the volume cannot hold a root: " + sentence);
}
// The same of a call that failed.
std::unexpected<Error> Refused(const std::string& sentence) {
  const std::string text = sentence + ": " + Why();
  return MayPass() ? Fail(Code::kUnavailable, text) : Unfit(text);
}
std::unexpected<Error> NotWritable(const std::string& what) {
  return Fail(MayPass() ? Code::kUnavailable : Code::kInvalid,
              "the volume cannot be written to: " + what + ": " + Why());
}

Result<void> MakeFolder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return NotWritable("making " + path);
  return {};
}

Result<void> ProbeFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return Refused("a file cannot be made");
  struct stat found;
  if (fchown(file.fd(), kSomebody, kSomebody) != 0 || fstat(file.fd(), &found) != 0 || found.st_uid != kSomebody ||
      found.st_gid != kSomebody)
    return Unfit("it gives files to no other owner than its own; an NFS export needs no_root_squash");
  if (fchmod(file.fd(), 04755) != 0 || fstat(file.fd(), &found) != 0 || (found.st_mode & 07777) != 04755)
    return Unfit("it keeps no setuid bit, and sudo and su need theirs");
  return {};
}

Result<void> ProbeNames(const std::string& file) {
  const std::string link = file + ".link", symbolic = file + ".symbolic", taken = file + ".taken";
  if (::link(file.c_str(), link.c_str()) != 0) return Refused("it has no hard links");
  if (symlink("nowhere", symbolic.c_str()) != 0) return Refused("it has no symbolic links");
  if (rename(symbolic.c_str(), taken.c_str()) != 0 || rename(link.c_str(), taken.c_str()) != 0)
    return Refused("no file takes the place of another");
  return {};
}

Result<Descriptor> OpenRoot(const std::string& volume, const std::string& generation) {
  Descriptor root(open(RootFolder(volume, generation).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Cannot("opening the root of generation " + generation);
  return root;
}

// Somebody may have put it there. What is no folder is something, too.
Result<bool> HasSomething(const std::string& volume, const std::string& generation, const std::string& path) {
  CAPSTAN_TRY(const Descriptor root, OpenRoot(volume, generation));
  const Descriptor folder = OpenIn(root.fd(), path, O_RDONLY | O_DIRECTORY);
  if (!folder && errno == ENOENT) return false;
  if (!folder && (errno == ENOTDIR || errno == ELOOP)) return true;
  if (!folder) return Cannot("looking at " + path + " of generation " + generation);
  std::error_code failed;
  const bool empty = std::filesystem::is_empty("/proc/self/fd/" + std::to_string(folder.fd()), failed);
  if (failed)
    return Fail(Code::kUnavailable, "looking at " + path + " of generation " + generation + ": " + failed.message());
  return !empty;
}

// Whoever the volume belongs to, it is root's.
Result<void> MakeEmpty(const std::string& volume, const std::string& kept) {
  const std::string next = volume + "/meta/kept";
  if (rmdir(next.c_str()) != 0 && errno != ENOENT) return Refused("removing " + next);
  if (mkdir(next.c_str(), 0700) != 0 || chown(next.c_str(), 0, 0) != 0 || chmod(next.c_str(), 0755) != 0 ||
      rename(next.c_str(), kept.c_str()) != 0)
    return NotWritable("making " + kept);
  return {};
}

// Before the first root of a volume is current nobody has written to one, so that what its image has in a kept folder is moved. REQUIRES:
// CanBe.
Result<void> Keep(const std::string& volume, const std::string& generation, const std::string& path,
                  const std::optional<Layout>& before) {
  const std::string kept = KeptFolder(volume, path);
  const bool there = access(kept.c_str(), F_OK) == 0;
  if (before && std::ranges::find(before->keep, path) != before->keep.end()) {
    if (there) return {};
    return Fail(Code::kUnavailable, path + " is kept, and " + kept + " is not there");
  }
  if (there) return {};
  if (before) return MakeEmpty(volume, kept);
  CAPSTAN_TRY(const Descriptor root, OpenRoot(volume, generation));
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  CAPSTAN_TRY(const Descriptor above, FolderIn(root.fd(), path.substr(0, slash), true));
  struct stat found{};
  if (fstatat(above.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return Refused("looking at " + path);
  if (renameat(above.fd(), name.c_str(), AT_FDCWD, kept.c_str()) != 0) return Refused("moving " + path + " to keep");
  if (mkdirat(above.fd(), name.c_str(), found.st_mode & 07777) != 0) return Refused("making " + path);
  return {};
}

// What a folder of a Layout is.
struct Use {
  std::vector<std::string> Layout::* folders;
  std::string_view word;
  bool hides;  // what people have there would be hidden, and go with the generation
};
constexpr auto kUses = std::to_array<Use>(
    {{&Layout::keep, "kept", true}, {&Layout::node_local, "node-local", false}, {&Layout::mounts, "a mount", true}});

// Something is mounted there in each root: it must be a folder, and no link to one, or no pod could make its tree. Makes one that is missing.
Result<void> CanBe(const Use& use, const std::string& volume, const std::string& generation, const std::string& path,
                   const std::optional<Layout>& before) {
  const std::string word(use.word);
  const bool is_new = before && std::ranges::find((*before).*use.folders, path) == ((*before).*use.folders).end();
  if (is_new && use.hides) {
    CAPSTAN_TRY(const bool in_use, HasSomething(volume, before->generation, path));
    if (in_use)
      return Fail(Code::kInvalid,
                  path + " cannot be " + word + " from now on: generation " + before->generation +
                      ", which is current, has files there, which would be hidden; move them away first");
  }
  CAPSTAN_TRY(const Descriptor root, OpenRoot(volume, generation));
  Result<Descriptor> folder = FolderIn(root.fd(), path, false);
  if (folder) return {};
  const bool passes = folder.error().code() == Code::kUnavailable;
  return Fail(passes ? Code::kUnavailable : Code::kInvalid,
              path + " cannot be " + word + ": generation " + generation +
                  " has no folder there, or only by a link: " + folder.error().message());
}

// Of a root that is no longer on the volume nobody is known.
Result<AccountLocks> CarryPeopleTo(const std::string& volume, const std::optional<Layout>& before,
                                   const std::string& generation) {
  if (!before || before->generation == generation) return AccountLocks();
  const Result<Descriptor> from = OpenRoot(volume, before->generation);
  if (!from && from.error().code() == Code::kNotFound) return AccountLocks();
  if (!from) return Fail(from.error());
  CAPSTAN_TRY(const Descriptor to, OpenRoot(volume, generation));
  Result<AccountLocks> locks = CarryAccounts(from->fd(), to.fd());
  if (locks) return locks;
  return Fail(std::move(locks).error().WithContext("the people of generation " + before->generation +
                                                   " cannot be taken into " + generation));
}

}  // namespace

Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    names.push_back(entry->path().filename());
  if (failed) return Fail(Code::kUnavailable, "reading " + folder + ": " + failed.message());
  return names;
}

Result<void> StoreFile(const std::string& folder, const std::string& name, const std::string& text) {
  const std::string file = folder + "/" + name, next = file + ".next";
  unlink(next.c_str());
  const Descriptor written(open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!written || write(written.fd(), text.data(), text.size()) != ssize_t(text.size()) || fsync(written.fd()) != 0 ||
      rename(next.c_str(), file.c_str()) != 0)
    return Fail(Code::kUnavailable, "writing " + file + ": " + Why());
  const Descriptor there(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (there) fsync(there.fd());
  return {};
}

SwitchOrder LastOrder(const std::string& volume) {
  SwitchOrder order;
  std::ifstream(volume + "/meta/order") >> order.owner >> order.number;
  return order;
}

Result<std::optional<Layout>> CurrentLayout(const std::string& volume) {
  const std::string file = CurrentFile(volume);
  if (access(file.c_str(), F_OK) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return Fail(Code::kUnavailable, "looking at " + file + ": " + Why());
  }
  std::ifstream text(file);
  CAPSTAN_TRY(Layout layout, ParseLayout(std::string(std::istreambuf_iterator<char>(text), {})));
  return layout;
}

Result<Descriptor> LockVolume(const std::string& volume, VolumeLock which) {
  const bool briefly = which == VolumeLock::kCurrent;
  CAPSTAN_CHECK_OK(MakeFolder(volume + "/meta", 0700));
  CAPSTAN_CHECK_OK(MakeFolder(volume + "/meta/pods", 0700));
  CAPSTAN_CHECK_OK(MakeFolder(volume + "/roots", 0755));
  CAPSTAN_CHECK_OK(MakeFolder(volume + "/keep", 0755));
  const std::string file = briefly ? "/meta/lock" : "/meta/lock-roots";
  Descriptor lock(open((volume + file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return NotWritable("opening " + file.substr(1));
  const auto deadline = std::chrono::steady_clock::now() + (briefly ? kLockedBriefly : 0s);
  while (flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Refused("it has no locks");
    if (std::chrono::steady_clock::now() >= deadline)
      return Fail(Code::kUnavailable, "somebody else writes to the volume; try again once that has ended");
    std::this_thread::sleep_for(100ms);
  }
  return lock;
}

Result<void> ProbeVolume(const std::string& volume, const std::string& name) {
  struct statvfs how;
  if (statvfs(volume.c_str(), &how) != 0) return Refused("it cannot be asked");
  if ((how.f_flag & ST_NOSUID) != 0) return Unfit("it is mounted nosuid, and sudo and su need that");
  if ((how.f_flag & ST_NOEXEC) != 0) return Unfit("it is mounted noexec, and no program would start");
  const std::string folder = volume + "/meta/" + name;
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  CAPSTAN_CHECK_OK(MakeFolder(folder, 0700));
  Result<void> probed = ProbeFile(folder + "/file");
  if (probed) probed = ProbeNames(folder + "/file");
  std::filesystem::remove_all(folder, ignored);
  return probed;
}

Result<void> SetCurrent(const std::string& volume, const Layout& layout, const SwitchOrder& order) {
  CAPSTAN_CHECK_OK(CheckLayout(layout));
  struct stat root;
  if (lstat(RootFolder(volume, layout.generation).c_str(), &root) != 0 || !S_ISDIR(root.st_mode))
    return Fail(Code::kNotFound, "generation " + layout.generation + " is not on the volume");
  const SwitchOrder last = LastOrder(volume);
  if (!order.owner.empty() && last.owner == order.owner && last.number > order.number)
    return Fail(Code::kInvalid, "switch " + std::to_string(last.number) + " has been made, which is later than " +
                                    std::to_string(order.number));
  CAPSTAN_TRY(const std::optional<Layout> before, CurrentLayout(volume));
  for (const Use& use : kUses) {
    for (const std::string& path : layout.*use.folders)
      CAPSTAN_CHECK_OK(CanBe(use, volume, layout.generation, path, before));
  }
  for (const std::string& path : layout.keep) CAPSTAN_CHECK_OK(Keep(volume, layout.generation, path, before));
  CAPSTAN_TRY(const AccountLocks locks, CarryPeopleTo(volume, before, layout.generation));
  CAPSTAN_CHECK_OK(StoreFile(volume + "/meta", "order", order.owner + " " + std::to_string(order.number) + "\n"));
  return StoreFile(volume + "/meta", "current", LayoutText(layout));
}

}  // namespace capstan::entry
