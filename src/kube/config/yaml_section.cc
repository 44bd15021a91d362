#include "kube/config/yaml_section.h"

#include <optional>

#include "base/text.h"
#include "json/value.h"

namespace capstan::kube {
namespace {

// A YAML file of a few bytes can stand for a tree without end, by aliases.
constexpr int kDeepest = 32;
constexpr int kMostNodes = 10'000;

json::Value ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return json::Value(text);  // it was quoted
  if (text == "true") return true;
  if (text == "false") return false;
  const Result<json::Value> number = json::Parse(text);
  return number && number->is_number() ? *number : json::Value(text);
}

// nullopt: too deep, too large, or a map with keys that are no text.
std::optional<json::Value> ToJson(const YAML::Node& node, int depth, int& nodes) {
  if (depth > kDeepest || ++nodes > kMostNodes) return std::nullopt;
  if (node.IsScalar()) return ScalarToJson(node);
  if (node.IsSequence()) {
    boost::json::array list;
    for (const YAML::Node& element : node) {
      auto value = ToJson(element, depth + 1, nodes);
      if (!value) return std::nullopt;
      list.push_back(*std::move(value));
    }
    return list;
  }
  if (!node.IsMap()) return json::Value(nullptr);
  boost::json::object object;
  for (const auto& member : node) {
    auto value = ToJson(member.second, depth + 1, nodes);
    if (!value || !member.first.IsScalar()) return std::nullopt;
    object[member.first.Scalar()] = *std::move(value);
  }
  return object;
}

std::optional<std::vector<std::string>> ToTexts(const YAML::Node& node) {
  if (!node.IsSequence()) return std::nullopt;
  std::vector<std::string> texts;
  for (const YAML::Node& element : node) {
    if (!element.IsScalar()) return std::nullopt;
    texts.push_back(element.Scalar());
  }
  return texts;
}

}  // namespace

std::string Section::FieldOf(std::string_view name) const {
  if (field.empty() || name.empty()) return field + std::string(name);
  return field + "." + std::string(name);
}

Result<std::string> Section::Text(const char* name) const {
  if (!Has(name)) return std::string();
  if (!node[name].IsScalar()) return Wrong(name, "must be text");
  return node[name].Scalar();
}

Result<std::string> Section::Path(const char* name) const {
  CAPSTAN_TRY(std::string path, Text(name));
  if (path.empty() || path.starts_with('/')) return path;
  const size_t slash = file.rfind('/');
  return slash == file.npos ? "./" + path : file.substr(0, slash + 1) + path;
}

Result<bool> Section::Flag(const char* name) const {
  if (!Has(name)) return false;
  bool flag = false;
  if (!node[name].IsScalar() || !YAML::convert<bool>::decode(node[name], flag))
    return Wrong(name, "must be true or false");
  return flag;
}

Result<std::vector<std::string>> Section::Texts(const char* name) const {
  if (!Has(name)) return std::vector<std::string>();
  std::optional<std::vector<std::string>> texts = ToTexts(node[name]);
  if (!texts) return Wrong(name, "must be a list of texts");
  return *std::move(texts);
}

Result<std::map<std::string, std::vector<std::string>>> Section::TextLists(const char* name) const {
  std::map<std::string, std::vector<std::string>> lists;
  if (!Has(name)) return lists;
  if (!node[name].IsMap()) return Wrong(name, "must be a map of lists of texts");
  for (const auto& member : node[name]) {
    auto texts = ToTexts(member.second);
    if (!texts || !member.first.IsScalar()) return Wrong(name, "must be a map of lists of texts");
    lists[member.first.Scalar()] = *std::move(texts);
  }
  return lists;
}

Result<std::string> Section::Json(const char* name) const {
  if (!Has(name)) return std::string();
  int nodes = 0;
  const std::optional<json::Value> value = ToJson(node[name], 0, nodes);
  if (!value) return Wrong(name, "is deeper or larger than is read here, or has keys that are no text");
  return json::Serialize(*value);
}

Result<Section> Section::Map(const char* name) const {
  if (!Has(name) || !node[name].IsMap()) return Wrong(name, "is missing");
  return Section{node[name], file, FieldOf(name)};
}

Result<std::vector<Section>> Section::Entries(const char* name) const {
  std::vector<Section> entries;
  if (!Has(name)) return entries;
  if (!node[name].IsSequence()) return Wrong(name, "must be a list");
  for (const YAML::Node& entry : node[name]) {
    const Section section{entry, file, FieldOf(name) + "[" + std::to_string(entries.size()) + "]"};
    if (!entry.IsMap()) return section.Wrong("", "must be a map");
    entries.push_back(section);
  }
  return entries;
}

}  // namespace capstan::kube
