// The patches of the Kubernetes API that need no knowledge of kinds: JSON merge patch (RFC 7386) and JSON
// patch (RFC 6902). Strategic merge is in strategic_merge.h. Nothing here throws.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "json/value.h"

namespace capstan::json {

// Makes `target` what `patch` says: objects merge, null removes, all else replaces (RFC 7386).
void ApplyMergePatch(Value& target, const Value& patch);

// "/metadata/labels/slinky.slurm.net~1hostname": `keys` joined and escaped (RFC 6901).
std::string JsonPointer(std::initializer_list<std::string_view> keys);

// A JSON patch, operation by operation. Values are JSON text. The API server runs it as a whole or, when a
// test fails or a path is missing, not at all.
class JsonPatch {
 public:
  JsonPatch& Test(std::string_view pointer, std::string_view json) { return Op("test", pointer, json); }
  JsonPatch& Add(std::string_view pointer, std::string_view json) { return Op("add", pointer, json); }
  JsonPatch& Replace(std::string_view pointer, std::string_view json) { return Op("replace", pointer, json); }
  JsonPatch& Remove(std::string_view pointer) { return Op("remove", pointer, {}); }

  bool empty() const { return operations_.empty(); }
  std::string text() const { return "[" + operations_ + "]"; }

 private:
  JsonPatch& Op(std::string_view op, std::string_view pointer, std::string_view json);

  std::string operations_;
};

}  // namespace capstan::json
