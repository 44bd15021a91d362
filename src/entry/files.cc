#include "entry/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace capstan::entry {
namespace {

Error Failed(const char* what, const std::string& path) {
  return Error(Code::kUnavailable, std::string(what) + " " + path + ": " + strerror(errno));
}

bool WriteNew(int fd, const std::string& text, mode_t mode) {
  return fchmod(fd, mode) == 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         fsync(fd) == 0;
}

// What was renamed in it stays renamed. A file system that cannot say so has done what it can.
void SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path, size_t limit) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (text.size() <= limit && (count = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(count));
  close(fd);
  if (count < 0 || text.size() > limit) return std::nullopt;
  return text;
}

Result<void> ReplaceFile(const std::string& path, const std::string& text, mode_t mode) {
  const std::string fresh = path + ".new", folder = path.substr(0, path.rfind('/'));
  mkdir(folder.c_str(), 0700);
  unlink(fresh.c_str());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return Fail(Failed("cannot make", fresh));
  const bool written = WriteNew(fd, text, mode);
  close(fd);
  if (!written) return Fail(Failed("cannot write", fresh));
  if (rename(fresh.c_str(), path.c_str()) != 0) return Fail(Failed("cannot replace", path));
  SyncFolder(folder);
  return {};
}

Result<void> OwnLike(const std::string& path, const std::string& like) {
  struct stat found;
  if (geteuid() != 0) return {};
  if (stat(like.c_str(), &found) != 0) return Fail(Failed("cannot see", like));
  if (lchown(path.c_str(), found.st_uid, found.st_gid) != 0) return Fail(Failed("cannot give away", path));
  return {};
}

}  // namespace capstan::entry
