#include <simdjson.h>

#include <array>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/place.h"

namespace capstan::json {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr std::string_view kRoot = "the text";

std::unexpected<Error> NotJson(error_code error, const Frame* frame) {
  std::string message = "the text is not JSON";
  if (frame != nullptr) message += " (at " + PathText(frame, kRoot) + ")";
  return Fail(Code::kInvalid, message + ": " + simdjson::error_message(error));
}

// What stands there, short enough for a sentence.
std::string Found(ondemand::value& value, ondemand::json_type type) {
  if (type == ondemand::json_type::object) return "an object";
  if (type == ondemand::json_type::array) return "a list";
  constexpr size_t kLongest = 40;
  std::string token(Trim(value.raw_json_token()));
  if (token.size() <= kLongest) return token;
  size_t cut = kLongest;
  while (cut > 0 && (static_cast<unsigned char>(token[cut]) & 0xC0) == 0x80) --cut;  // not inside a character
  return token.substr(0, cut) + "...";
}

std::unexpected<Error> Wrong(const Frame* frame, std::string_view found, std::string_view wanted) {
  return Fail(Code::kInvalid,
              PathText(frame, kRoot) + " is " + std::string(found) + ", must be " + std::string(wanted));
}

std::string_view Wanted(const Type& type) {
  switch (type.kind) {
    case Kind::kBool:
      return "true or false";
    case Kind::kInteger:
      return "an integer";
    case Kind::kNumber:
      return "a number";
    case Kind::kString:
    case Kind::kSecret:
      return "text";
    case Kind::kTime:
      return "a time such as 2026-01-31T12:00:00Z";
    case Kind::kIntOrString:
      return "an integer or text";
    case Kind::kObject:
    case Kind::kMap:
      return "an object";
    case Kind::kList:
      return "a list";
    case Kind::kOptional:
      return Wanted(*type.element);
    case Kind::kRaw:
    case Kind::kDigest:
      return "any value";
  }
  return {};
}

using Outcome = Result<void>;

class Reader {
 public:
  explicit Reader(size_t elements) : most_(elements) {}

  // `value` is of `type` or null; null leaves `out` as it is.
  Outcome Read(const Type& type, bool as_text, ondemand::value value, void* out, const Frame* frame) {
    ondemand::json_type found;
    if (const error_code error = value.type().get(found)) return NotJson(error, frame);
    if (found == ondemand::json_type::null && type.kind != Kind::kRaw) {
      bool null = false;
      const error_code error = value.is_null().get(null);
      if (error || !null) return NotJson(error ? error : simdjson::N_ATOM_ERROR, frame);
      return {};
    }
    switch (type.kind) {
      case Kind::kBool:
        return ReadBool(type, value, found, out, frame);
      case Kind::kInteger:
        return as_text ? ReadIntegerText(type, value, found, out, frame) : ReadInteger(type, value, found, out, frame);
      case Kind::kNumber:
        return ReadNumber(type, value, found, out, frame);
      case Kind::kString:
      case Kind::kSecret:
      case Kind::kTime:
        return ReadText(type, value, found, out, frame);
      case Kind::kIntOrString:
        return ReadIntOrString(type, value, found, out, frame);
      case Kind::kRaw:
      case Kind::kDigest:
        return ReadRaw(type, value, out, frame);
      case Kind::kOptional:
        return Read(*type.element, as_text, value, type.add(out, {}), frame);
      case Kind::kObject:
        return ReadObject(type, value, found, out, frame);
      case Kind::kMap:
        return ReadMap(type, value, found, out, frame);
      case Kind::kList:
        return ReadList(type, value, found, out, frame);
    }
    return {};
  }

 private:
  static Outcome ReadBool(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                          const Frame* frame) {
    if (found != ondemand::json_type::boolean) return Wrong(frame, Found(value, found), Wanted(type));
    if (const error_code error = value.get_bool().get(*static_cast<bool*>(out))) return NotJson(error, frame);
    return {};
  }

  static Outcome ReadInteger(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                             const Frame* frame) {
    if (found != ondemand::json_type::number) return Wrong(frame, Found(value, found), Wanted(type));
    int64_t number = 0;
    if (!value.get_int64().get(number)) {
      if (StoreInteger(type, out, number)) return {};
      return Wrong(frame, std::to_string(number), RangeText(type));
    }
    uint64_t large = 0;
    if (!value.get_uint64().get(large)) {
      if (type.is_signed || type.bytes < 8) return Wrong(frame, std::to_string(large), RangeText(type));
      *static_cast<uint64_t*>(out) = large;
      return {};
    }
    double real = 0;
    if (const error_code error = value.get_double().get(real)) return NotJson(error, frame);
    constexpr double kExact = 9007199254740992.0;  // up to here doubles are exact integers
    if (real != std::trunc(real) || std::abs(real) > kExact || !StoreInteger(type, out, int64_t(real))) {
      return Wrong(frame, Found(value, found), RangeText(type));
    }
    return {};
  }

  static Outcome ReadIntegerText(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                                 const Frame* frame) {
    constexpr std::string_view kWanted = "text that holds an integer";
    if (found != ondemand::json_type::string) return Wrong(frame, Found(value, found), kWanted);
    std::string_view text;
    if (const error_code error = value.get_string().get(text)) return NotJson(error, frame);
    if (!StoreIntegerText(type, out, text)) return Wrong(frame, JsonQuoted(text), kWanted);
    return {};
  }

  static Outcome ReadNumber(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                            const Frame* frame) {
    if (found != ondemand::json_type::number) return Wrong(frame, Found(value, found), Wanted(type));
    if (const error_code error = value.get_double().get(*static_cast<double*>(out))) return NotJson(error, frame);
    return {};
  }

  static Outcome ReadText(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                          const Frame* frame) {
    if (found != ondemand::json_type::string) {
      const bool hide = type.kind == Kind::kSecret;
      return Wrong(frame, hide ? "something else" : Found(value, found), Wanted(type));
    }
    std::string_view text;
    if (const error_code error = value.get_string().get(text)) return NotJson(error, frame);
    if (type.kind == Kind::kString) {
      type.assign(out, text);
    } else if (type.kind == Kind::kSecret) {
      *static_cast<Secret*>(out) = Secret(std::string(text));
    } else {
      const std::optional<Time> time = ParseRfc3339(text);
      if (!time) return Wrong(frame, JsonQuoted(text.substr(0, 40)), Wanted(type));
      *static_cast<Time*>(out) = *time;
    }
    return {};
  }

  static Outcome ReadIntOrString(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                                 const Frame* frame) {
    if (found == ondemand::json_type::string) {
      std::string_view text;
      if (const error_code error = value.get_string().get(text)) return NotJson(error, frame);
      *static_cast<IntOrString*>(out) = std::string(text);
      return {};
    }
    if (found != ondemand::json_type::number) return Wrong(frame, Found(value, found), Wanted(type));
    int64_t number = 0;
    if (Outcome read = ReadInteger(kType<int64_t>, value, found, &number, frame); !read) return read;
    *static_cast<IntOrString*>(out) = number;
    return {};
  }

  static Outcome ReadRaw(const Type& type, ondemand::value& value, void* out, const Frame* frame) {
    std::string_view text;
    if (const error_code error = simdjson::to_json_string(value).get(text)) return NotJson(error, frame);
    text = Trim(text);
    if (type.kind == Kind::kDigest) {
      static_cast<Digest*>(out)->value = Fnv64(text);
    } else if (text == "null") {
      static_cast<Raw*>(out)->text.clear();
    } else {
      static_cast<Raw*>(out)->text.assign(text);
    }
    return {};
  }

  Outcome ReadObject(const Type& type, ondemand::value& value, ondemand::json_type found, void* out,
                     const Frame* frame) {
    if (found != ondemand::json_type::object) return Wrong(frame, Found(value, found), Wanted(type));
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return NotJson(error, frame);
    const Schema& schema = type.schema();
    std::array<uint64_t, Schema::kMostMembers / 64> seen{};
    for (auto next : object) {
      ondemand::field field;
      if (const error_code error = std::move(next).get(field)) return NotJson(error, frame);
      std::string_view key;
      if (const error_code error = field.unescaped_key().get(key)) return NotJson(error, frame);
      const int index = schema.Find(key);
      if (index < 0) continue;
      const Member& member = schema.members()[size_t(index)];
      const Frame here{frame, member.name()};
      void* const target = member.at(out);
      const uint64_t bit = uint64_t{1} << (index % 64);
      if (seen[size_t(index) / 64] & bit) member.type().reset(target);
      seen[size_t(index) / 64] |= bit;
      if (Outcome read = Read(member.type(), member.as_text(), field.value(), target, &here); !read) return read;
    }
    return {};
  }

  Outcome ReadMap(const Type& type, ondemand::value& value, ondemand::json_type found, void* out, const Frame* frame) {
    if (found != ondemand::json_type::object) return Wrong(frame, Found(value, found), Wanted(type));
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return NotJson(error, frame);
    for (auto next : object) {
      ondemand::field field;
      if (const error_code error = std::move(next).get(field)) return NotJson(error, frame);
      std::string_view key;
      if (const error_code error = field.unescaped_key().get(key)) return NotJson(error, frame);
      const Frame here{frame, key};
      if (Outcome counted = Count(&here); !counted) return counted;
      if (Outcome read = Read(*type.element, false, field.value(), type.add(out, key), &here); !read) return read;
    }
    return {};
  }

  Outcome ReadList(const Type& type, ondemand::value& value, ondemand::json_type found, void* out, const Frame* frame) {
    if (found != ondemand::json_type::array) return Wrong(frame, Found(value, found), Wanted(type));
    ondemand::array list;
    if (const error_code error = value.get_array().get(list)) return NotJson(error, frame);
    Frame here{frame, {}, 0};
    for (auto next : list) {
      ondemand::value element;
      if (const error_code error = std::move(next).get(element)) return NotJson(error, &here);
      if (Outcome counted = Count(&here); !counted) return counted;
      if (Outcome read = Read(*type.element, false, element, type.add(out, {}), &here); !read) return read;
      ++here.index;
    }
    return {};
  }

  Outcome Count(const Frame* frame) {
    if (++elements_ <= most_) return {};
    return Fail(Code::kInvalid,
                PathText(frame, kRoot) + " is one element more than the " + std::to_string(most_) + " that are read");
  }

  const size_t most_;
  size_t elements_ = 0;  // of lists and maps
};

bool IsScalar(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  return !trimmed.empty() && trimmed.front() != '{' && trimmed.front() != '[';
}

}  // namespace

struct Decoder::State {
  explicit State(size_t most) : parser(most) {}
  ondemand::parser parser;
  std::string copy;
};

Decoder::Decoder(Limits limits) : state_(std::make_unique<State>(limits.bytes + 2)), limits_(limits) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<void> Decoder::Run(const Type& type, void* out, std::string_view text, size_t readable) {
  static_assert(kPadding == simdjson::SIMDJSON_PADDING);
  type.reset(out);
  if (text.size() > limits_.bytes) {
    return Fail(Code::kInvalid, "the text has " + std::to_string(text.size()) + " bytes, at most " +
                                    std::to_string(limits_.bytes) + " are read");
  }
  // simdjson reads a scalar document through other functions than a scalar inside one; here it is the only
  // element of a list.
  const bool wrap = IsScalar(text);
  if (wrap || readable < text.size() + kPadding) {
    std::string& copy = state_->copy;
    copy.clear();
    copy.reserve(text.size() + 2 + kPadding);
    if (wrap) copy += '[';
    copy += text;
    if (wrap) copy += ']';
    text = copy;
    readable = copy.capacity();
  }
  ondemand::document document;
  if (const error_code error = state_->parser.iterate(text, readable).get(document)) return NotJson(error, nullptr);
  ondemand::value root;
  if (const error_code error = document.get_value().get(root)) return NotJson(error, nullptr);
  Reader reader(limits_.elements);
  if (wrap) {
    ondemand::array list;
    if (const error_code error = root.get_array().get(list)) return NotJson(error, nullptr);
    int count = 0;
    for (auto next : list) {
      ondemand::value element;
      if (const error_code error = std::move(next).get(element)) return NotJson(error, nullptr);
      if (++count > 1) return NotJson(simdjson::TRAILING_CONTENT, nullptr);
      CAPSTAN_CHECK_OK(reader.Read(type, false, element, out, nullptr));
    }
    if (count == 0) return NotJson(simdjson::EMPTY, nullptr);
  } else {
    CAPSTAN_CHECK_OK(reader.Read(type, false, root, out, nullptr));
  }
  // Anything left is either a second document or the rest of a broken one.
  const char* rest = nullptr;
  if (!document.current_location().get(rest)) return NotJson(simdjson::TRAILING_CONTENT, nullptr);
  return {};
}

Result<void> DecodeValue(const Type& type, void* out, std::string_view text) {
  // Most texts are small and many: they share one parser a thread. A large one must not leave its memory
  // behind.
  constexpr size_t kSmall = 256 << 10;
  if (text.size() > kSmall) {
    Decoder alone;
    return alone.Run(type, out, text, 0);
  }
  thread_local Decoder decoder;
  return decoder.Run(type, out, text, 0);
}

}  // namespace capstan::json
