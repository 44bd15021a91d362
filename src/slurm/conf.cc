#include "slurm/conf.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace capstan::slurm {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

bool IsControl(char c) { return uint8_t(c) < 0x20 || c == 0x7f; }

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool IsKey(std::string_view key) { return !key.empty() && std::ranges::all_of(key, IsKeyCharacter); }

// How many backslashes stand directly before `position`; an odd number escapes what is there.
size_t BackslashesBefore(std::string_view line, size_t position) {
  size_t count = 0;
  while (count < position && line[position - 1 - count] == '\\') ++count;
  return count;
}

std::string_view WithoutComment(std::string_view line) {
  for (size_t i = line.find('#'); i != line.npos; i = line.find('#', i + 1))
    if (BackslashesBefore(line, i) % 2 == 0) return line.substr(0, i);
  return line;
}

std::string WithoutEscapes(std::string_view line) {
  if (line.find('\\') == line.npos) return std::string(line);
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && ++i == line.size()) break;
    text += line[i];
  }
  return text;
}

std::string_view TrimRight(std::string_view line) {
  while (!line.empty() && (IsBlank(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

struct LogicalLine {
  size_t number = 0;
  std::string text;
};

// Lines that say something, continuations joined and escapes undone.
std::vector<LogicalLine> LogicalLines(std::string_view text) {
  std::vector<LogicalLine> lines;
  LogicalLine open;  // number 0: none
  const auto close = [&] {
    std::string said = WithoutEscapes(Trim(open.text));
    if (!Trim(said).empty()) lines.push_back({open.number, std::move(said)});
    open = {};
  };
  size_t number = 0;
  for (std::string_view physical : Split(text, '\n')) {
    ++number;
    const std::string_view line = TrimRight(WithoutComment(physical));
    if (open.number == 0) open.number = number;
    if (BackslashesBefore(line, line.size()) % 2 == 1) {
      open.text += line.substr(0, line.size() - 1);
      continue;
    }
    open.text += line;
    close();
  }
  close();
  return lines;
}

// Takes the first item off `rest`. An answer is what is wrong.
std::optional<std::string> TakeItem(std::string_view& rest, ConfItem& item) {
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  size_t end = 0;
  while (end < rest.size() && IsKeyCharacter(rest[end])) ++end;
  item.key = rest.substr(0, end);
  rest.remove_prefix(end);
  rest = Trim(rest);
  if (item.key.empty() || rest.empty() || rest[0] != '=') return JsonQuoted(word) + " is not of the form Key=Value";
  rest = Trim(rest.substr(1));
  if (rest.empty()) return JsonQuoted(item.key) + " has no value";
  const bool quoted = rest[0] == '"';
  if (quoted) rest.remove_prefix(1);
  const size_t stop = quoted ? rest.find('"') : rest.find_first_of(" \t");
  if (quoted && stop == rest.npos) return JsonQuoted(item.key) + " has a value whose '\"' is not closed";
  item.value = rest.substr(0, stop);
  rest.remove_prefix(std::min(rest.size(), stop == rest.npos ? rest.size() : stop + (quoted ? 1 : 0)));
  if (!rest.empty() && !IsBlank(rest[0])) return JsonQuoted(item.key) + " has text directly after its closing '\"'";
  rest = Trim(rest);
  return std::nullopt;
}

// The items of a logical line; an answer in `wrong` when it is malformed.
std::vector<ConfItem> ItemsOf(std::string_view line, std::optional<std::string>& wrong) {
  std::vector<ConfItem> items;
  std::string_view rest = Trim(line);
  // "Include FILE" is the one line of slurm.conf without an '='.
  if (const auto words = Words(rest); words.size() == 2 && EqualsIgnoreCase(words[0], "Include") && words[1][0] != '=')
    return {{std::string(words[0]), std::string(words[1])}};
  while (!rest.empty()) {
    ConfItem item;
    if ((wrong = TakeItem(rest, item))) return {};
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

Result<std::string> ConfValue(std::string_view value) {
  const std::string shown = JsonQuoted(value.substr(0, 80));
  if (value.empty()) return Fail(Code::kInvalid, "is empty, which a Slurm configuration cannot express; leave it out");
  if (std::ranges::any_of(value, IsControl)) {
    if (value.find_first_of("\n\r") != value.npos) return Fail(Code::kInvalid, shown + " holds a line break");
    return Fail(Code::kInvalid, shown + " holds a control character");
  }
  if (value.find('"') != value.npos)
    return Fail(Code::kInvalid, shown + " holds a double quote, which a Slurm configuration cannot express");
  std::string text;
  for (char c : value) {
    if (c == '#' || c == '\\') text += '\\';
    text += c;
  }
  return std::ranges::any_of(value, IsBlank) ? '"' + text + '"' : text;
}

void ConfText::Refuse(Error error) {
  if (refused_.empty()) refused_.push_back(std::move(error));
}

ConfText& ConfText::Section(std::string_view title) {
  if (std::ranges::any_of(title, IsControl))
    Refuse(Error(Code::kInvalid, "section title " + JsonQuoted(title) + " holds a line break or control character"));
  text_ += "#\n### " + std::string(title) + " ###\n";
  return *this;
}

ConfText& ConfText::Set(std::string_view key, std::string_view value) {
  const std::string lower = ToLower(key);
  if (std::ranges::find(keys_, lower) != keys_.end())
    Refuse(Error(Code::kInvalid, "configuration key " + std::string(key) + " is set twice"));
  keys_.push_back(lower);
  return Add(key, value);
}

ConfText& ConfText::Add(std::string_view key, std::string_view value) {
  const ConfItem item{std::string(key), std::string(value)};
  return Line(std::span(&item, 1));
}

ConfText& ConfText::Line(std::span<const ConfItem> items) {
  std::string line;
  for (const ConfItem& item : items) {
    if (!IsKey(item.key)) Refuse(Error(Code::kInvalid, "configuration key " + JsonQuoted(item.key) + " is not a name"));
    auto value = ConfValue(item.value);
    if (!value) return Refuse(std::move(value).error().WithContext("configuration value " + item.key)), *this;
    line += (line.empty() ? "" : " ") + item.key + "=" + *value;
  }
  text_ += line + "\n";
  return *this;
}

ConfText& ConfText::Verbatim(std::string_view text, std::string_view where) {
  std::string lines;
  for (std::string_view line : Split(text, '\n')) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const auto bad = std::ranges::find_if(line, [](char c) { return IsControl(c) && c != '\t'; });
    if (bad != line.end()) Refuse(Error(Code::kInvalid, std::string(where) + " holds a control character"));
    lines += line;
    lines += '\n';
  }
  while (lines.ends_with("\n\n")) lines.pop_back();
  if (lines == "\n") return *this;
  std::string_view last = std::string_view(lines).substr(0, lines.size() - 1);
  last = TrimRight(WithoutComment(last.substr(last.rfind('\n') + 1)));
  if (BackslashesBefore(last, last.size()) % 2 == 1)
    Refuse(Error(Code::kInvalid, std::string(where) + " ends in a '\\', which would swallow the line after it"));
  text_ += lines;
  return *this;
}

Result<std::string> ConfText::Build() const {
  if (!refused_.empty()) return Fail(refused_.front());
  if (text_.size() > kMaxBytes)
    return Fail(Code::kInvalid, "the configuration has " + std::to_string(text_.size()) + " bytes, more than the " +
                                    std::to_string(kMaxBytes) + " that fit into a ConfigMap");
  return text_;
}

Result<std::vector<ConfLine>> ParseConf(std::string_view text) {
  std::vector<ConfLine> lines;
  for (const LogicalLine& line : LogicalLines(text)) {
    std::optional<std::string> wrong;
    auto items = ItemsOf(line.text, wrong);
    if (wrong) return Fail(Code::kInvalid, "line " + std::to_string(line.number) + ": " + *wrong);
    lines.push_back({line.number, std::move(items)});
  }
  return lines;
}

Result<std::vector<ConfItem>> ParseConfItems(std::string_view text, std::string_view where) {
  const std::string_view line = Trim(text);
  if (line.find_first_of("\r\n") != line.npos)
    return Fail(Code::kInvalid, std::string(where) + " holds a line break; its items belong on one line");
  const std::string plain = WithoutEscapes(WithoutComment(line));
  std::optional<std::string> wrong;
  auto items = ItemsOf(plain, wrong);
  if (wrong) return Fail(Code::kInvalid, std::string(where) + ": " + *wrong);
  return items;
}

std::vector<ConfItem> MergedOptions(std::span<const ConfItem> required, std::string_view user_text) {
  std::map<std::string, std::string> set_by_user;  // by lower-case key, the last wins
  for (const LogicalLine& line : LogicalLines(user_text)) {
    std::optional<std::string> wrong;
    for (ConfItem& item : ItemsOf(line.text, wrong)) set_by_user[ToLower(item.key)] = std::move(item.value);
  }

  std::vector<ConfItem> merged;
  for (const ConfItem& item : required) {
    const auto user = set_by_user.find(ToLower(item.key));
    if (user == set_by_user.end()) continue;
    std::map<std::string, std::string> options;  // by lower-case name
    const auto add = [&options](std::string_view list) {
      for (std::string_view option : Split(list, ',')) {
        option = Trim(option);
        if (!option.empty()) options[ToLower(option.substr(0, option.find('=')))] = option;
      }
    };
    add(user->second);
    add(item.value);
    std::vector<std::string> words;
    for (auto& [name, option] : options) words.push_back(std::move(option));
    std::ranges::sort(words);
    merged.push_back({item.key, Join(words, ",")});
  }
  std::ranges::sort(merged, {}, &ConfItem::key);
  return merged;
}

std::string ConfHash(std::string_view text) {
  std::string plain;
  for (const LogicalLine& line : LogicalLines(text)) plain += line.text + "\n";
  return Sha256Hex(plain);
}

}  // namespace capstan::slurm
