#include "render/manifests.h"

#include <yaml-cpp/yaml.h>

#include <charconv>
#include <optional>

#include "base/text.h"

namespace capstan::render {
namespace {

// A file of a few bytes can stand for a tree without end, by aliases.
constexpr int kMostNodes = 2'000'000;

// YAML 1.1 has octal numbers with a 0 in front, as file modes are written.
std::optional<int64_t> Number(std::string_view text, std::string_view prefix, int base) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return std::nullopt;
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + prefix.size(), end, number, base);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

// As kubectl reads a word without quotes.
json::Value WordToJson(const std::string& word) {
  const std::string lower = ToLower(word);
  if (lower.empty() || lower == "~" || lower == "null") return nullptr;
  if (lower == "true" || lower == "yes" || lower == "on") return true;
  if (lower == "false" || lower == "no" || lower == "off") return false;
  for (const auto& [prefix, base] : {std::pair("0x", 16), std::pair("0o", 8), std::pair("0", 8)}) {
    if (const auto number = Number(lower, prefix, base)) return *number;
  }
  const Result<json::Value> number = json::Parse(word);
  return number && number->is_number() ? *number : json::Value(word);
}

class Reader {
 public:
  // nullopt: too deep, too large, or a map with keys that are no text.
  std::optional<json::Value> Read(const YAML::Node& node, int depth) {
    if (depth > json::kDeepest || ++nodes_ > kMostNodes) return std::nullopt;
    if (node.IsScalar()) return node.Tag() == "!" ? json::Value(node.Scalar()) : WordToJson(node.Scalar());
    if (node.IsSequence()) {
      boost::json::array list;
      for (const YAML::Node& element : node) {
        auto value = Read(element, depth + 1);
        if (!value) return std::nullopt;
        list.push_back(*std::move(value));
      }
      return list;
    }
    if (!node.IsMap()) return json::Value(nullptr);
    boost::json::object object;
    for (const auto& member : node) {
      auto value = Read(member.second, depth + 1);
      if (!value || !member.first.IsScalar()) return std::nullopt;
      object[member.first.Scalar()] = *std::move(value);
    }
    return object;
  }

 private:
  int nodes_ = 0;
};

Result<void> Add(json::Value object, const std::string& where, std::vector<json::Value>& objects) {
  if (object.is_null()) return {};
  const std::string_view kind = json::FindText(object, {"kind"});
  if (kind.empty() || json::FindText(object, {"apiVersion"}).empty())
    return Fail(Code::kInvalid, where + " is no object of Kubernetes: it needs apiVersion and kind");
  if (json::Value* items = json::Find(object, {"items"}); kind.ends_with("List") && items != nullptr) {
    if (!items->is_array()) return Fail(Code::kInvalid, where + ": items must be a list");
    for (json::Value& item : items->get_array()) CAPSTAN_CHECK_OK(Add(std::move(item), where, objects));
    return {};
  }
  if (json::FindText(object, {"metadata", "name"}).empty())
    return Fail(Code::kInvalid, where + ": the " + std::string(kind) + " has no metadata.name");
  objects.push_back(std::move(object));
  return {};
}

}  // namespace

Result<std::vector<json::Value>> ReadManifests(std::string_view text, std::string_view name) {
  std::vector<json::Value> objects;
  const std::string file(name);
  try {
    int document = 0;
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      const std::string where = file + ", document " + std::to_string(++document);
      std::optional<json::Value> value = Reader().Read(node, 0);
      if (!value)
        return Fail(Code::kInvalid, where + " is deeper or larger than is read, or has keys that are no text");
      CAPSTAN_CHECK_OK(Add(*std::move(value), where, objects));
    }
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.is_null() ? "" : ", line " + std::to_string(error.mark.line + 1);
    return Fail(Code::kInvalid, file + line + " is not YAML: " + error.msg);
  }
  return objects;
}

}  // namespace capstan::render
