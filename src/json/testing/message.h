// Protobuf messages for tests, field by field.
//
//   Message().Text(1, "pod-1").Number(2, 7).Inside(3, Message().Text(1, "x")).bytes()
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace capstan::json::testing {

class Message {
 public:
  Message& Number(uint32_t number, int64_t value) { return Tag(number, 0), Varint(uint64_t(value)), *this; }
  Message& Text(uint32_t number, std::string_view text) {
    Tag(number, 2);
    Varint(text.size());
    bytes_ += text;
    return *this;
  }
  Message& Inside(uint32_t number, const Message& message) { return Text(number, message.bytes_); }
  Message& Entry(uint32_t number, std::string_view key, std::string_view value) {
    return Inside(number, Message().Text(1, key).Text(2, value));
  }
  Message& Fixed(uint32_t number, std::string_view little_endian) {  // 4 or 8 bytes
    Tag(number, little_endian.size() == 4 ? 5 : 1);
    bytes_ += little_endian;
    return *this;
  }
  Message& Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += char(value | 0x80);
    bytes_ += char(value);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Tag(uint32_t number, uint32_t type) { Varint(number << 3 | type); }

  std::string bytes_;
};

}  // namespace capstan::json::testing
