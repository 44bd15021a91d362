#include "json/place.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "base/text.h"

namespace capstan::json {
namespace {

bool IsPlainKey(std::string_view key) {
  for (const char c : key) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '$') return false;
  }
  return !key.empty();
}

void AppendPath(std::string& out, const Frame* frame) {
  if (frame == nullptr) return;
  AppendPath(out, frame->parent);
  if (frame->index >= 0) {
    out += "[" + std::to_string(frame->index) + "]";
  } else if (IsPlainKey(frame->key)) {
    if (!out.empty()) out += '.';
    out += frame->key;
  } else {
    out += "[" + JsonQuoted(frame->key) + "]";
  }
}

template <class Integer>
bool Store(void* out, int64_t value) {
  if (!std::in_range<Integer>(value)) return false;
  *static_cast<Integer*>(out) = static_cast<Integer>(value);
  return true;
}

}  // namespace

std::string PathText(const Frame* frame, std::string_view root) {
  if (frame == nullptr) return std::string(root);
  std::string path;
  AppendPath(path, frame);
  return path;
}

bool StoreInteger(const Type& type, void* out, int64_t value) {
  switch (type.bytes) {
    case 1:
      return type.is_signed ? Store<int8_t>(out, value) : Store<uint8_t>(out, value);
    case 2:
      return type.is_signed ? Store<int16_t>(out, value) : Store<uint16_t>(out, value);
    case 4:
      return type.is_signed ? Store<int32_t>(out, value) : Store<uint32_t>(out, value);
    default:
      return type.is_signed ? Store<int64_t>(out, value) : Store<uint64_t>(out, value);
  }
}

std::string RangeText(const Type& type) {
  const int bits = type.bytes * 8 - (type.is_signed ? 1 : 0);
  const uint64_t most = bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1;
  const std::string least = type.is_signed ? "-" + std::to_string(uint64_t{1} << bits) : "0";
  return "an integer from " + least + " to " + std::to_string(most);
}

bool StoreIntegerText(const Type& type, void* out, std::string_view text) {
  if (text.empty()) return true;
  if (type.bytes < 8 || type.is_signed) {
    const std::optional<int64_t> number = ParseInt(text);
    return number && StoreInteger(type, out, *number);
  }
  uint64_t large = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), large);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *static_cast<uint64_t*>(out) = large;
  return true;
}

}  // namespace capstan::json
