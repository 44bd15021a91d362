#include "entry/root/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "entry/descriptor.h"
#include "entry/root/failed.h"

namespace capstan::entry {
namespace {

constexpr size_t kBlock = 256 << 10;
constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_MNT_ID;

std::unexpected<Error> CannotAt(const std::string& what, const std::string& path) {
  return Cannot(what + " " + (path.empty() ? "/" : path));
}

Result<struct statx> Examine(int folder, const std::string& name, const std::string& path) {
  struct statx found;
  if (statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name.empty() ? AT_EMPTY_PATH : 0), kWanted,
            &found) != 0)
    return CannotAt("looking at", path);
  return found;
}

bool IsCopied(std::string_view attribute) {
  return !attribute.starts_with("trusted.") && attribute != "security.selinux";
}

// Between open files. A volume that keeps no attributes is no failure unless there are some.
Result<void> CopyAttributes(int from, int to, const std::string& path) {
  std::string names(4096, '\0');
  ssize_t size;
  while ((size = flistxattr(from, names.data(), names.size())) < 0 && errno == ERANGE) names.resize(names.size() * 2);
  if (size < 0) return errno == ENOTSUP ? Result<void>() : CannotAt("reading the attributes of", path);
  for (const char* name = names.data(); name < names.data() + size; name += strlen(name) + 1) {
    if (!IsCopied(name)) continue;
    std::string value(65'536, '\0');
    const ssize_t length = fgetxattr(from, name, value.data(), value.size());
    if (length < 0) return CannotAt("reading the attribute " + std::string(name) + " of", path);
    if (fsetxattr(to, name, value.data(), size_t(length), 0) != 0)
      return errno == ENOTSUP
                 ? Result<void>(Fail(Code::kInvalid, "the volume cannot hold a root: it does not keep the attribute " +
                                                         std::string(name) + " of " + path))
                 : CannotAt("keeping the attribute " + std::string(name) + " of", path);
  }
  return {};
}

timespec TimeOf(const statx_timestamp& time) { return {.tv_sec = time.tv_sec, .tv_nsec = long(time.tv_nsec)}; }

// Owner first: a change of it takes setuid and capabilities away. Then what may be an attribute, and the times last.
Result<void> Finish(int from, int to, const struct statx& found, const std::string& path) {
  if (fchown(to, found.stx_uid, found.stx_gid) != 0) return CannotAt("giving its owner to", path);
  if (fchmod(to, found.stx_mode & 07777) != 0) return CannotAt("giving its mode to", path);
  CAPSTAN_CHECK_OK(CopyAttributes(from, to, path));
  const timespec times[] = {TimeOf(found.stx_atime), TimeOf(found.stx_mtime)};
  if (futimens(to, times) != 0) return CannotAt("giving its time to", path);
  return {};
}

Result<void> CopyRange(int from, int to, off_t begin, off_t end, std::string& buffer, const std::string& path) {
  bool by_kernel = true;  // where both are of one file system that can
  for (off_t at = begin; at < end;) {
    const size_t wanted = size_t(std::min<off_t>(end - at, off_t(kBlock)));
    if (by_kernel) {
      off_t source = at, target = at;
      const ssize_t done = copy_file_range(from, &source, to, &target, size_t(end - at), 0);
      if (done > 0) {
        at += done;
        continue;
      }
      if (done < 0 && (errno == ENOSPC || errno == EDQUOT)) return CannotAt("copying", path);
      by_kernel = false;
    }
    const ssize_t got = pread(from, buffer.data(), wanted, at);
    if (got < 0) return CannotAt("reading", path);
    if (got == 0) return Fail(Code::kInternal, path + " became shorter while it was copied");
    for (ssize_t put = 0; put < got;) {
      const ssize_t done = pwrite(to, buffer.data() + put, size_t(got - put), at + put);
      if (done < 0) return CannotAt("copying", path);
      put += done;
    }
    at += got;
  }
  return {};
}

Result<void> CopyContent(int from, int to, off_t size, std::string& buffer, const std::string& path) {
  for (off_t at = 0; at < size;) {
    off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to its end
    off_t hole = data < 0 ? size : lseek(from, data, SEEK_HOLE);
    if (data < 0) data = at;  // a file system that tells no holes
    if (hole < 0) hole = size;
    CAPSTAN_CHECK_OK(CopyRange(from, to, data, std::min(hole, size), buffer, path));
    at = hole;
  }
  if (ftruncate(to, size) != 0) return CannotAt("copying", path);
  return {};
}

// A file with several names: copied once, when all names are known.
struct Linked {
  std::string path;
  struct statx found;
};

class Copying {
 public:
  Copying(Descriptor from, Descriptor to, const CopyOptions& options, const struct statx& top)
      : from_(std::move(from)), to_(std::move(to)), options_(options), mount_(top.stx_mnt_id) {
    waiting_.emplace_back("");
  }

  Result<Copied> Run() {
    {
      std::vector<std::jthread> writers;
      for (int i = 0; i < std::max(1, options_.writers); ++i) writers.emplace_back([this] { Work(); });
    }
    if (failed_) return Fail(*std::move(failed_));
    std::string buffer(kBlock, '\0');
    CAPSTAN_CHECK_OK(CopyLinked(buffer));
    return done_;
  }

 private:
  // Folders are taken from a queue, until none waits and none is under way.
  void Work() {
    std::string buffer(kBlock, '\0');
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return failed_ || !waiting_.empty() || working_ == 0; });
      if (failed_ || waiting_.empty()) break;
      const std::string path = std::move(waiting_.front());
      waiting_.pop_front();
      ++working_;
      lock.unlock();
      Copied copied;
      const Result<void> result = CopyFolder(path, buffer, &copied);
      lock.lock();
      --working_;
      done_.files += copied.files;
      done_.bytes += copied.bytes;
      if (!result && !failed_) failed_ = result.error();
      changed_.notify_all();
    }
    changed_.notify_all();
  }

  static std::string Relative(const std::string& path) { return path.empty() ? "." : path.substr(1); }

  Result<void> CopyFolder(const std::string& path, std::string& buffer, Copied* copied) {
    const Descriptor from(openat(from_.fd(), Relative(path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!from) return CannotAt("reading", path);
    const Descriptor to(openat(to_.fd(), Relative(path).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!to) return CannotAt("opening the copy of", path);
    CAPSTAN_TRY(const struct statx found, Examine(from.fd(), "", path));
    ++copied->files;
    if (found.stx_mnt_id == mount_ && std::ranges::find(options_.empty, path) == options_.empty.end())
      CAPSTAN_CHECK_OK(CopyEntries(from.fd(), to.fd(), path, buffer, copied));
    return Finish(from.fd(), to.fd(), found, path);
  }

  Result<void> CopyEntries(int from, int to, const std::string& path, std::string& buffer, Copied* copied) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(dup(from)), &closedir);
    if (folder == nullptr) return CannotAt("reading", path);
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(folder.get());
      if (entry == nullptr) return errno == 0 ? Result<void>() : CannotAt("reading", path);
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const std::string child = path + "/" + name;
      if (std::ranges::find(options_.left_out, child) != options_.left_out.end()) continue;
      CAPSTAN_CHECK_OK(CopyEntry(from, to, name, child, buffer, copied));
    }
  }

  Result<void> CopyEntry(int from, int to, const std::string& name, const std::string& path, std::string& buffer,
                         Copied* copied) {
    CAPSTAN_TRY(const struct statx found, Examine(from, name, path));
    if (S_ISDIR(found.stx_mode)) {
      if (mkdirat(to, name.c_str(), 0700) != 0) return CannotAt("making", path);
      const std::lock_guard lock(mutex_);
      waiting_.push_back(path);
      changed_.notify_one();
      return {};
    }
    if (found.stx_mnt_id != mount_ || S_ISSOCK(found.stx_mode)) return {};
    ++copied->files;
    if (S_ISLNK(found.stx_mode)) return CopyLink(from, to, name, found, path);
    if (!S_ISREG(found.stx_mode)) return MakeNode(to, name, found, path);
    if (found.stx_nlink > 1) {
      const std::lock_guard lock(mutex_);
      linked_[{found.stx_dev_major, found.stx_dev_minor, found.stx_ino}].push_back({path, found});
      return {};
    }
    copied->bytes += found.stx_size;
    return CopyFile(from, to, name, found, path, buffer);
  }

  static Result<void> CopyFile(int from, int to, const std::string& name, const struct statx& found,
                               const std::string& path, std::string& buffer) {
    const Descriptor source(openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!source) return CannotAt("reading", path);
    Descriptor target(openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target) return CannotAt("making", path);
    CAPSTAN_CHECK_OK(CopyContent(source.fd(), target.fd(), off_t(found.stx_size), buffer, path));
    CAPSTAN_CHECK_OK(Finish(source.fd(), target.fd(), found, path));
    // A network file system says only now that it is full.
    if (close(target.Release()) != 0) return CannotAt("storing", path);
    return {};
  }

  static Result<void> CopyLink(int from, int to, const std::string& name, const struct statx& found,
                               const std::string& path) {
    std::string where(4096, '\0');
    const ssize_t size = readlinkat(from, name.c_str(), where.data(), where.size());
    if (size < 0) return CannotAt("reading", path);
    where.resize(size_t(size));
    if (symlinkat(where.c_str(), to, name.c_str()) != 0) return CannotAt("making", path);
    if (fchownat(to, name.c_str(), found.stx_uid, found.stx_gid, AT_SYMLINK_NOFOLLOW) != 0)
      return CannotAt("giving its owner to", path);
    const timespec times[] = {TimeOf(found.stx_atime), TimeOf(found.stx_mtime)};
    if (utimensat(to, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return CannotAt("giving its time to", path);
    return {};
  }

  static Result<void> MakeNode(int to, const std::string& name, const struct statx& found, const std::string& path) {
    if (mknodat(to, name.c_str(), found.stx_mode & S_IFMT, makedev(found.stx_rdev_major, found.stx_rdev_minor)) != 0)
      return CannotAt("making", path);
    if (fchownat(to, name.c_str(), found.stx_uid, found.stx_gid, AT_SYMLINK_NOFOLLOW) != 0)
      return CannotAt("giving its owner to", path);
    if (fchmodat(to, name.c_str(), found.stx_mode & 07777, 0) != 0) return CannotAt("giving its mode to", path);
    return {};
  }

  // Once all folders are there. Their times are set again: a new name changes them.
  Result<void> CopyLinked(std::string& buffer) {
    for (const auto& [inode, names] : linked_) {
      const Linked& first = names.front();
      CAPSTAN_CHECK_OK(CopyFile(from_.fd(), to_.fd(), Relative(first.path), first.found, first.path, buffer));
      done_.bytes += first.found.stx_size;
      for (const Linked& other : names) {
        if (&other != &first &&
            linkat(to_.fd(), Relative(first.path).c_str(), to_.fd(), Relative(other.path).c_str(), 0) != 0)
          return CannotAt("linking", other.path);
        CAPSTAN_CHECK_OK(RestoreTime(other.path.substr(0, other.path.rfind('/'))));
      }
    }
    return {};
  }

  Result<void> RestoreTime(const std::string& folder) {
    const std::string name = Relative(folder);
    CAPSTAN_TRY(const struct statx found, Examine(from_.fd(), name, folder));
    const timespec times[] = {TimeOf(found.stx_atime), TimeOf(found.stx_mtime)};
    if (utimensat(to_.fd(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      return CannotAt("giving its time to", folder);
    return {};
  }

  const Descriptor from_, to_;
  const CopyOptions& options_;
  const uint64_t mount_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // folders whose copy is there and empty; "": the top
  int working_ = 0;
  Copied done_;
  std::optional<Error> failed_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::vector<Linked>> linked_;
};

}  // namespace

Result<Copied> CopyTree(const std::string& from, const std::string& to, const CopyOptions& options) {
  Descriptor source(open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source) return CannotAt("reading", from);
  if (mkdir(to.c_str(), 0700) != 0) return CannotAt("making", to);
  Descriptor target(open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!target) return CannotAt("opening", to);
  CAPSTAN_TRY(const struct statx top, Examine(source.fd(), "", from));
  return Copying(std::move(source), std::move(target), options, top).Run();
}

}  // namespace capstan::entry
