#include "entry/root/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/root/failed.h"
#include "entry/root/layout.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr int kMostFiles = 1000;      // made to see how fast that is,
constexpr auto kMostFilesTime = 10s;  // or as many as there are by then
constexpr auto kHearEvery = 5ms;
constexpr auto kSlow = 3s;  // a switch is to be seen in five
constexpr unsigned kStranger = 12'345;
constexpr mode_t kMode = 04751;
constexpr std::string_view kText = "of the first\n";

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Of a number that the other writes, file after file under one name.
class Words {
 public:
  explicit Words(const Probe& probe)
      : folder_(probe.volume + "/meta/" + probe.id),
        mine_(probe.side == Side::kFirst ? "said-1" : "said-2"),
        theirs_(probe.side == Side::kFirst ? "said-2" : "said-1"),
        patience_(probe.patience) {}

  const std::string& folder() const { return folder_; }

  Result<void> Say(int round) { return StoreFile(folder_, mine_, std::to_string(round) + "\n"); }
  // True: the other has said that within `patience`.
  bool Hear(int round, Duration patience) const {
    const std::string wanted = std::to_string(round) + "\n";
    const auto deadline = Clock::now() + patience;
    while (TextOf(folder_ + "/" + theirs_) != wanted) {
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kHearEvery);
    }
    return true;
  }
  bool Hear(int round) const { return Hear(round, patience_); }
  bool HearFirstWord() const { return Hear(0, 4 * patience_); }

 private:
  std::string folder_, mine_, theirs_;
  Duration patience_;
};

std::unexpected<Error> Silent(const std::string& who) {
  return Fail(Code::kUnavailable, who + " has said nothing in time: it ended, or what it writes is not seen here");
}

// cap_net_raw, as `ping` has it.
bool KeepsCapabilities(int file) {
  const vfs_cap_data raw{.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                         .data = {{.permitted = 1u << CAP_NET_RAW, .inheritable = 0}, {}}};
  return fsetxattr(file, "security.capability", &raw, sizeof raw, 0) == 0;
}

Result<void> MakeGiven(const std::string& folder, Probed* probed) {
  const std::string path = folder + "/given";
  const Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || write(file.fd(), kText.data(), kText.size()) != ssize_t(kText.size()) ||
      fchown(file.fd(), kStranger, kStranger) != 0 || fchmod(file.fd(), kMode) != 0)
    return Cannot("making " + path);
  if (!KeepsCapabilities(file.fd()))
    probed->warnings.push_back("it keeps no capabilities of programs (" + Why() +
                               "): an image with programs that have some, as ping may, cannot be filled there");
  if (fsync(file.fd()) != 0) return Cannot("storing " + path);
  return {};
}

Result<int64_t> FilesPerSecond(const std::string& folder) {
  const std::string many = folder + "/many";
  if (mkdir(many.c_str(), 0700) != 0) return Cannot("making " + many);
  const auto began = Clock::now();
  int made = 0;
  while (made < kMostFiles && Clock::now() - began < kMostFilesTime) {
    const std::string path = many + "/" + std::to_string(made);
    const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || write(file.fd(), kText.data(), kText.size()) != ssize_t(kText.size())) return Cannot("making " + path);
    ++made;
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  return int64_t(made / std::max(took.count(), 1e-3));
}

Result<Probed> BeFirst(const Probe& probe, Words& words) {
  Probed probed;
  if (const Result<void> alone = ProbeVolume(probe.volume, probe.id + "/alone"); !alone) {
    if (alone.error().code() != Code::kInvalid) return Fail(alone.error());
    probed.errors.push_back(alone.error().message());
    return probed;
  }
  CAPSTAN_CHECK_OK(MakeGiven(words.folder(), &probed));
  CAPSTAN_TRY(probed.files_per_second, FilesPerSecond(words.folder()));
  const Descriptor lock(open((words.folder() + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) return Cannot("locking a file");
  CAPSTAN_CHECK_OK(words.Say(0));
  if (!words.HearFirstWord()) return Silent("the second pod");
  Clock::duration longest{};
  for (int round = 1; round <= kRounds; ++round) {
    const auto began = Clock::now();
    CAPSTAN_CHECK_OK(words.Say(round));
    if (!words.Hear(round)) return Silent("the second pod");
    longest = std::max(longest, Clock::now() - began);
  }
  probed.seen_after_ms = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  if (longest > kSlow)
    probed.warnings.push_back("a file that takes another's place was seen and answered after " +
                              std::to_string(probed.seen_after_ms) +
                              " ms: so late may a switch and new people be seen; an NFS mount has actimeo for that");
  return probed;
}

Result<Probed> BeSecond(Words& words) {
  Probed probed;
  if (!words.HearFirstWord()) return Silent("the first pod");
  const std::string given = words.folder() + "/given", lock_file = words.folder() + "/lock";
  struct stat found{};
  if (stat(given.c_str(), &found) != 0 || TextOf(given) != kText)
    probed.errors.push_back("a file that the other node has made and stored is not the same here");
  else if (found.st_uid != kStranger || found.st_gid != kStranger || (found.st_mode & 07777) != kMode)
    probed.errors.push_back("a file of the other node's has another owner or mode here; NFS ids may be mapped");
  const Descriptor lock(open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  if (!lock) return Cannot("opening " + lock_file);
  if (flock(lock.fd(), LOCK_EX | LOCK_NB) == 0)
    probed.errors.push_back(
        "a lock holds on one node only, and two Jobs could write at once; an NFS mount must not have nolock or "
        "local_lock");
  else if (errno != EWOULDBLOCK)
    return Cannot("trying the lock");
  for (int round = 0; round <= kRounds; ++round) {
    if (round > 0 && !words.Hear(round)) return Silent("the first pod");
    CAPSTAN_CHECK_OK(words.Say(round));
  }
  return probed;
}

std::string List(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : ",") + JsonQuoted(sentence);
  return "[" + text + "]";
}

}  // namespace

std::string ProbedText(const Probed& probed) {
  return "{\"errors\":" + List(probed.errors) + ",\"warnings\":" + List(probed.warnings) +
         ",\"filesPerSecond\":" + std::to_string(probed.files_per_second) +
         ",\"seenAfterMs\":" + std::to_string(probed.seen_after_ms) + "}";
}

Result<Probed> ProbeTogether(const Probe& probe) {
  if (!IsLabel(probe.id)) return Fail(Code::kInvalid, "\"" + probe.id + "\" is no DNS label");
  Words words(probe);
  if (probe.side == Side::kSecond) return BeSecond(words);
  const std::string meta = probe.volume + "/meta";
  if ((mkdir(meta.c_str(), 0700) != 0 && errno != EEXIST) || mkdir(words.folder().c_str(), 0700) != 0) {
    if (errno != EACCES && errno != EPERM && errno != EROFS) return Cannot("making " + words.folder());
    return Probed{.errors = {"root cannot write to it (" + Why() + "); an NFS export needs no_root_squash"}};
  }
  const Result<Probed> probed = BeFirst(probe, words);
  std::error_code ignored;
  std::filesystem::remove_all(words.folder(), ignored);
  return probed;
}

}  // namespace capstan::entry
