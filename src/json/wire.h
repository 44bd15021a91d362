// The fields of one protobuf message, cut out of it one after the other; nothing of them is decoded or copied.
//
//   json::Wire wire(message);
//   for (json::Wire::Field field; wire.Next(field);)
//     if (field.number == 2 && field.type == json::Wire::Type::kBytes) ...field.bytes...
//   if (wire.broken()) ...
//
// A field that nobody asks for costs the reading of its head. Bytes are never read beyond the message, whatever it
// says. Groups, which Kubernetes has none of, count as broken.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace capstan::json {

class Wire {
 public:
  enum class Type : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    uint32_t number = 0;
    Type type = Type::kVarint;
    uint64_t value = 0;      // of a number, negative ones as two's complement; 0 for kBytes
    std::string_view bytes;  // of kBytes: text, a message, or packed numbers; else empty
  };

  explicit Wire(std::string_view message) : rest_(message) {}

  // False at the end, and from the first thing on that is no field.
  bool Next(Field& field);
  bool broken() const { return broken_; }

  // A number off the front of `bytes`; nullopt leaves it as it is: it is not whole, or longer than 64 bits.
  static std::optional<uint64_t> TakeVarint(std::string_view& bytes);

 private:
  bool TakeValue(Field& field);
  bool TakeFixed(Field& field, size_t size);

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace capstan::json
