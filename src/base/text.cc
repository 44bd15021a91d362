#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace capstan {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

char Lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

bool IsLetterOrDigit(char c) { return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z'); }

// Length of the valid UTF-8 sequence at the front of `text`; 0 when there is none (overlong forms and
// surrogates included).
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool second = lead == 0xE0 ? follows(1, 0xA0) : lead == 0xED ? follows(1, 0x80, 0x9F) : follows(1);
    return second && follows(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool second = lead == 0xF0 ? follows(1, 0x90) : lead == 0xF4 ? follows(1, 0x80, 0x8F) : follows(1);
    return second && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// Stands for itself in a JSON string.
bool IsPlain(char c) { return c >= 0x20 && c != '"' && c != '\\'; }

void AppendControl(std::string& out, char c) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out.append("\\u00").append(1, kHex[(c >> 4) & 15]).append(1, kHex[c & 15]);
  }
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    pieces.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = text.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const size_t end = text.find_first_of(kBlank, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end == std::string_view::npos ? end : text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), Lower);
  return lower;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) { return std::ranges::equal(a, b, {}, Lower, Lower); }

std::string OneLine(std::string_view text, size_t limit) {
  std::string line;
  for (const char c : text.substr(0, std::min(text.size(), 4 * limit))) {
    if (c == '\t' || c == '\n' || c == '\r')
      line += ' ';
    else if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)
      line += c;
  }
  size_t end = std::min(line.size(), limit);
  while (end > 0 && end < line.size() && (line[end] & 0xc0) == 0x80) --end;
  return std::string(Trim(std::string_view(line).substr(0, end)));
}

std::string JsonQuoted(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 16 + 2);
  out += '"';
  while (!text.empty()) {
    const size_t plain = size_t(std::ranges::find_if_not(text, IsPlain) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    size_t taken = 1;
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<uint8_t>(c) < 0x20) {
      AppendControl(out, c);
    } else if (const size_t length = Utf8Length(text); length > 0) {
      out.append(text.substr(0, length));
      taken = length;
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(taken);
  }
  out += '"';
  return out;
}

std::string PercentEncoded(std::string_view text, std::string_view plain) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsLetterOrDigit(c) || plain.contains(c))
      out += c;
    else
      out += {'%', kHex[static_cast<uint8_t>(c) >> 4], kHex[c & 15]};
  }
  return out;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    uint8_t byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    out += char(byte);
    i += 2;
  }
  return out;
}

std::optional<int64_t> ParseInt(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace capstan
