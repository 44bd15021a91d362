#include "entry/last_words.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"

namespace capstan::entry {
namespace {

constexpr size_t kLongestLine = 1024;  // the rest of one is passed over
constexpr size_t kMostWrong = 2;
constexpr std::string_view kHidden = "***";

// Where the value of the first option begins whose name has "pass" in it; npos: there is none.
size_t PasswordIn(std::string_view line) {
  for (size_t equals = line.find('='); equals != line.npos; equals = line.find('=', equals + 1)) {
    const std::string_view before = Trim(line.substr(0, equals));
    const size_t blank = before.find_last_of(" \t\",");
    if (ToLower(before.substr(blank == before.npos ? 0 : blank + 1)).contains("pass")) return equals + 1;
  }
  return line.npos;
}

// The pieces of a value that a message may hold, the longest first: all from each of its words on, and the words; also
// without escapes. One or two bytes are in any text.
using Pieces = std::set<std::pair<size_t, std::string>, std::greater<>>;
void AddPieces(std::string_view value, Pieces* pieces) {
  std::string plain(value);
  std::ranges::replace(plain, '"', ' ');
  const auto add = [pieces](std::string piece) {
    if (piece.size() > 2) pieces->emplace(piece.size(), piece);
    std::erase(piece, '\\');
    if (piece.size() > 2) pieces->emplace(piece.size(), piece);
  };
  const std::string_view all = Trim(plain);
  for (const std::string_view word : Words(all)) {
    add(std::string(word));
    add(std::string(all.substr(static_cast<size_t>(word.data() - all.data()))));
  }
}

}  // namespace

std::string WithoutPasswords(std::string text, const Configuration& configuration) {
  Pieces pieces;
  for (const auto& [name, file] : configuration.files) {
    bool goes_on = false;
    for (const std::string_view line : Split(file, '\n')) {
      const size_t value = goes_on ? 0 : PasswordIn(line);
      goes_on = value != line.npos && Trim(line).ends_with('\\');
      if (value != line.npos) AddPieces(line.substr(value), &pieces);
    }
  }
  for (const auto& [size, piece] : pieces) {
    for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + kHidden.size()))
      text.replace(at, size, kHidden);
  }
  if (const size_t value = PasswordIn(text); value != text.npos) text.replace(value, text.npos, kHidden);
  return text;
}

void LastWords::Hear(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte == '\n')
      HearLine();
    else if (line_.size() < kLongestLine)
      line_ += byte;
  }
}

void LastWords::HearLine() {
  const std::string said = std::exchange(line_, {});
  if (Trim(said).empty()) return;
  last_ = Trim(said);
  const size_t wrong = std::min(said.find("fatal: "), said.find("error: "));
  if (wrong == said.npos) return;
  wrong_.emplace_back(Trim(std::string_view(said).substr(wrong)));
  if (wrong_.size() > kMostWrong) wrong_.pop_front();
}

std::string LastWords::Quote(const Configuration& configuration, size_t limit) const {
  const auto shown = [&](const std::string& line) { return OneLine(WithoutPasswords(line, configuration), limit); };
  if (wrong_.empty()) return shown(last_);
  std::string quote;
  for (auto line = wrong_.rbegin(); line != wrong_.rend(); ++line) {
    const std::string more = shown(*line);
    if (quote.empty())
      quote = more;
    else if (more.size() + 2 + quote.size() <= limit)
      quote = more + "; " + quote;
    else
      break;
  }
  return quote;
}

}  // namespace capstan::entry
