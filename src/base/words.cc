#include "base/words.h"

namespace capstan {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Appends what stands in the quotes that open at text[at]; returns the index behind them, npos when they
// never close.
size_t TakeQuoted(std::string_view text, size_t at, std::string* word) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    const bool escapes = quote == '"' && text[at] == '\\' && at + 1 < text.size();
    if (escapes && std::string_view("\\\"$`").contains(text[at + 1])) ++at;
    *word += text[at];
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::vector<std::string>> SplitWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    if (IsBlank(text[at])) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
      ++at;
      continue;
    }
    in_word = true;
    if (text[at] == '\'' || text[at] == '"') {
      const size_t behind = TakeQuoted(text, at, &word);
      if (behind == std::string_view::npos) {
        return Fail(Code::kInvalid, std::string("the quote ") + text[at] + " is never closed in: " + std::string(text));
      }
      at = behind;
      continue;
    }
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    word += text[at++];
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_of(" \t\n\r'\"\\") == std::string::npos) {
      text += word;
      continue;
    }
    text += '"';
    for (const char c : word) {
      if (std::string_view("\\\"$`").contains(c)) text += '\\';
      text += c;
    }
    text += '"';
  }
  return text;
}

}  // namespace capstan
