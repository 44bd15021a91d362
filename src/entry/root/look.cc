#include "entry/root/look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "entry/process.h"
#include "entry/root/commands.h"
#include "entry/root/failed.h"
#include "entry/root/layout.h"
#include "entry/root/people.h"
#include "entry/root/reports.h"
#include "entry/root/tree.h"

namespace capstan::entry {
namespace {

constexpr size_t kLongestCurrent = 64 << 10;
constexpr int kTries = 3;
// What it says is a line and a text. The first byte of the line: there is nothing new, there is a tree, nothing is current, that cannot be
// read, or there is no tree. With kSame and kNew the line goes on with the number of the watch, and the text begins with the trouble of the report
// and a NUL; behind it is the current text of kNew. In the others the text says why.
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

struct Seen {
  std::string text;  // the current one, where it is another than the known one
  std::string trouble;
  TreeWatch watch;
};

// A tree of this generation is there, or is about to be.
Result<std::string> Report(const Looking& looking, const std::string& generation) {
  if (looking.pod.empty()) return "";
  std::set<std::string> in_use = looking.in_use;
  in_use.insert(generation);
  Result<std::string> trouble = WriteReport(looking.volume, looking.pod, in_use);
  if (trouble) return trouble;
  return Fail(std::move(trouble).error().WithContext("reporting generation " + generation));
}

// In a process of its own, which is in the tree then, if there is a new one.
Result<Seen> See(const Looking& looking) {
  const std::string file = CurrentFile(looking.volume);
  CAPSTAN_TRY(std::string text, ReadCurrent(file));
  Seen seen{.watch = {.notify = looking.notify, .folder = looking.hidden}};
  for (int tries = 0; tries < kTries; ++tries) {
    Result<Layout> layout = ParseLayout(text);
    if (!layout) return Fail(std::move(layout).error().WithContext(file));
    const bool is_known = text == looking.known;
    if (!is_known || looking.reports) {
      CAPSTAN_TRY(seen.trouble, Report(looking, layout->generation));
    }
    if (is_known) {
      ShowPeopleOrSay(looking.volume, *layout, looking.people);
      return seen;
    }
    // It may have been removed before the report was there.
    CAPSTAN_TRY(std::string now, ReadCurrent(file));
    if (text != now) {
      text = std::move(now);
      continue;
    }
    CAPSTAN_CHECK_OK(ShowKept(looking.volume, *layout));
    const std::string nothing = looking.hidden + "/nothing";
    if (mkdir(nothing.c_str(), 0555) != 0 && errno != EEXIST) return Cannot("making " + nothing);
    Tree tree = TreeOf(*layout, looking.volume, &IsPlainFolder, &IsMounted, nothing);
    if (auto plugins = PluginsFor(tree.root)) tree.mounts.push_back(*std::move(plugins));
    CAPSTAN_CHECK_OK(EnterTree(tree, &seen.watch), "the tree of generation " + layout->generation + " cannot be made");
    seen.text = std::move(text);
    return seen;
  }
  return Fail(Code::kInternal, "what is current changes all the time");
}

std::string ToldBy(const Result<Seen>& seen) {
  if (seen)
    return (seen->text.empty() ? kSame : kNew) + std::to_string(seen->watch.number) + '\n' + seen->trouble + '\0' +
           seen->text;
  const Code code = seen.error().code();
  const char kind = code == Code::kNotFound ? kNone : code == Code::kUnavailable ? kAway : kFailed;
  return kind + ('\n' + seen.error().message());
}

// Nothing of the parent's stays open while a volume hangs, but 0 to 2 and these. Of `other` there may be none.
void CloseAllBut(int* one, int* other) {
  const int first = STDERR_FILENO + 1;
  *one = fcntl(*one, F_DUPFD, first);
  if (*other >= 0) *other = fcntl(*other, F_DUPFD, first);
  for (int fd = first; fd < std::max(*one, *other); ++fd) {
    if (fd != *one && fd != *other) close(fd);
  }
  close_range(unsigned(std::max(*one, *other)) + 1, ~0U, 0);
}

[[noreturn]] void Run(Looking looking, Descriptor said, int holds) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(said.fd(), STDIN_FILENO) == STDIN_FILENO) said = Descriptor(STDIN_FILENO);
  CloseAllBut(&holds, &looking.notify);
  const std::string text = ToldBy(See(looking));
  (void)!write(said.fd(), text.data(), text.size());
  said.Close();
  char end;
  while (read(holds, &end, 1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

Result<Look> Look::Begin(Looking looking) {
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
    Run(std::move(looking), std::move(says), waits.fd());
  }
  return Look(child, std::move(hears), std::move(held), std::move(looking.known));
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
  Result<Looked> looked = Read(heard_);
  holds_.Close();
  return looked;
}

Result<Looked> Look::Read(std::string_view told) {
  const size_t end = told.find('\n');
  if (end == told.npos || end == 0) return Fail(Code::kInternal, "the process that looks at the volume has ended");
  const char kind = told.front();
  const std::string_view number = told.substr(1, end - 1);
  const std::string text(told.substr(end + 1));
  if (kind == kNone) return Fail(Code::kNotFound, text);
  if (kind == kAway) return Fail(Code::kUnavailable, text);
  if (kind == kFailed) return Fail(Code::kInternal, text);
  const size_t nul = text.find('\0');
  if (nul == text.npos) return Fail(Code::kInternal, "the process that looks at the volume has ended in between");
  Looked looked{.current = known_, .trouble = text.substr(0, nul)};
  if (kind == kSame) return looked;
  looked.current = text.substr(nul + 1);
  looked.watch = int(ParseInt(number).value_or(-1));
  looked.tree = Descriptor(open(("/proc/" + std::to_string(process_) + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  if (!looked.tree) return Fail(Code::kInternal, "taking the mount namespace of the tree: " + Why());
  return looked;
}

}  // namespace capstan::entry
