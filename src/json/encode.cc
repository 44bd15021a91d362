#include <charconv>
#include <cmath>
#include <cstring>

#include "base/text.h"
#include "json/codec.h"

namespace capstan::json {
namespace {

int64_t LoadSigned(uint8_t bytes, const void* value) {
  switch (bytes) {
    case 1:
      return *static_cast<const int8_t*>(value);
    case 2:
      return *static_cast<const int16_t*>(value);
    case 4:
      return *static_cast<const int32_t*>(value);
    default:
      return *static_cast<const int64_t*>(value);
  }
}

uint64_t LoadUnsigned(uint8_t bytes, const void* value) {
  switch (bytes) {
    case 1:
      return *static_cast<const uint8_t*>(value);
    case 2:
      return *static_cast<const uint16_t*>(value);
    case 4:
      return *static_cast<const uint32_t*>(value);
    default:
      return *static_cast<const uint64_t*>(value);
  }
}

template <class Number>
void AppendNumber(std::string& out, Number value) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void AppendInteger(std::string& out, const Type& type, const void* value) {
  if (type.is_signed) {
    AppendNumber(out, LoadSigned(type.bytes, value));
  } else {
    AppendNumber(out, LoadUnsigned(type.bytes, value));
  }
}

void AppendObject(std::string& out, const Schema& schema, const void* object) {
  out += '{';
  bool first = true;
  for (const Member& member : schema.members()) {
    const void* value = member.at(object);
    if (member.decode_only() || (!member.always() && IsUnset(member.type(), value))) continue;
    if (!first) out += ',';
    first = false;
    AppendQuoted(out, member.name());
    out += ':';
    if (member.as_text()) out += '"';
    EncodeValue(member.type(), value, out);
    if (member.as_text()) out += '"';
  }
  out += '}';
}

struct ElementsContext {
  std::string& out;
  const Type& type;
  bool first = true;
};

void AppendElement(void* context, std::string_view key, const void* element) {
  auto& at = *static_cast<ElementsContext*>(context);
  if (!at.first) at.out += ',';
  at.first = false;
  if (at.type.kind == Kind::kMap) {
    AppendQuoted(at.out, key);
    at.out += ':';
  }
  EncodeValue(*at.type.element, element, at.out);
}

void AppendElements(std::string& out, const Type& type, const void* value, char open, char close) {
  ElementsContext context{out, type};
  out += open;
  type.each(value, &AppendElement, &context);
  out += close;
}

bool ObjectIsUnset(const Schema& schema, const void* object) {
  for (const Member& member : schema.members()) {
    if (!member.decode_only() && !IsUnset(member.type(), member.at(object))) return false;
  }
  return true;
}

bool HasNoElement(const Type& type, const void* value) {
  bool none = true;
  type.each(value, [](void* context, std::string_view, const void*) { *static_cast<bool*>(context) = false; }, &none);
  return none;
}

}  // namespace

bool IsUnset(const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::kBool:
      return !*static_cast<const bool*>(value);
    case Kind::kInteger:
      return LoadUnsigned(type.bytes, value) == 0;
    case Kind::kNumber:
      return *static_cast<const double*>(value) == 0;
    case Kind::kString:
      return type.view(value).empty();
    case Kind::kTime:
      return *static_cast<const Time*>(value) == Time();
    case Kind::kSecret:
      return static_cast<const Secret*>(value)->empty();
    case Kind::kRaw:
      return static_cast<const Raw*>(value)->empty();
    case Kind::kDigest:
      return true;
    case Kind::kIntOrString:
      return *static_cast<const IntOrString*>(value) == IntOrString();
    case Kind::kObject:
      return ObjectIsUnset(type.schema(), value);
    case Kind::kOptional:
    case Kind::kList:
    case Kind::kMap:
      return HasNoElement(type, value);
  }
  return true;
}

void EncodeValue(const Type& type, const void* value, std::string& out) {
  switch (type.kind) {
    case Kind::kBool:
      out += *static_cast<const bool*>(value) ? "true" : "false";
      return;
    case Kind::kInteger:
      return AppendInteger(out, type, value);
    case Kind::kNumber: {
      const double number = *static_cast<const double*>(value);
      if (!std::isfinite(number)) {
        out += "null";  // JSON has no word for it
      } else {
        AppendNumber(out, number);
      }
      return;
    }
    case Kind::kString:
      return AppendQuoted(out, type.view(value));
    case Kind::kTime:
      return AppendQuoted(out, FormatRfc3339(*static_cast<const Time*>(value)));
    case Kind::kSecret:
      return AppendQuoted(out, static_cast<const Secret*>(value)->Reveal());
    case Kind::kRaw: {
      const auto& raw = *static_cast<const Raw*>(value);
      out += raw.empty() ? std::string_view("null") : std::string_view(raw.text);
      return;
    }
    case Kind::kDigest:
      out += "null";
      return;
    case Kind::kIntOrString: {
      const auto& either = *static_cast<const IntOrString*>(value);
      if (either.is_number()) return AppendNumber(out, either.number());
      return AppendQuoted(out, either.text());
    }
    case Kind::kObject:
      return AppendObject(out, type.schema(), value);
    case Kind::kOptional: {
      if (HasNoElement(type, value)) {
        out += "null";
        return;
      }
      ElementsContext context{out, type};
      type.each(value, &AppendElement, &context);
      return;
    }
    case Kind::kList:
      return AppendElements(out, type, value, '[', ']');
    case Kind::kMap:
      return AppendElements(out, type, value, '{', '}');
  }
}

// Whether every byte stands for itself in a JSON string.
static bool AllPlain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHighs = 0x80 * kOnes;
  const auto special = [](uint64_t eight) {  // the high bit of each byte that is not plain, at least of the lowest
    const auto zeros = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
    return (eight | (eight - 0x20 * kOnes) | zeros(eight ^ '"' * kOnes) | zeros(eight ^ '\\' * kOnes)) & kHighs;
  };
  uint64_t eight;
  for (; text.size() >= sizeof eight; text.remove_prefix(sizeof eight)) {
    std::memcpy(&eight, text.data(), sizeof eight);
    if (special(eight) != 0) return false;
  }
  eight = 'a' * kOnes;
  std::memcpy(&eight, text.data(), text.size());
  return special(eight) == 0;
}

void AppendQuoted(std::string& out, std::string_view text) {
  if (!AllPlain(text)) {
    out += JsonQuoted(text);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

}  // namespace capstan::json
