#include "json/openapi.h"

#include <cstdio>
#include <cstdlib>

#include "json/object_meta.h"

namespace capstan::json {
namespace {

using boost::json::array;
using boost::json::object;

constexpr std::string_view kPreserveUnknown = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kIntOrStringMark = "x-kubernetes-int-or-string";

Value ParseOrDie(std::string_view text) {
  Result<Value> value = Parse(text);
  if (!value) {
    std::fprintf(stderr, "field table: %.*s: %s\n", int(text.size()), text.data(), value.error().message().c_str());
    std::abort();
  }
  return *std::move(value);
}

const Type& WithoutOptional(const Type& type) { return type.kind == Kind::kOptional ? *type.element : type; }

void AddConstraints(object& schema, const Constraints& limits) {
  if (!limits.format.empty()) schema["format"] = limits.format;
  if (!limits.pattern.empty()) schema["pattern"] = limits.pattern;
  if (!limits.enumeration.empty()) {
    auto& values = schema["enum"].emplace_array();
    for (const std::string& value : limits.enumeration) values.emplace_back(value);
  }
  const auto add = [&](std::string_view name, const std::optional<int64_t>& limit) {
    if (limit) schema[name] = *limit;
  };
  add("minimum", limits.minimum);
  add("maximum", limits.maximum);
  add("minLength", limits.min_length);
  add("maxLength", limits.max_length);
  add("minItems", limits.min_items);
  add("maxItems", limits.max_items);
  add("maxProperties", limits.max_properties);
}

void AddRules(object& schema, const std::vector<Rule>& rules) {
  if (rules.empty()) return;
  Value& present = schema["x-kubernetes-validations"];
  if (!present.is_array()) present.emplace_array();
  for (const Rule& rule : rules) {
    object entry;
    entry["rule"] = rule.cel;
    if (!rule.message.empty()) entry["message"] = rule.message;
    if (!rule.message_expression.empty()) entry["messageExpression"] = rule.message_expression;
    present.get_array().push_back(std::move(entry));
  }
}

object OfObject(const Schema& schema);

object OfType(const Type& type) {
  object schema;
  switch (type.kind) {
    case Kind::kBool:
      schema["type"] = "boolean";
      break;
    case Kind::kInteger:
      schema["type"] = "integer";
      schema["format"] = type.bytes == 8 ? "int64" : "int32";
      break;
    case Kind::kNumber:
      schema["type"] = "number";
      break;
    case Kind::kString:
    case Kind::kSecret:
      schema["type"] = "string";
      break;
    case Kind::kTime:
      schema["type"] = "string";
      schema["format"] = "date-time";
      break;
    case Kind::kRaw:
    case Kind::kDigest:
      schema["type"] = "object";
      schema[kPreserveUnknown] = true;
      break;
    case Kind::kIntOrString:
      schema["anyOf"] = array{object{{"type", "integer"}}, object{{"type", "string"}}};
      schema[kIntOrStringMark] = true;
      break;
    case Kind::kObject:
      return OfObject(type.schema());
    case Kind::kOptional:
      return OfType(*type.element);
    case Kind::kList:
      schema["type"] = "array";
      schema["items"] = OfType(*type.element);
      break;
    case Kind::kMap:
      schema["type"] = "object";
      schema["additionalProperties"] = OfType(*type.element);
      break;
  }
  return schema;
}

object OfMember(const Member& member) {
  const Type& type = WithoutOptional(member.type());
  object schema;
  if (type.kind == Kind::kObject && &type.schema() == &ObjectMeta::Schema()) {
    schema["type"] = "object";
  } else if (!member.raw_schema().empty()) {
    schema = ParseOrDie(member.raw_schema()).as_object();
  } else {
    schema = OfType(type);
  }
  if (!member.doc().empty()) schema["description"] = member.doc();
  if (!member.default_json().empty()) schema["default"] = ParseOrDie(member.default_json());
  if (member.nullable()) schema["nullable"] = true;
  AddConstraints(schema, member.constraints());
  AddRules(schema, member.rules());
  if (type.kind == Kind::kList) AddConstraints(schema["items"].as_object(), member.each());
  if (type.kind == Kind::kMap) AddConstraints(schema["additionalProperties"].as_object(), member.each());
  if (!member.list_keys().empty()) {
    schema["x-kubernetes-list-type"] = "map";
    auto& keys = schema["x-kubernetes-list-map-keys"].emplace_array();
    for (const std::string& key : member.list_keys()) keys.emplace_back(key);
  } else if (member.atomic()) {
    schema[type.kind == Kind::kList ? "x-kubernetes-list-type" : "x-kubernetes-map-type"] = "atomic";
  }
  return schema;
}

object OfObject(const Schema& table) {
  object schema;
  schema["type"] = "object";
  if (!table.doc().empty()) schema["description"] = table.doc();
  if (table.atomic()) schema["x-kubernetes-map-type"] = "atomic";
  object properties;
  array required;
  for (const Member& member : table.members()) {
    properties[member.name()] = OfMember(member);
    if (member.required()) required.emplace_back(member.name());
  }
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  AddRules(schema, table.rules());
  return schema;
}

// --- Reference -------------------------------------------------------------------------------------------------------

std::string TypeWords(const Type& type, bool plural) {
  const auto word = [&](std::string_view one, std::string_view many) { return std::string(plural ? many : one); };
  switch (type.kind) {
    case Kind::kBool:
      return word("true or false", "booleans");
    case Kind::kInteger:
      return word("integer", "integers");
    case Kind::kNumber:
      return word("number", "numbers");
    case Kind::kString:
    case Kind::kSecret:
      return word("text", "texts");
    case Kind::kTime:
      return word("time", "times");
    case Kind::kIntOrString:
      return word("integer or text", "integers or texts");
    case Kind::kRaw:
    case Kind::kDigest:
    case Kind::kObject:
      return word("object", "objects");
    case Kind::kOptional:
      return TypeWords(*type.element, plural);
    case Kind::kList:
      return word("list of ", "lists of ") + TypeWords(*type.element, true);
    case Kind::kMap:
      return word("map to ", "maps to ") + TypeWords(*type.element, false);
  }
  return {};
}

std::vector<std::string> Checks(const Member& member) {
  std::vector<std::string> checks;
  const Constraints& limits = member.constraints();
  const auto bound = [&](std::string_view words, const std::optional<int64_t>& limit, std::string_view unit) {
    if (limit) checks.push_back(std::string(words) + " " + std::to_string(*limit) + std::string(unit));
  };
  if (!limits.enumeration.empty()) {
    std::string words = "one of";
    for (const std::string& value : limits.enumeration) words += " `" + value + "`";
    checks.push_back(std::move(words));
  }
  bound("at least", limits.minimum, "");
  bound("at most", limits.maximum, "");
  bound("at least", limits.min_length, " characters");
  bound("at most", limits.max_length, " characters");
  bound("at most", limits.max_items, " elements");
  for (const Rule& rule : member.rules()) checks.push_back(rule.message);
  return checks;
}

// The table of what a member, or the elements of a list, are; nullptr for what has no members of its own.
const Schema* Inside(const Type& type, std::string& path) {
  const Type& held = WithoutOptional(type);
  if (held.kind == Kind::kObject) return &held.schema();
  if (held.kind != Kind::kList && held.kind != Kind::kMap) return nullptr;
  path += held.kind == Kind::kList ? "[]" : ".*";
  return Inside(*held.element, path);
}

}  // namespace

Value OpenApiSchema(const Schema& schema) { return OfObject(schema); }

std::vector<ReferenceRow> ReferenceRows(const Schema& schema, const std::string& prefix) {
  std::vector<ReferenceRow> rows;
  for (const Member& member : schema.members()) {
    std::string path = prefix.empty() ? member.name() : prefix + "." + member.name();
    const bool list = !member.raw_schema().empty() && ParseOrDie(member.raw_schema()).at("type") == "array";
    rows.push_back({path, list ? "list of objects" : TypeWords(member.type(), false), member.default_json(),
                    member.required(), member.doc(), Checks(member)});
    if (const Schema* inside = Inside(member.type(), path); inside != nullptr && inside != &ObjectMeta::Schema()) {
      std::vector<ReferenceRow> below = ReferenceRows(*inside, path);
      rows.insert(rows.end(), std::make_move_iterator(below.begin()), std::make_move_iterator(below.end()));
    }
  }
  return rows;
}

}  // namespace capstan::json
