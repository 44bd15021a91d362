#include "json/value.h"

#include <algorithm>
#include <boost/json/stream_parser.hpp>
#include <charconv>
#include <cmath>
#include <vector>

#include "json/canonical.h"
#include "json/codec.h"

namespace capstan::json {
namespace {

void AppendNumber(std::string& out, double number) {
  char buffer[32];
  // Boost reads 105e66 and 1.05e68 as neighbours; 15 digits are what both agree in.
  constexpr int kDigits = 15;
  constexpr double kExact = 1e15;
  if (std::isnan(number)) {
    out += '0';  // what Boost makes of 0e400
  } else if (std::isinf(number)) {
    // The text had more than a double holds. Still a number, still too large, for whoever reads it next.
    out += number < 0 ? "-1e999" : "1e999";
  } else if (number == std::trunc(number) && std::abs(number) < kExact) {
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, int64_t(number)).ptr);
  } else {
    out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, kDigits).ptr);
  }
}

void Append(std::string& out, const Value& value, bool sorted);

void AppendMember(std::string& out, const boost::json::key_value_pair& member, bool sorted) {
  AppendQuoted(out, member.key());
  out += ':';
  Append(out, member.value(), sorted);
  out += ',';
}

void AppendObject(std::string& out, const boost::json::object& object, bool sorted) {
  if (object.empty()) {
    out += "{}";
    return;
  }
  out += '{';
  if (sorted) {
    std::vector<const boost::json::key_value_pair*> members;
    members.reserve(object.size());
    for (const auto& member : object) members.push_back(&member);
    std::ranges::sort(
        members, [](const auto* a, const auto* b) { return std::string_view(a->key()) < std::string_view(b->key()); });
    for (const auto* member : members) AppendMember(out, *member, true);
  } else {
    for (const auto& member : object) AppendMember(out, member, false);
  }
  out.back() = '}';
}

void Append(std::string& out, const Value& value, bool sorted) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      return;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case boost::json::kind::int64:
      out += std::to_string(value.get_int64());
      return;
    case boost::json::kind::uint64:
      out += std::to_string(value.get_uint64());
      return;
    case boost::json::kind::double_:
      return AppendNumber(out, value.get_double());
    case boost::json::kind::string:
      return AppendQuoted(out, std::string_view(value.get_string()));
    case boost::json::kind::object:
      return AppendObject(out, value.get_object(), sorted);
    case boost::json::kind::array:
      break;
  }
  out += '[';
  bool first = true;
  for (const Value& element : value.get_array()) {
    if (!first) out += ',';
    first = false;
    Append(out, element, sorted);
  }
  out += ']';
}

}  // namespace

Result<Value> Parse(std::string_view text) {
  if (text.size() > kLargestTree) {
    return Fail(Code::kInvalid, "the JSON text has " + std::to_string(text.size()) + " bytes, at most " +
                                    std::to_string(kLargestTree) + " are read");
  }
  boost::json::parse_options options;
  options.max_depth = kDeepest;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code error;
  const size_t read = parser.write(text.data(), text.size(), error);
  if (!error) parser.finish(error);
  if (error) {
    return Fail(Code::kInvalid, "the text is not JSON: " + error.message() + " at byte " + std::to_string(read));
  }
  return parser.release();
}

Result<Value> ParseObject(const Raw& raw, std::string_view what) {
  if (raw.empty()) return Value(boost::json::object());
  Result<Value> value = Parse(raw.text);
  if (!value) return Fail(std::move(value).error().WithContext(what));
  if (!value->is_object()) return Fail(Code::kInvalid, std::string(what) + " must be an object");
  return value;
}

std::string Serialize(const Value& value) {
  std::string out;
  Append(out, value, false);
  return out;
}

std::string SerializeCanonical(const Value& value) {
  std::string out;
  Append(out, value, true);
  return out;
}

Result<std::string> Canonical(std::string_view text) {
  CAPSTAN_TRY(const Value value, Parse(text));
  return SerializeCanonical(value);
}

const Value* Find(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* at = &value;
  for (const std::string_view key : path) {
    const auto* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value* Find(Value& value, std::initializer_list<std::string_view> path) {
  return const_cast<Value*>(Find(const_cast<const Value&>(value), path));
}

std::string_view FindText(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = Find(value, path);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

boost::json::object& MakeObject(Value& value, std::initializer_list<std::string_view> path) {
  Value* at = &value;
  if (!at->is_object()) at->emplace_object();
  for (const std::string_view key : path) {
    at = &at->get_object()[key];
    if (!at->is_object()) at->emplace_object();
  }
  return at->get_object();
}

void DropNulls(Value& value) {
  if (auto* object = value.if_object()) {
    boost::json::object kept;
    for (auto& member : *object) {
      if (member.value().is_null()) continue;
      DropNulls(member.value());
      kept.emplace(member.key(), std::move(member.value()));
    }
    *object = std::move(kept);
  } else if (auto* list = value.if_array()) {
    for (Value& element : *list) DropNulls(element);
  }
}

}  // namespace capstan::json
