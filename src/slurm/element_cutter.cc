#include "slurm/element_cutter.h"

#include <algorithm>

#include "base/text.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestKey = 256;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool Opens(char c) { return c == '{' || c == '['; }
bool Closes(char c) { return c == '}' || c == ']'; }

std::vector<std::string> PathOf(std::string_view array) {
  const auto parts = Split(array, '/');
  return {parts.begin(), parts.end()};
}

}  // namespace

ElementCutter::ElementCutter(std::string array, OnElement on_element, Limits limits)
    : path_(PathOf(array)), on_element_(std::move(on_element)), limits_(limits) {}

Result<void> ElementCutter::Feed(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (state_ == State::kElement) i += TakePlain(bytes.substr(i));
    if (i == bytes.size()) break;
    const char c = bytes[i];
    switch (state_) {
      case State::kBefore:
        if (IsSpace(c)) break;
        if (c != '{') return Fail(Code::kInvalid, "the answer is not a JSON object");
        rest_ += c;
        depth_ = 1;
        state_ = State::kInside;
        break;
      case State::kInside:
        CAPSTAN_CHECK_OK(Outside(c));
        break;
      case State::kArray:
        CAPSTAN_CHECK_OK(Array(c));
        break;
      case State::kElement:
        CAPSTAN_CHECK_OK(Element(c));
        break;
      case State::kDone:
        if (!IsSpace(c)) return Fail(Code::kInvalid, "the answer goes on after its end");
        break;
    }
  }
  return {};
}

// Of an element, what changes nothing but its length; how much that is.
size_t ElementCutter::TakePlain(std::string_view bytes) {
  if (escaped_) return 0;
  size_t plain = 0;
  if (in_string_)
    while (plain < bytes.size() && bytes[plain] != '"' && bytes[plain] != '\\') ++plain;
  else
    while (plain < bytes.size() && bytes[plain] != '"' && bytes[plain] != ',' && !Opens(bytes[plain]) &&
           !Closes(bytes[plain]))
      ++plain;
  const size_t room = limits_.element_bytes - std::min(limits_.element_bytes, element_.size());
  element_ += bytes.substr(0, std::min(plain, room));
  return std::min(plain, room);
}

// True when `c` belongs to a string, its closing quote included.
bool ElementCutter::InString(char c) {
  if (!in_string_) {
    in_string_ = c == '"';
    return in_string_;
  }
  if (escaped_) {
    escaped_ = false;
  } else if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_string_ = false;
  }
  return true;
}

// Keeps the last string before a ':' in the innermost object of the path, to know whose value comes.
void ElementCutter::Key(char c) {
  if (depth_ != level_ + 1) return;
  if (in_string_ && c != '"') {
    if (word_.size() < kLongestKey) word_ += c;
  } else if (c == ':') {
    key_ = std::move(word_);
    word_.clear();
  } else if (c == ',') {
    key_.clear();
    word_.clear();
  }
}

// What opens now is the next part of the path.
bool ElementCutter::AtPath() const { return depth_ == level_ + 1 && key_ == path_[size_t(level_)]; }

Result<void> ElementCutter::Outside(char c) {
  if (rest_.size() >= limits_.rest_bytes) return Fail(Code::kInvalid, "the answer around its list is too large");
  rest_ += c;
  Key(c);
  if (InString(c)) return {};
  const bool last = size_t(level_) + 1 == path_.size();
  if (c == '[' && last && AtPath()) {
    state_ = State::kArray;
    key_.clear();
  } else if (Opens(c)) {
    if (c == '{' && !last && AtPath()) {
      ++level_;
      key_.clear();
    }
    ++depth_;
  } else if (Closes(c)) {
    if (--depth_ == 0) {
      state_ = State::kDone;
    } else if (depth_ == level_) {
      --level_;
      key_.clear();
      word_.clear();
    }
  }
  return {};
}

Result<void> ElementCutter::Array(char c) {
  if (IsSpace(c) || c == ',') return {};
  if (c == ']') {
    rest_ += c;
    state_ = State::kInside;
    return {};
  }
  element_.clear();
  depth_ = 0;
  state_ = State::kElement;
  return Element(c);
}

Result<void> ElementCutter::Element(char c) {
  if (!InString(c)) {
    if (Opens(c)) ++depth_;
    const bool list_ends = depth_ == 0 && c == ']';
    if (Closes(c)) --depth_;
    if (list_ends || (depth_ == 0 && c == ',')) {
      depth_ = level_ + 1;
      state_ = State::kArray;
      CAPSTAN_CHECK_OK(on_element_(element_));
      return list_ends ? Array(c) : Result<void>();
    }
    if (depth_ < 0) return Fail(Code::kInvalid, "the answer's brackets do not match");
  }
  if (element_.size() >= limits_.element_bytes)
    return Fail(Code::kInvalid, "one element of the answer's list is too large");
  element_ += c;
  return {};
}

}  // namespace capstan::slurm
