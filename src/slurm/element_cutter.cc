#include "slurm/element_cutter.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/text.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestKey = 256;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool Opens(char c) { return c == '{' || c == '['; }
bool Closes(char c) { return c == '}' || c == ']'; }

using Bytes = uint8_t __attribute__((ext_vector_type(64)));
using Bits = bool __attribute__((ext_vector_type(64)));

// A bit for each byte that is not 0, the first one lowest.
template <class Vector>
uint64_t MaskOf(const Vector& bytes) {
  return std::bit_cast<uint64_t>(__builtin_convertvector(bytes, Bits));
}

// The bits from an odd quote up to the next one, without that.
uint64_t BetweenQuotes(uint64_t quotes) {
  for (int shift = 1; shift < 64; shift *= 2) quotes ^= quotes << shift;
  return quotes;
}

std::vector<std::string> PathOf(std::string_view array) {
  const auto parts = Split(array, '/');
  return {parts.begin(), parts.end()};
}

}  // namespace

ElementCutter::ElementCutter(std::string array, OnElement on_element, Limits limits)
    : path_(PathOf(array)), on_element_(std::move(on_element)), limits_(limits) {}

Result<void> ElementCutter::Feed(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    if (state_ == State::kElement) {
      CAPSTAN_TRY(i, Element(bytes, i));
      continue;
    }
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
        if (state_ == State::kElement) continue;  // which begins with this byte
        break;
      case State::kElement:
        break;
      case State::kDone:
        if (!IsSpace(c)) return Fail(Code::kInvalid, "the answer goes on after its end");
        break;
    }
    ++i;
  }
  return {};
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
  depth_ = 0;
  state_ = State::kElement;
  return {};
}

// Of 64 bytes of an element, those that change the depth are found at once, without a branch for each. False, and nothing is
// taken: the element may end here, or there is an escape.
bool ElementCutter::TakeBlock(const char* bytes) {
  Bytes block;
  std::memcpy(&block, bytes, sizeof block);
  if (depth_ == 0 || escaped_ || MaskOf(block == '\\') != 0) return false;
  const uint64_t strings = BetweenQuotes(MaskOf(block == '"')) ^ (in_string_ ? ~uint64_t{0} : 0);
  const Bytes folded = block | 0x20;  // '[' and '{' are the same then, and so are ']' and '}'
  const uint64_t opens = MaskOf(folded == '{') & ~strings;
  const uint64_t closes = MaskOf(folded == '}') & ~strings;
  int depth = depth_ + std::popcount(opens) - std::popcount(closes);
  if (std::popcount(closes) >= depth_) {
    depth = depth_;
    for (uint64_t left = opens | closes; left != 0; left &= left - 1) {
      depth += (opens & left & -left) != 0 ? 1 : -1;
      if (depth == 0) return false;
    }
  }
  depth_ = depth;
  in_string_ = strings >> 63;
  return true;
}

// Moves `at` behind what belongs to the element.
ElementCutter::Stop ElementCutter::Scan(std::string_view bytes, size_t& at) {
  while (at < bytes.size()) {
    if (bytes.size() - at >= sizeof(Bytes) && TakeBlock(bytes.data() + at)) {
      at += sizeof(Bytes);
      continue;
    }
    for (const size_t end = std::min(bytes.size(), at + sizeof(Bytes)); at < end; ++at) {
      const char c = bytes[at];
      if (InString(c)) continue;
      if (depth_ == 0 && (c == ',' || c == ']')) return Stop::kEnd;
      if (Opens(c)) ++depth_;
      if (Closes(c) && --depth_ < 0) return Stop::kMismatch;
    }
  }
  return Stop::kNone;
}

// Where the element, or what is there of it, ends.
Result<size_t> ElementCutter::Element(std::string_view bytes, size_t from) {
  size_t at = from;
  const Stop stop = Scan(bytes, at);
  const std::string_view part = bytes.substr(from, at - from);
  if (element_.size() + part.size() > limits_.element_bytes)
    return Fail(Code::kInvalid, "one element of the answer's list is too large");
  if (stop == Stop::kMismatch) return Fail(Code::kInvalid, "the answer's brackets do not match");
  if (stop == Stop::kEnd && element_.empty()) {
    CAPSTAN_CHECK_OK(on_element_(part));
  } else {
    element_ += part;
    if (stop == Stop::kNone) return at;
    CAPSTAN_CHECK_OK(on_element_(element_));
    element_.clear();
  }
  depth_ = level_ + 1;
  state_ = State::kArray;
  return at;
}

}  // namespace capstan::slurm
