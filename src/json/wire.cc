#include "json/wire.h"

namespace capstan::json {

std::optional<uint64_t> Wire::TakeVarint(std::string_view& bytes) {
  constexpr size_t kLongest = 10;
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < kLongest; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (i == kLongest - 1 && byte > 1) return std::nullopt;
    value |= uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) return bytes.remove_prefix(i + 1), value;
  }
  return std::nullopt;
}

bool Wire::Next(Field& field) {
  if (rest_.empty() || broken_) return false;
  constexpr uint64_t kLargestNumber = (uint64_t{1} << 29) - 1;
  const std::optional<uint64_t> tag = TakeVarint(rest_);
  const uint64_t number = tag.value_or(0) >> 3;
  if (number == 0 || number > kLargestNumber) return broken_ = true, false;
  field = {uint32_t(number), Type(*tag & 7), 0, {}};
  broken_ = !TakeValue(field);
  return !broken_;
}

bool Wire::TakeValue(Field& field) {
  switch (field.type) {
    case Type::kFixed64:
      return TakeFixed(field, 8);
    case Type::kFixed32:
      return TakeFixed(field, 4);
    case Type::kVarint:
    case Type::kBytes:
      break;
    default:
      return false;
  }
  const std::optional<uint64_t> number = TakeVarint(rest_);
  if (!number) return false;
  if (field.type == Type::kVarint) return field.value = *number, true;
  if (*number > rest_.size()) return false;
  field.bytes = rest_.substr(0, size_t(*number));
  rest_.remove_prefix(field.bytes.size());
  return true;
}

bool Wire::TakeFixed(Field& field, size_t size) {
  if (rest_.size() < size) return false;
  for (size_t i = 0; i < size; ++i) field.value |= uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(size);
  return true;
}

}  // namespace capstan::json
