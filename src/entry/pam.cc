#include "entry/pam.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "base/text.h"
#include "entry/files.h"

namespace capstan::entry {
namespace {

constexpr const char* kService = "/etc/pam.d/sshd";
constexpr std::string_view kStrict = "action_adopt_failure=deny action_generic_failure=deny";

// Some libpam reads no more of a line at once, and takes the rest for a line of its own.
constexpr size_t kLongestPamLine = 1000;

// What a line of a PAM service has to do with whether an account may be used.
enum class Line : uint8_t {
  kNothing,    // a rule for something else, a comment
  kMust,       // a rule that must succeed, and lets nobody in by itself
  kAsksAdopt,  // pam_slurm_adopt, whose refusal counts at the end
  kAdoptEnds,  // the same, and its refusal is the end
  kMayEnd,     // somebody may be in after it, whatever comes behind; or it is not known how each libpam reads it
};

bool IsPlain(std::string_view line) {
  const std::string_view rule = line.substr(0, line.find('#'));  // what stands behind goes on in no other line
  return line.size() <= kLongestPamLine && !rule.contains('\\') &&
         std::ranges::none_of(line, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

Line LineOf(std::string_view line) {
  if (!IsPlain(line)) return Line::kMayEnd;
  const std::vector<std::string_view> words = Words(line.substr(0, line.find('#')));
  if (words.empty()) return Line::kNothing;
  const auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> known) {
    return std::ranges::any_of(known, [word](std::string_view one) { return EqualsIgnoreCase(word, one); });
  };
  // Files of Debian without rules for accounts. Any other may have some.
  static constexpr std::array<std::string_view, 4> kOthers = {"common-auth", "common-password", "common-session",
                                                              "common-session-noninteractive"};
  if (words[0] == "@include" && words.size() == 2 && std::ranges::find(kOthers, words[1]) != kOthers.end())
    return Line::kNothing;
  std::string_view type = words[0];
  if (type.starts_with('-')) type.remove_prefix(1);  // a module that may be missing
  if (is_one_of(type, {"auth", "password", "session"})) return Line::kNothing;
  const bool must =
      EqualsIgnoreCase(words[0], "account") && words.size() > 2 && is_one_of(words[1], {"required", "requisite"});
  if (!must || words[2].starts_with('[')) return Line::kMayEnd;
  if (words[2].substr(words[2].rfind('/') + 1) != "pam_slurm_adopt.so") return Line::kMust;
  return EqualsIgnoreCase(words[1], "requisite") ? Line::kAdoptEnds : Line::kAsksAdopt;
}

}  // namespace

Result<std::string> WithSlurmAdopt(std::string_view text, std::string_view options) {
  if (options.size() > kLongestPamLine / 2 || !IsPlain(options) || options.contains('#'))
    return Fail(Code::kInvalid, "PAM_SLURM_ADOPT_OPTIONS must be words of one line, without backslashes and #");
  // A rule that is only required is forgotten by a later one with the action reset.
  const bool forgets = ToLower(text).contains("reset");
  const std::string rule = "account requisite pam_slurm_adopt.so " + std::string(options) + "\n";
  bool has_rules = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const Line what = LineOf(line);
    has_rules |= what != Line::kNothing;
    if (what == Line::kAdoptEnds || (what == Line::kAsksAdopt && !forgets)) return std::string(text);
    if (what == Line::kAsksAdopt || what == Line::kMayEnd)
      return std::string(text.substr(0, begin)) + rule + std::string(text.substr(begin));
    begin = end + 1;
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
