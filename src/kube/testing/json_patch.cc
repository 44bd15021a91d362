#include "kube/testing/json_patch.h"

#include <algorithm>

#include "base/text.h"
#include "json/merge.h"

namespace capstan::kube::testing {
namespace {

std::string Unescaped(std::string_view token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    text += !escape ? token[i] : token[++i] == '1' ? '/' : '~';
  }
  return text;
}

// Where the operation works: the container and the last token of its path.
struct Place {
  json::Value* parent;
  std::string token;
};

std::optional<size_t> IndexIn(const boost::json::array& list, std::string_view token) {
  const auto number = ParseInt(token);
  return number && *number >= 0 && size_t(*number) < list.size() ? std::optional(size_t(*number)) : std::nullopt;
}

json::Value* Child(json::Value& parent, std::string_view token) {
  if (parent.is_object()) return parent.get_object().if_contains(token);
  if (!parent.is_array()) return nullptr;
  const auto index = IndexIn(parent.get_array(), token);
  return index ? &parent.get_array()[*index] : nullptr;
}

Result<Place> Locate(json::Value& root, std::string_view pointer) {
  if (!pointer.starts_with('/')) return Fail(Code::kInvalid, "path \"" + std::string(pointer) + "\" must begin with /");
  const auto tokens = Split(pointer.substr(1), '/');
  json::Value* at = &root;
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    at = Child(*at, Unescaped(tokens[i]));
    if (!at) return Fail(Code::kInvalid, "doc is missing path: " + std::string(pointer));
  }
  return Place{at, Unescaped(tokens.back())};
}

Result<void> Add(const Place& place, json::Value value) {
  if (place.parent->is_object()) {
    place.parent->get_object()[place.token] = std::move(value);
    return {};
  }
  if (!place.parent->is_array()) return Fail(Code::kInvalid, "cannot add below a value");
  auto& list = place.parent->get_array();
  const auto index = place.token == "-" ? std::optional(int64_t(list.size())) : ParseInt(place.token);
  if (!index || *index < 0 || size_t(*index) > list.size())
    return Fail(Code::kInvalid, "index " + place.token + " is out of bounds");
  list.insert(list.begin() + *index, std::move(value));
  return {};
}

Result<void> Remove(const Place& place) {
  if (!Child(*place.parent, place.token))
    return Fail(Code::kInvalid, "cannot remove what is not there: " + place.token);
  if (place.parent->is_object())
    place.parent->get_object().erase(place.token);
  else
    place.parent->get_array().erase(place.parent->get_array().begin() + *ParseInt(place.token));
  return {};
}

Result<void> Run(json::Value& root, const json::Value& operation) {
  const auto op = json::FindText(operation, {"op"});
  CAPSTAN_TRY(const Place place, Locate(root, json::FindText(operation, {"path"})));
  const json::Value* value = json::Find(operation, {"value"});
  const json::Value* present = Child(*place.parent, place.token);
  if (op == "remove") return Remove(place);
  if (op == "test") {
    const json::Value null;
    if (!(present ? *present == (value ? *value : null) : !value || value->is_null())) {
      return Fail(Code::kInvalid, "testing path " + std::string(json::FindText(operation, {"path"})) + " value failed");
    }
    return {};
  }
  if (!value) return Fail(Code::kInvalid, "the operation has no value");
  if (op == "add") return Add(place, *value);
  if (op == "replace") {
    if (!present) return Fail(Code::kInvalid, "cannot replace what is not there: " + place.token);
    *Child(*place.parent, place.token) = *value;
    return {};
  }
  return Fail(Code::kInvalid, "unknown operation \"" + std::string(op) + "\"");
}

json::Value MergeByType(const json::Value& list, const boost::json::array& changes) {
  boost::json::array merged = list.is_array() ? list.get_array() : boost::json::array();
  for (const json::Value& change : changes) {
    const std::string_view type = json::FindText(change, {"type"});
    const auto found =
        std::ranges::find_if(merged, [&](const json::Value& one) { return json::FindText(one, {"type"}) == type; });
    if (json::FindText(change, {"$patch"}) == "delete") {
      if (found != merged.end()) merged.erase(found);
    } else if (found == merged.end()) {
      merged.push_back(change);
    } else {
      json::ApplyMergePatch(*found, change);
    }
  }
  return merged;
}

}  // namespace

Result<json::Value> ApplyJsonPatch(json::Value target, const json::Value& operations) {
  if (!operations.is_array()) return Fail(Code::kInvalid, "a JSON patch is a list");
  for (const json::Value& operation : operations.get_array()) CAPSTAN_CHECK_OK(Run(target, operation));
  return target;
}

json::Value ApplyStrategicPatch(json::Value target, const json::Value& patch) {
  if (!patch.is_object()) return patch;
  if (!target.is_object()) target.emplace_object();
  boost::json::object& members = target.get_object();
  for (const auto& [name, wanted] : patch.get_object()) {
    if (name == "conditions" && wanted.is_array())
      members[name] = MergeByType(members[name], wanted.get_array());
    else if (wanted.is_null())
      members.erase(name);
    else
      members[name] = ApplyStrategicPatch(members[name], wanted);
  }
  return target;
}

}  // namespace capstan::kube::testing
