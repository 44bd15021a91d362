#include "entry/pam.h"

#include <stdlib.h>

#include "base/text.h"
#include "entry/files.h"

namespace capstan::entry {
namespace {

constexpr const char* kService = "/etc/pam.d/sshd";
constexpr std::string_view kStrict = "action_adopt_failure=deny action_generic_failure=deny";

// Debian's name for the common rules, and that of Red Hat.
bool AsksForAccount(std::string_view line) {
  return !line.starts_with('#') &&
         (line.contains("common-account") || (line.starts_with("account") && line.contains("password-auth")));
}

}  // namespace

Result<std::string> WithSlurmAdopt(std::string_view text, std::string_view options) {
  if (text.contains("pam_slurm_adopt")) return std::string(text);
  if (options.contains('\n')) return Fail(Code::kInvalid, "PAM_SLURM_ADOPT_OPTIONS has more than one line");
  std::string changed;
  bool added = false;
  for (const std::string_view line : Split(text, '\n')) {
    if (!added && AsksForAccount(line)) {
      changed += "account required pam_slurm_adopt.so " + std::string(options) + "\n";
      added = true;
    }
    changed += std::string(line) + "\n";
  }
  changed.pop_back();  // the last line's end stands in it, or it had none
  if (!added) return Fail(Code::kInvalid, "it includes neither common-account nor password-auth");
  return changed;
}

Result<void> LetInOnlyWithJob() {
  const char* options = getenv("PAM_SLURM_ADOPT_OPTIONS");
  const std::optional<std::string> text = ReadFile(kService);
  if (!text) return Fail(Code::kNotFound, std::string("cannot read ") + kService);
  Result<std::string> changed = WithSlurmAdopt(*text, options == nullptr ? kStrict : options);
  if (!changed) return Fail(std::move(changed).error().WithContext(kService));
  if (*changed == *text) return {};
  return ReplaceFile(kService, *changed, 0644);
}

}  // namespace capstan::entry
