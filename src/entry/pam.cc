#include "entry/pam.h"

#include <stdlib.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/text.h"
#include "entry/files.h"

namespace capstan::entry {
namespace {

constexpr const char* kService = "/etc/pam.d/sshd";
constexpr std::string_view kStrict = "action_adopt_failure=deny action_generic_failure=deny";

// A rule of pam.d(5) that has a part in whether an account may be used.
struct AccountRule {
  bool asks_adopt = false;  // pam_slurm_adopt, and its refusal counts
  bool may_end = false;     // somebody may be in after it, whatever comes behind
};

// nullopt: it is none. `line`: with the lines that continue it.
std::optional<AccountRule> AccountRuleOf(std::string_view line) {
  const std::vector<std::string_view> words = Words(line.substr(0, line.find('#')));
  if (words.empty()) return std::nullopt;
  if (words[0] == "@include") {
    // All rules of a file, also those for accounts. Debian's files for the other three have none.
    const std::string_view file = words.size() > 1 ? words[1] : "";
    const bool other = file.ends_with("common-auth") || file.ends_with("common-password") ||
                       file.ends_with("common-session") || file.ends_with("common-session-noninteractive");
    if (other) return std::nullopt;
    return AccountRule{.may_end = true};
  }
  std::string_view type = words[0];
  if (type.starts_with('-')) type.remove_prefix(1);  // a module that may be missing
  if (!EqualsIgnoreCase(type, "account")) return std::nullopt;
  const bool must = words.size() > 2 && !words[0].starts_with('-') &&
                    (EqualsIgnoreCase(words[1], "required") || EqualsIgnoreCase(words[1], "requisite"));
  if (!must) return AccountRule{.may_end = true};
  const std::string_view module = words[2].substr(words[2].rfind('/') + 1);
  return AccountRule{.asks_adopt = module == "pam_slurm_adopt.so"};
}

}  // namespace

Result<std::string> WithSlurmAdopt(std::string_view text, std::string_view options) {
  if (options.contains('\n')) return Fail(Code::kInvalid, "PAM_SLURM_ADOPT_OPTIONS has more than one line");
  const std::string rule = "account required pam_slurm_adopt.so " + std::string(options) + "\n";
  bool has_rules = false;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    bool goes_on = true;
    std::string line;
    while (goes_on && end < text.size()) {
      const size_t newline = std::min(text.find('\n', end), text.size());
      const std::string_view part = text.substr(end, newline - end);
      goes_on = part.ends_with('\\');
      line += std::string(part.substr(0, part.size() - size_t(goes_on))) + " ";
      end = std::min(newline + 1, text.size());
    }
    if (const auto found = AccountRuleOf(line)) {
      has_rules = true;
      if (found->asks_adopt) return std::string(text);
      if (found->may_end) return std::string(text.substr(0, begin)) + rule + std::string(text.substr(begin));
    }
    begin = end;
  }
  if (!has_rules) return Fail(Code::kInvalid, "it has no rule that asks whether an account may be used");
  return std::string(text) + (text.ends_with('\n') ? "" : "\n") + rule;
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
