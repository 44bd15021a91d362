#include "entry/mounted.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/result.h"
#include "entry/files.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr auto kCheckLimit = std::chrono::seconds(10);

// kInvalid when the daemon that the file is for refuses it.
Result<void> Check(const MountedFile& file, const std::string& path, const std::string& text) {
  CAPSTAN_TRY(const std::string program, FindProgram(file.check));
  const std::string trial = path + ".trial";
  CAPSTAN_CHECK_OK(ReplaceFile(trial, text, file.mode));
  const Result<std::string> said = RunAndRead({program, "-t", "-f", trial}, kCheckLimit);
  unlink(trial.c_str());
  if (!said) return Fail(Code::kInvalid, std::string(file.check) + " refuses it, as it says above");
  return {};
}

Result<void> Copy(const MountedFile& file, const std::string& path, const std::string& text, bool check) {
  if (check && file.check != nullptr) CAPSTAN_CHECK_OK(Check(file, path, text));
  return ReplaceFile(path, text, file.mode);
}

}  // namespace

bool Mounted::Refresh() {
  bool reload = false;
  for (const MountedFile& file : files_) {
    const std::string from = root_ + file.from, to = root_ + file.to;
    std::optional<std::string> text = ReadFile(from);
    if (!text) continue;
    const auto seen = seen_.find(to);
    if (seen != seen_.end() && seen->second == *text) continue;
    if (const Result<void> copied = Copy(file, to, *text, !first_); !copied) {
      Say(from + " is not used: " + copied.error().message());
    } else {
      reload |= file.reload;
    }
    seen_.insert_or_assign(to, *std::move(text));
  }
  first_ = false;
  return reload;
}

}  // namespace capstan::entry
