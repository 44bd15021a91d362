#include "entry/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace capstan::entry {
namespace {

constexpr size_t kMaxFile = size_t{1024} * 1024;

Error Failed(const char* what, const std::string& path) {
  return Error(Code::kUnavailable, std::string(what) + " " + path + ": " + strerror(errno));
}

bool WriteNew(int fd, const std::string& text, mode_t mode) {
  return fchmod(fd, mode) == 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::optional<std::string> ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while (text.size() <= kMaxFile && (count = read(fd, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<size_t>(count));
  close(fd);
  if (count < 0 || text.size() > kMaxFile) return std::nullopt;
  return text;
}

Result<void> ReplaceFile(const std::string& path, const std::string& text, mode_t mode) {
  const std::string fresh = path + ".new";
  mkdir(path.substr(0, path.rfind('/')).c_str(), 0700);
  unlink(fresh.c_str());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return Fail(Failed("cannot make", fresh));
  const bool written = WriteNew(fd, text, mode);
  close(fd);
  if (!written) return Fail(Failed("cannot write", fresh));
  if (rename(fresh.c_str(), path.c_str()) != 0) return Fail(Failed("cannot replace", path));
  return {};
}

}  // namespace capstan::entry
