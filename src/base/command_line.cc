#include "base/command_line.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr LongOption kSlurmdLongs[] = {
    {"authinfo", true},    {"ca-cert-file", true},  {"conf", true},       {"conf-server", true}, {"extra", true},
    {"instance-id", true}, {"instance-type", true}, {"parameters", true}, {"systemd"},           {"version"}};
constexpr LongOption kSlurmctldLongs[] = {{"systemd"}, {"version"}};
constexpr LongOption kSlurmrestdLongs[] = {
    {"autocomplete", true}, {"generate-openapi-spec"}, {"help"}, {"max-connections", true}};

enum class Value { kNone, kAttachedOrNext, kAttached };

Value ValueOf(std::string_view letters, char letter) {
  const size_t at = letter == ':' ? letters.npos : letters.find(letter);
  if (at == letters.npos || !letters.substr(at + 1).starts_with(':')) return Value::kNone;
  return letters.substr(at + 1).starts_with("::") ? Value::kAttached : Value::kAttachedOrNext;
}

// nullptr: there is none of that name, or several begin so.
const LongOption* FindLong(std::span<const LongOption> longs, std::string_view name) {
  const LongOption* found = nullptr;
  for (const LongOption& one : longs) {
    if (one.name == name) return &one;
    if (!one.name.starts_with(name)) continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found;
}

// One pass over the words.
class Taking {
 public:
  Taking(const OptionSyntax& syntax, std::span<const std::string_view> wanted, std::vector<std::string>& words)
      : syntax_(syntax), wanted_(wanted), words_(words) {}

  std::vector<TakenOption> Run() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (word == "--") break;
      if (word.starts_with("--"))
        Long(word);
      else if (word.size() > 1 && word.starts_with('-'))
        Short(word);
      else
        kept_.push_back(word);
    }
    kept_.insert(kept_.end(), words_.begin() + ptrdiff_t(at_), words_.end());
    words_ = std::move(kept_);
    return std::move(taken_);
  }

 private:
  bool IsWanted(std::string_view name) const { return std::ranges::find(wanted_, name) != wanted_.end(); }

  // The word after this one, which belongs to it; "" at the end.
  std::string Next() { return at_ + 1 < words_.size() ? words_[++at_] : std::string(); }

  void Long(const std::string& word) {
    const size_t equals = word.find('=');
    const LongOption* option = FindLong(syntax_.longs, std::string_view(word).substr(2, equals - 2));
    const bool value_follows = option != nullptr && option->valued && equals == word.npos;
    if (option == nullptr || !IsWanted("--" + std::string(option->name))) {
      kept_.push_back(word);
      if (value_follows && at_ + 1 < words_.size()) kept_.push_back(Next());
      return;
    }
    std::string value = value_follows ? Next() : equals == word.npos ? "" : word.substr(equals + 1);
    taken_.push_back({"--" + std::string(option->name), std::move(value)});
  }

  // Several letters in one word; what follows one with a value is that value.
  void Short(const std::string& word) {
    std::string kept = "-";
    for (size_t i = 1; i < word.size(); ++i) {
      const std::string name{'-', word[i]};
      const Value value = ValueOf(syntax_.letters, word[i]);
      const bool wanted = IsWanted(name);
      if (value == Value::kNone) {
        if (wanted)
          taken_.push_back({name, ""});
        else
          kept += word[i];
        continue;
      }
      const std::string attached = word.substr(i + 1);
      const bool next = attached.empty() && value == Value::kAttachedOrNext;
      if (wanted) {
        taken_.push_back({name, next ? Next() : attached});
        break;
      }
      kept_.push_back(kept + word[i] + attached);
      if (next && at_ + 1 < words_.size()) kept_.push_back(Next());
      return;
    }
    if (kept != "-") kept_.push_back(kept);
  }

  const OptionSyntax& syntax_;
  const std::span<const std::string_view> wanted_;
  std::vector<std::string>& words_;
  std::vector<std::string> kept_;
  std::vector<TakenOption> taken_;
  size_t at_ = 0;
};

}  // namespace

constinit const OptionSyntax kSlurmdSyntax{"bcCd:Df:F::GhL:Mn:N:svVZ", kSlurmdLongs};
constinit const OptionSyntax kSlurmctldSyntax{"cdDf:hiL:n:rRsvV", kSlurmctldLongs};
constinit const OptionSyntax kSlurmrestdSyntax{"a:d:f:g:hs:t:u:vV", kSlurmrestdLongs};

std::vector<TakenOption> TakeOptions(const OptionSyntax& syntax, std::span<const std::string_view> wanted,
                                     std::vector<std::string>* words) {
  return Taking(syntax, wanted, *words).Run();
}

}  // namespace capstan
