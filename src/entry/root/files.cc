#include "entry/root/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "base/hash.h"
#include "entry/descriptor.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"
#include "entry/root/layout.h"

namespace capstan::entry {
namespace {

constexpr size_t kLargest = 2 << 20;  // a ConfigMap has 1 MiB

// Of a plain file; nullopt: it is none.
Result<std::optional<std::string>> TextIn(const Descriptor& file, const std::string& path) {
  struct stat found;
  if (fstat(file.fd(), &found) != 0) return Cannot("looking at " + path);
  if (!S_ISREG(found.st_mode) || size_t(found.st_size) > kLargest) return std::nullopt;
  std::string text(size_t(found.st_size), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t size = read(file.fd(), text.data() + have, text.size() - have);
    if (size < 0) return Cannot("reading " + path);
    if (size == 0) break;
    have += size_t(size);
  }
  text.resize(have);
  return text;
}

struct Place {
  Descriptor folder;
  std::string name;
};

bool IsSame(const Place& place, const std::string& text, unsigned mode) {
  const Descriptor file(openat(place.folder.fd(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found;
  if (!file || fstat(file.fd(), &found) != 0 || (found.st_mode & 07777) != mode || found.st_uid != 0 ||
      found.st_gid != 0)
    return false;
  const auto present = TextIn(file, place.name);
  return present && *present == text;
}

// By errno: what somebody has put there would be in the way of another try, too.
bool IsInTheWay() {
  return errno == EISDIR || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG || errno == ENOTEMPTY;
}

std::unexpected<Error> NotPut(const PutFile& put, const std::string& step) {
  const bool for_good = IsInTheWay();
  const std::unexpected<Error> failed = Cannot(put.to + ": " + step);
  return for_good ? Fail(Code::kInvalid, failed.error().message()) : failed;
}

Result<void> Write(const Place& place, const std::string& text, const PutFile& put) {
  const int folder = place.folder.fd();
  const char* next = ".capstan.next";
  if (unlinkat(folder, next, 0) != 0 && errno != ENOENT) return NotPut(put, "removing .capstan.next beside it");
  const Descriptor file(openat(folder, next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return NotPut(put, "making a file beside it");
  const ssize_t size = write(file.fd(), text.data(), text.size());
  if (size >= 0 && size != ssize_t(text.size())) errno = ENOSPC;
  const bool stored = size == ssize_t(text.size()) && fchown(file.fd(), 0, 0) == 0 &&
                      fchmod(file.fd(), put.mode) == 0 && fsync(file.fd()) == 0;
  if (stored && renameat(folder, next, folder, place.name.c_str()) == 0) {
    const Descriptor there(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (there) fsync(there.fd());
    return {};
  }
  const std::unexpected<Error> failed = NotPut(put, "writing it");
  unlinkat(folder, next, 0);
  return failed;
}

// Whether it was written; else it was there.
Result<bool> Put(int root, const PutFile& put) {
  const Descriptor from(open(put.from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from) return Fail(Code::kUnavailable, "opening " + put.from + ": " + Why());
  CAPSTAN_TRY(const std::optional<std::string> text, TextIn(from, put.from));
  if (!text) return Fail(Code::kInvalid, put.to + ": its source is no plain file of at most 2 MiB");
  if (Sha256Hex(*text) != put.sha256) return Fail(Code::kUnavailable, put.to + ": its source has just changed");
  const size_t slash = put.to.rfind('/');
  Result<Descriptor> folder = FolderIn(root, put.to.substr(0, slash), true);
  if (!folder) {
    const Code code = IsInTheWay() ? Code::kInvalid : folder.error().code();
    return Fail(code, put.to + ": " + folder.error().message());
  }
  const Place place{.folder = *std::move(folder), .name = put.to.substr(slash + 1)};
  if (IsSame(place, *text, put.mode)) return false;
  CAPSTAN_CHECK_OK(Write(place, *text, put));
  return true;
}

}  // namespace

Result<size_t> PutFiles(const std::string& volume, const std::string& generation, const std::vector<PutFile>& files) {
  CAPSTAN_CHECK_OK(CheckLayout({.generation = generation, .keep = {}, .node_local = {}, .mounts = {}}));
  const std::string folder = RootFolder(volume, generation);
  const Descriptor root(open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Cannot("opening the root of generation " + generation);
  size_t written = 0;
  std::string failures;
  bool for_good = true;
  for (const PutFile& put : files) {
    const Result<bool> done = Put(root.fd(), put);
    if (done) {
      written += *done ? 1 : 0;
      continue;
    }
    failures += (failures.empty() ? "" : "; ") + done.error().message();
    for_good = for_good && done.error().code() == Code::kInvalid;
  }
  if (failures.empty()) return written;
  return Fail(for_good ? Code::kInvalid : Code::kUnavailable, failures);
}

}  // namespace capstan::entry
