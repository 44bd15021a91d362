#include "entry/root/reports.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/root/failed.h"
#include "entry/root/layout.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kReportBegins = "capstan-root-report 1";
constexpr std::string_view kReportEnds = "end";
constexpr std::string_view kGeneration = "generation ";
constexpr size_t kLongest = 64 << 10;
constexpr std::chrono::hours kForgottenAfter{48};

Result<std::string> Read(const std::string& volume, const std::string& pod) {
  const std::string path = volume + "/meta/pods/" + pod;
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(kLongest, '\0');
  const ssize_t size = file ? read(file.fd(), text.data(), text.size()) : -1;
  if (size < 0) return Fail(errno == ENOENT ? Code::kNotFound : Code::kUnavailable, "reading " + path + ": " + Why());
  text.resize(size_t(size));
  return text;
}

}  // namespace

std::string ReportText(const std::set<std::string>& generations) {
  std::string text = std::string(kReportBegins) + "\n";
  for (const std::string& generation : generations) text += std::string(kGeneration) + generation + "\n";
  return text + std::string(kReportEnds) + "\n";
}

Result<std::string> WriteReport(const std::string& volume, const std::string& pod,
                                const std::set<std::string>& generations) {
  if (!IsLabel(pod)) return Fail(Code::kInvalid, JsonQuoted(OneLine(pod, 80)) + " is no uid of a pod");
  const std::string folder = volume + "/meta/pods", text = ReportText(generations), path = folder + "/" + pod;
  mkdir(folder.c_str(), 0700);
  const Result<std::string> before = Read(volume, pod);
  if (before && *before == text && utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) return "";
  const Result<void> stored = StoreFile(folder, pod, text);
  if (stored) return "";
  const auto named = ReadReport(volume, pod);
  const bool as_good =
      (named && std::ranges::includes(*named, generations)) || unlink(path.c_str()) == 0 || errno == ENOENT;
  if (as_good) return stored.error().message();
  return Fail(Code::kInternal, stored.error().message());
}

Result<std::set<std::string>> ReadReport(const std::string& volume, const std::string& pod) {
  if (!IsLabel(pod)) return Fail(Code::kInvalid, JsonQuoted(OneLine(pod, 80)) + " is no uid of a pod");
  CAPSTAN_TRY(const std::string text, Read(volume, pod));
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.size() < 3 || lines.front() != kReportBegins || !lines.back().empty() ||
      lines[lines.size() - 2] != kReportEnds)
    return Fail(Code::kInvalid, "the report of pod " + pod + " is cut off, or of a later version");
  std::set<std::string> generations;
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    if (!lines[i].starts_with(kGeneration))
      return Fail(Code::kInvalid, "the report of pod " + pod + " has a line of a later version");
    generations.emplace(lines[i].substr(kGeneration.size()));
  }
  return generations;
}

Result<std::vector<std::string>> ReportingPods(const std::string& volume, const Descriptor& lock) {
  struct stat now, written;
  if (futimens(lock.fd(), nullptr) != 0 || fstat(lock.fd(), &now) != 0) return Cannot("asking the volume for its time");
  const std::string folder = volume + "/meta/pods";
  CAPSTAN_TRY(const std::vector<std::string> names, NamesIn(folder));
  std::vector<std::string> pods;
  for (const std::string& pod : names) {
    const std::string path = folder + "/" + pod;
    if (!IsLabel(pod) || lstat(path.c_str(), &written) != 0) continue;
    const std::chrono::seconds age(now.st_mtime - written.st_mtime);
    if (age <= kReportLasts) pods.push_back(pod);
    if (age > kForgottenAfter) unlink(path.c_str());
  }
  return pods;
}

}  // namespace capstan::entry
