#include "kube/resource.h"

#include "base/text.h"

namespace capstan::kube {

std::string Resource::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Key::ToString() const { return ns.empty() ? name : ns + "/" + name; }

std::string CollectionPath(const Resource& resource, std::string_view ns) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + std::string(resource.group) + "/";
  path += resource.version;
  if (resource.namespaced && !ns.empty()) path += "/namespaces/" + PercentEncoded(ns);
  return path.append("/").append(resource.plural);
}

std::string ObjectPath(const Resource& resource, const Key& key, std::string_view subresource) {
  std::string path = CollectionPath(resource, key.ns) + "/" + PercentEncoded(key.name);
  if (!subresource.empty()) path.append("/").append(PercentEncoded(subresource));
  return path;
}

bool IsDnsSubdomain(std::string_view text) {
  const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 253) return false;
  char before = '.';
  for (const char c : text) {
    const bool inside = letter_or_digit(before);
    if (c == '.' ? !inside : c == '-' ? !(inside || before == '-') : !letter_or_digit(c)) return false;
    before = c;
  }
  return letter_or_digit(before);
}

Query& Query::Add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_.append(text_.empty() ? "?" : "&").append(name).append("=").append(PercentEncoded(value));
  return *this;
}

Query& Query::Add(std::string_view name, int64_t value) { return Add(name, std::to_string(value)); }

Query& Query::AddIf(bool condition, std::string_view name, std::string_view value) {
  return condition ? Add(name, value) : *this;
}

std::string Query::On(std::string path) const { return std::move(path) + text_; }

}  // namespace capstan::kube
