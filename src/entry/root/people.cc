#include "entry/root/people.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "entry/descriptor.h"
#include "entry/root/accounts.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"

namespace capstan::entry {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> Put(const std::string& path, const std::string& text, mode_t mode) {
  const std::string next = path + ".next";
  unlink(next.c_str());
  const Descriptor file(open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file || fchmod(file.fd(), mode) != 0 || write(file.fd(), text.data(), text.size()) != ssize_t(text.size()) ||
      rename(next.c_str(), path.c_str()) != 0)
    return Cannot("writing " + path);
  return {};
}

// Other when one of them may be: a network file system is asked for no file that it knows to be the same.
std::string VersionOf(int etc, const std::string& generation) {
  std::string version = generation + "\n";
  for (const char* name : {"passwd", "shadow", "group"}) {
    struct stat file{};
    if (fstatat(etc, name, &file, AT_SYMLINK_NOFOLLOW) != 0) file = {};
    for (const auto number :
         {int64_t(file.st_ino), int64_t(file.st_size), int64_t(file.st_mtim.tv_sec), int64_t(file.st_mtim.tv_nsec),
          int64_t(file.st_ctim.tv_sec), int64_t(file.st_ctim.tv_nsec)})
      version += std::to_string(number) + " ";
  }
  return version;
}

}  // namespace

Result<void> ShowPeople(const std::string& volume, const Layout& layout, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Fail(Code::kInternal, "making " + folder + ": " + failed.message());
  const Descriptor root(
      open(RootFolder(volume, layout.generation).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return Cannot("opening the root of generation " + layout.generation);
  const Descriptor etc = OpenIn(root.fd(), "/etc", O_PATH | O_DIRECTORY);
  if (!etc) return Cannot("opening /etc");
  const std::string version = VersionOf(etc.fd(), layout.generation);
  if (Read(folder + "/version") == version) return {};
  CAPSTAN_TRY(const Accounts accounts, ReadAccounts(etc.fd(), AccountFiles::kOfLogins));
  const Accounts people = PeopleOf(accounts);
  CAPSTAN_CHECK_OK(Put(folder + "/shadow", people.shadow, 0600));
  CAPSTAN_CHECK_OK(Put(folder + "/group", people.group, 0644));
  CAPSTAN_CHECK_OK(Put(folder + "/passwd", people.passwd, 0644));
  return Put(folder + "/version", version, 0600);
}

}  // namespace capstan::entry
