#include "entry/root/look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "entry/process.h"
#include "entry/root/commands.h"
#include "entry/root/failed.h"
#include "entry/root/layout.h"
#include "entry/root/people.h"
#include "entry/root/tree.h"

namespace capstan::entry {
namespace {

constexpr size_t kLongestCurrent = 64 << 10;
// The first byte that it says: what follows is nothing, the current text, why there is none, why it cannot be
// read, or why there is no tree.
constexpr char kSame = '=', kNew = '+', kNone = '0', kAway = '?', kFailed = '!';

bool IsPlainFolder(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

bool IsMounted(const std::string& path) {
  struct statx it;
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &it) == 0 &&
         (it.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Result<std::string> ReadCurrent(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    const Code code = errno == ENOENT ? Code::kNotFound : Code::kUnavailable;
    return Fail(code, code == Code::kNotFound ? "no generation is current yet" : "reading " + path + ": " + Why());
  }
  std::string text(kLongestCurrent, '\0');
  const ssize_t size = read(file.fd(), text.data(), text.size());
  if (size < 0) return Fail(Code::kUnavailable, "reading " + path + ": " + Why());
  text.resize(size_t(size));
  return text;
}

// Kept and node-local folders are at the same place for the daemons: sshd looks for keys in /home. But not over what they are made of.
Result<void> ShowKept(const std::string& volume, const Layout& layout) {
  std::error_code failed;
  for (const std::string& path : layout.node_local) std::filesystem::create_directories(path, failed);
  for (const std::string& path : layout.keep) {
    if (path == "/root" || path.starts_with("/usr/")) continue;
    std::filesystem::create_directories(path, failed);
    if (!IsPlainFolder(path) || IsMounted(path)) continue;
    if (mount(KeptFolder(volume, path).c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return Fail(Code::kInternal, "mounting " + path + " for the daemons: " + Why());
  }
  return {};
}

// Whom sshd knows stays as it was while they cannot be read, which is said once for each reason.
void ShowPeopleOrSay(const std::string& volume, const Layout& layout, const std::string& folder) {
  const Result<void> shown = ShowPeople(volume, layout, folder);
  const std::string why = shown ? "" : shown.error().message(), file = folder + "/unread";
  std::string said;
  std::getline(std::ifstream(file), said);
  if (why == said) return;
  if (!why.empty()) Say("shared root: its people stay as they are known, as they cannot be read: " + why);
  std::ofstream(file) << why << "\n";
}

// In a process of its own: the current text, where that is another than the known one, and the process is in its tree.
Result<std::string> SeeNew(const std::string& volume, const std::string& known, const std::string& people) {
  CAPSTAN_TRY(std::string text, ReadCurrent(CurrentFile(volume)));
  Result<Layout> layout = ParseLayout(text);
  if (!layout) return Fail(std::move(layout).error().WithContext(CurrentFile(volume)));
  if (text == known) {
    ShowPeopleOrSay(volume, *layout, people);
    return std::string();
  }
  CAPSTAN_CHECK_OK(ShowKept(volume, *layout));
  Tree tree = TreeOf(*layout, volume, &IsPlainFolder);
  if (auto plugins = PluginsFor(tree.root)) tree.mounts.push_back(*std::move(plugins));
  CAPSTAN_CHECK_OK(EnterTree(tree), "the tree of generation " + layout->generation + " cannot be made");
  return text;
}

[[noreturn]] void Run(const std::string& volume, const std::string& known, const std::string& people, Descriptor said,
                      int holds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Nothing of the parent's stays open while a volume hangs.
  if (dup2(said.fd(), STDIN_FILENO) == STDIN_FILENO) said = Descriptor(STDIN_FILENO);
  const int stays = fcntl(holds, F_DUPFD, STDERR_FILENO + 1);
  close_range(unsigned(stays) + 1, ~0U, 0);
  for (int fd = STDERR_FILENO + 1; fd < stays; ++fd) close(fd);
  const Result<std::string> seen = SeeNew(volume, known, people);
  std::string text;
  if (seen) {
    text = seen->empty() ? std::string(1, kSame) : kNew + *seen;
  } else {
    const Code code = seen.error().code();
    text = (code == Code::kNotFound ? kNone : code == Code::kUnavailable ? kAway : kFailed) + seen.error().message();
  }
  (void)!write(said.fd(), text.data(), text.size());
  said.Close();
  char end;
  while (read(stays, &end, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

Result<Look> Look::Begin(const std::string& volume, const std::string& known, const std::string& people) {
  int said[2], holds[2];
  if (pipe2(said, O_CLOEXEC) != 0) return Fail(Code::kInternal, "no pipe: " + Why());
  Descriptor hears(said[0]), says(said[1]);
  if (pipe2(holds, O_CLOEXEC) != 0) return Fail(Code::kInternal, "no pipe: " + Why());
  Descriptor waits(holds[0]), held(holds[1]);
  fcntl(hears.fd(), F_SETFL, O_NONBLOCK);
  const pid_t child = fork();
  if (child < 0) return Fail(Code::kInternal, std::string("no process to look at the volume: ") + Why());
  if (child == 0) {
    hears.Close();
    held.Close();
    Run(volume, known, people, std::move(says), waits.fd());
  }
  return Look(child, std::move(hears), std::move(held), known);
}

void Look::AddTo(std::vector<pollfd>* waiting) const {
  if (hears_) waiting->push_back({.fd = hears_.fd(), .events = POLLIN, .revents = 0});
}

std::optional<Result<Looked>> Look::Turn() {
  if (!hears_) return std::nullopt;
  char part[4096];
  for (;;) {
    const ssize_t size = read(hears_.fd(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) break;
    heard_.append(part, size_t(size));
  }
  hears_.Close();
  const char kind = heard_.empty() ? kFailed : heard_.front();
  const std::string text = heard_.empty() ? "the process that looks at the volume has ended" : heard_.substr(1);
  Looked looked{.current = kind == kSame ? known_ : text, .tree = {}};
  if (kind == kNew)
    looked.tree = Descriptor(open(("/proc/" + std::to_string(process_) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  const int why = errno;
  holds_.Close();
  if (kind == kNone) return Fail(Code::kNotFound, text);
  if (kind == kAway) return Fail(Code::kUnavailable, text);
  if (kind == kFailed) return Fail(Code::kInternal, text);
  if (kind == kNew && !looked.tree)
    return Fail(Code::kInternal, std::string("taking the mount namespace of the tree: ") + strerror(why));
  return looked;
}

}  // namespace capstan::entry
