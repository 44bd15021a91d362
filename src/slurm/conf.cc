#include "slurm/conf.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestShown = 80;  // bytes of a user's word that are repeated

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

// Visits the lines that say something with their numbers, continuations joined and escapes undone; until `visit` returns
// false. The text of a line is good during the call.
template <class Visit>
void ForEachLogicalLine(std::string_view text, Visit visit) {
  size_t number = 0, began = 0;  // 0: no line is open
  std::string joined;            // of the one that is open: what comes before
  const auto close = [&](std::string_view end) {
    if (!joined.empty()) end = joined.append(end);
    const std::string_view line = Trim(end);
    const bool escaped = line.find('\\') != line.npos;
    const std::string plain = escaped ? WithoutEscapes(line) : std::string();
    const std::string_view said = escaped ? Trim(plain) : line;
    const bool more = said.empty() || visit(began, escaped ? std::string_view(plain) : line);
    began = 0;
    joined.clear();
    return more;
  };
  for (bool more = true; more;) {
    const size_t end = text.find('\n');
    const std::string_view line = TrimRight(WithoutComment(text.substr(0, end)));
    more = end != text.npos;
    text.remove_prefix(more ? end + 1 : text.size());
    ++number;
    if (began == 0) began = number;
    if (BackslashesBefore(line, line.size()) % 2 == 1) {
      joined += line.substr(0, line.size() - 1);
      continue;
    }
    if (!close(line)) return;
  }
  if (began != 0) close({});
}

// Takes the first item off `rest`. An answer is what is wrong.
std::optional<std::string> TakeItem(std::string_view& rest, ConfItem& item) {
  const std::string_view all = rest;
  size_t end = 0;
  while (end < rest.size() && IsKeyCharacter(rest[end])) ++end;
  item.key = rest.substr(0, end);
  rest.remove_prefix(end);
  rest = Trim(rest);
  if (item.key.empty() || rest.empty() || rest[0] != '=')
    return JsonQuoted(all.substr(0, all.find_first_of(" \t")).substr(0, kLongestShown)) +
           " is not of the form Key=Value";
  const auto shown = [&item] { return JsonQuoted(std::string_view(item.key).substr(0, kLongestShown)); };
  rest = Trim(rest.substr(1));
  if (rest.empty()) return shown() + " has no value";
  const bool quoted = rest[0] == '"';
  if (quoted) rest.remove_prefix(1);
  const size_t stop = quoted ? rest.find('"') : rest.find_first_of(" \t");
  if (quoted && stop == rest.npos) return shown() + " has a value whose '\"' is not closed";
  item.value = rest.substr(0, stop);
  rest.remove_prefix(std::min(rest.size(), stop == rest.npos ? rest.size() : stop + (quoted ? 1 : 0)));
  if (!rest.empty() && !IsBlank(rest[0])) return shown() + " has text directly after its closing '\"'";
  rest = Trim(rest);
  return std::nullopt;
}

// Makes `items` those of a logical line, with the memory that they have; an answer is what is wrong with it.
std::optional<std::string> TakeItems(std::string_view line, std::vector<ConfItem>& items) {
  std::string_view rest = Trim(line);
  // "Include FILE" is the one line of slurm.conf without an '='.
  if (EqualsIgnoreCase(rest.substr(0, rest.find_first_of(" \t")), "Include")) {
    const auto words = Words(rest);
    if (words.size() == 2 && words[1][0] != '=') {
      items = {{std::string(words[0]), std::string(words[1])}};
      return std::nullopt;
    }
  }
  size_t count = 0;
  while (!rest.empty()) {
    if (count == items.size()) items.emplace_back();
    if (auto wrong = TakeItem(rest, items[count++])) return wrong;
  }
  items.resize(count);
  return std::nullopt;
}

}  // namespace

Result<std::string> ConfValue(std::string_view value) {
  const std::string shown = JsonQuoted(value.substr(0, kLongestShown));
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

Result<void> ForEachConfLine(std::string_view text, const std::function<bool(const ConfLine&)>& visit) {
  ConfLine line;
  std::optional<std::string> wrong;
  ForEachLogicalLine(text, [&](size_t number, std::string_view said) {
    line.number = number;
    wrong = TakeItems(said, line.items);
    return !wrong && visit(line);
  });
  if (wrong) return Fail(Code::kInvalid, "line " + std::to_string(line.number) + ": " + *wrong);
  return {};
}

Result<std::vector<ConfLine>> ParseConf(std::string_view text) {
  std::vector<ConfLine> lines;
  CAPSTAN_CHECK_OK(ForEachConfLine(text, [&lines](const ConfLine& line) {
    lines.push_back(line);
    return true;
  }));
  return lines;
}

Result<std::vector<ConfItem>> ParseConfItems(std::string_view text, std::string_view where) {
  const std::string_view line = Trim(text);
  if (line.find_first_of("\r\n") != line.npos)
    return Fail(Code::kInvalid, std::string(where) + " holds a line break; its items belong on one line");
  const std::string plain = WithoutEscapes(WithoutComment(line));
  std::vector<ConfItem> items;
  if (const auto wrong = TakeItems(plain, items)) return Fail(Code::kInvalid, std::string(where) + ": " + *wrong);
  return items;
}

std::vector<ConfItem> MergedOptions(std::span<const ConfItem> required, std::string_view user_text) {
  std::map<std::string, std::string> set_by_user;  // by lower-case key, the last wins
  std::vector<ConfItem> items;
  ForEachLogicalLine(user_text, [&](size_t, std::string_view line) {
    if (TakeItems(line, items)) return true;
    for (const ConfItem& item : items) {
      const auto is_it = [&item](const ConfItem& one) { return EqualsIgnoreCase(one.key, item.key); };
      if (std::ranges::any_of(required, is_it)) set_by_user[ToLower(item.key)] = item.value;
    }
    return true;
  });

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

bool IsReservedName(std::string_view name) {
  return EqualsIgnoreCase(name, "all") || EqualsIgnoreCase(name, "default");
}

std::optional<uint64_t> ConfNumber(std::string_view value) {
  const bool thousands = value.size() > 1 && (value.back() == 'k' || value.back() == 'K');
  if (thousands) value.remove_suffix(1);
  const bool hexadecimal = value.starts_with("0x") || value.starts_with("0X");
  if (hexadecimal) value.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  if (thousands && number > std::numeric_limits<uint64_t>::max() / 1024) return std::nullopt;
  return thousands ? number * 1024 : number;
}

std::string ConfHash(std::string_view text) {
  std::string plain;
  ForEachLogicalLine(text, [&plain](size_t, std::string_view line) {
    plain.append(line).append(1, '\n');
    return true;
  });
  return Sha256Hex(plain);
}

}  // namespace capstan::slurm
