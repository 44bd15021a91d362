#include "json/merge.h"

#include "json/codec.h"

namespace capstan::json {

void ApplyMergePatch(Value& target, const Value& patch) {
  const auto* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  auto& object = target.get_object();
  for (const auto& change : *changes) {
    if (change.value().is_null()) {
      if (const auto at = object.find(change.key()); at != object.end()) object.stable_erase(at);
    } else {
      ApplyMergePatch(object[change.key()], change.value());
    }
  }
}

std::string JsonPointer(std::initializer_list<std::string_view> keys) {
  std::string pointer;
  for (const std::string_view key : keys) {
    pointer += '/';
    for (const char c : key) {
      if (c == '~') {
        pointer += "~0";
      } else if (c == '/') {
        pointer += "~1";
      } else {
        pointer += c;
      }
    }
  }
  return pointer;
}

JsonPatch& JsonPatch::Op(std::string_view op, std::string_view pointer, std::string_view json) {
  if (!operations_.empty()) operations_ += ',';
  operations_ += "{\"op\":";
  AppendQuoted(operations_, op);
  operations_ += ",\"path\":";
  AppendQuoted(operations_, pointer);
  if (!json.empty()) {
    operations_ += ",\"value\":";
    operations_ += json;
  }
  operations_ += '}';
  return *this;
}

}  // namespace capstan::json
