#include "json/protobuf.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/hash.h"
#include "base/text.h"
#include "json/place.h"
#include "json/wire.h"

namespace capstan::json {
namespace {

using Outcome = Result<void>;

constexpr int kDeepest = 64;

constexpr std::string_view kRoot = "the message";

std::unexpected<Error> Broken(const Frame* frame) {
  return Fail(Code::kInvalid, PathText(frame, kRoot) + " is not a whole protobuf message");
}

std::unexpected<Error> Wrong(const Frame* frame, std::string_view found, std::string_view wanted) {
  return Fail(Code::kInvalid,
              PathText(frame, kRoot) + " is " + std::string(found) + ", must be " + std::string(wanted));
}

std::string_view Found(const Wire::Field& field) {
  return field.type == Wire::Type::kBytes ? "text or a message" : "a number";
}

// The fields of a small message (Time, IntOrString, an entry of a map) by their numbers; what is not there is zero.
struct SmallMessage {
  static constexpr size_t kFields = 4;
  Wire::Field field[kFields];
  bool there[kFields] = {};

  bool Read(std::string_view message) {
    Wire wire(message);
    for (Wire::Field next; wire.Next(next);) {
      if (next.number >= kFields) continue;
      field[next.number] = next;
      there[next.number] = true;
    }
    return !wire.broken();
  }
};

// Text as Go's JSON encoder sends it on when it is JSON already: with these escaped, which stand in JSON only inside
// texts.
std::string AsJsonCarriesIt(std::string_view json) {
  std::string text;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i, 3);
    if (rest.front() == '<' || rest.front() == '>' || rest.front() == '&') {
      text += rest.front() == '<' ? "\\u003c" : rest.front() == '>' ? "\\u003e" : "\\u0026";
    } else if (rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9") {
      text += rest.back() == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += rest.front();
    }
  }
  return text;
}

uint64_t DigestOfJson(std::string_view json) {
  const bool same = json.find_first_of("<>&\xE2") == json.npos;
  return Fnv64(same ? json : AsJsonCarriesIt(json));
}

class Reader {
 public:
  Outcome ReadMessage(const Type& type, std::string_view message, void* out, const Frame* frame) {
    if (depth_ == kDeepest) return Fail(Code::kInvalid, PathText(frame, kRoot) + " is nested too deep");
    ++depth_;
    const Schema& schema = type.schema();
    Wire wire(message);
    for (Wire::Field field; wire.Next(field);) {
      const int index = schema.FindNumber(field.number);
      if (index < 0) continue;
      const Member& member = schema.members()[size_t(index)];
      const Frame here{frame, member.name()};
      if (Outcome read = ReadMember(member, field, member.at(out), &here); !read) return read;
    }
    --depth_;
    if (wire.broken()) return Broken(frame);
    return {};
  }

 private:
  Outcome ReadMember(const Member& member, const Wire::Field& field, void* out, const Frame* frame) {
    if (!member.wrapped()) {
      if (member.as_text()) return ReadIntegerText(member.type(), field, out, frame);
      return Read(member.type(), field, out, frame);
    }
    SmallMessage inside;
    if (field.type != Wire::Type::kBytes || !inside.Read(field.bytes)) return Broken(frame);
    if (!inside.there[1]) return {};
    if (member.type().kind != Kind::kDigest) return Read(member.type(), inside.field[1], out, frame);
    if (inside.field[1].type != Wire::Type::kBytes) return Wrong(frame, Found(inside.field[1]), "text");
    static_cast<Digest*>(out)->value = DigestOfJson(inside.field[1].bytes);
    return {};
  }

  Outcome Read(const Type& type, const Wire::Field& field, void* out, const Frame* frame) {
    switch (type.kind) {
      case Kind::kBool:
      case Kind::kInteger:
      case Kind::kNumber:
        return ReadNumber(type, field, out, frame);
      case Kind::kList:
        return ReadList(type, field, out, frame);
      default:
        break;
    }
    if (type.kind == Kind::kOptional) return ReadOptional(type, field, out, frame);
    if (field.type != Wire::Type::kBytes) return Wrong(frame, Found(field), "text or a message");
    switch (type.kind) {
      case Kind::kString:
        type.assign(out, field.bytes);
        return {};
      case Kind::kDigest: {
        uint64_t& digest = static_cast<Digest*>(out)->value;
        digest = digest == 0 ? Fnv64(field.bytes) : Fnv64(field.bytes, digest);  // of all elements of a list or map
        return {};
      }
      case Kind::kTime:
        return ReadTime(field.bytes, out, frame);
      case Kind::kIntOrString:
        return ReadIntOrString(field.bytes, out, frame);
      case Kind::kMap:
        return ReadEntry(type, field.bytes, out, frame);
      default:
        return ReadMessage(type, field.bytes, out, frame);
    }
  }

  Outcome ReadOptional(const Type& type, const Wire::Field& field, void* out, const Frame* frame) {
    const bool no_time = type.element->kind == Kind::kTime && field.type == Wire::Type::kBytes && field.bytes.empty();
    if (no_time) return type.reset(out), Outcome();
    return Read(*type.element, field, type.add(out, {}), frame);
  }

  static Outcome ReadNumber(const Type& type, const Wire::Field& field, void* out, const Frame* frame) {
    if (type.kind == Kind::kNumber) {
      if (field.type != Wire::Type::kFixed64) return Wrong(frame, Found(field), "a double");
      *static_cast<double*>(out) = std::bit_cast<double>(field.value);
      return {};
    }
    if (field.type != Wire::Type::kVarint) return Wrong(frame, Found(field), "an integer");
    return StoreVarint(type, field.value, out, frame);
  }

  static Outcome StoreVarint(const Type& type, uint64_t value, void* out, const Frame* frame) {
    if (type.kind == Kind::kBool) {
      *static_cast<bool*>(out) = value != 0;
    } else if (type.bytes == 8 && !type.is_signed) {
      *static_cast<uint64_t*>(out) = value;
    } else if (!StoreInteger(type, out, int64_t(value))) {
      return Wrong(frame, std::to_string(int64_t(value)), RangeText(type));
    }
    return {};
  }

  static Outcome ReadIntegerText(const Type& type, const Wire::Field& field, void* out, const Frame* frame) {
    constexpr std::string_view kWanted = "text that holds an integer";
    if (field.type != Wire::Type::kBytes) return Wrong(frame, Found(field), kWanted);
    if (StoreIntegerText(type, out, field.bytes)) return {};
    return Wrong(frame, JsonQuoted(field.bytes.substr(0, 40)), kWanted);
  }

  Outcome ReadList(const Type& type, const Wire::Field& field, void* out, const Frame* frame) {
    const Kind element = type.element->kind;
    const bool number = element == Kind::kBool || element == Kind::kInteger;
    if (!number || field.type != Wire::Type::kBytes) return Read(*type.element, field, type.add(out, {}), frame);
    for (std::string_view packed = field.bytes; !packed.empty();) {
      const std::optional<uint64_t> value = Wire::TakeVarint(packed);
      if (!value) return Broken(frame);
      if (Outcome stored = StoreVarint(*type.element, *value, type.add(out, {}), frame); !stored) return stored;
    }
    return {};
  }

  Outcome ReadEntry(const Type& type, std::string_view message, void* out, const Frame* frame) {
    SmallMessage entry;
    if (!entry.Read(message)) return Broken(frame);
    if (entry.there[1] && entry.field[1].type != Wire::Type::kBytes) return Wrong(frame, "a number", "a key");
    const std::string_view key = entry.field[1].bytes;
    const Frame here{frame, key};
    void* const element = type.add(out, key);
    return entry.there[2] ? Read(*type.element, entry.field[2], element, &here) : Outcome();
  }

  // metav1.Time, MicroTime: seconds and nanoseconds.
  static Outcome ReadTime(std::string_view message, void* out, const Frame* frame) {
    SmallMessage time;
    if (!time.Read(message)) return Broken(frame);
    constexpr int64_t kASecond = Duration(1s) / 1ns, kMost = std::numeric_limits<int64_t>::max() / kASecond - 1;
    const int64_t seconds = std::clamp(int64_t(time.field[1].value), -kMost, kMost);
    const int64_t nanos = std::clamp<int64_t>(int64_t(time.field[2].value), 0, kASecond - 1);
    *static_cast<Time*>(out) = Time(Duration(seconds * kASecond + nanos));
    return {};
  }

  // type (0: the number), intVal, strVal.
  static Outcome ReadIntOrString(std::string_view message, void* out, const Frame* frame) {
    SmallMessage either;
    if (!either.Read(message)) return Broken(frame);
    if (either.field[1].value == 0)
      *static_cast<IntOrString*>(out) = int64_t(either.field[2].value);
    else
      *static_cast<IntOrString*>(out) = std::string(either.field[3].bytes);
    return {};
  }

  int depth_ = 0;
};

bool Reads(const Type& type, std::vector<const Schema*>& asked) {
  const bool repeated = type.kind == Kind::kList || type.kind == Kind::kMap;
  if (repeated || type.kind == Kind::kOptional) {
    const Kind element = type.element->kind;
    return element != Kind::kList && element != Kind::kMap && Reads(*type.element, asked);
  }
  if (type.kind != Kind::kObject) return type.kind != Kind::kRaw && type.kind != Kind::kSecret;
  const Schema& schema = type.schema();
  if (std::ranges::find(asked, &schema) != asked.end()) return true;
  asked.push_back(&schema);
  return std::ranges::all_of(schema.members(),
                             [&](const Member& member) { return member.number() > 0 && Reads(member.type(), asked); });
}

}  // namespace

bool ReadsProtobuf(const Type& type) {
  std::vector<const Schema*> asked;
  return type.kind == Kind::kObject && Reads(type, asked);
}

Result<void> DecodeProtobufValue(const Type& type, void* out, std::string_view message) {
  type.reset(out);
  return Reader().ReadMessage(type, message, out, nullptr);
}

}  // namespace capstan::json
