#include "plan/rights.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "plan/reconciler.h"

namespace capstan::plan {
namespace {

constexpr auto kVerbs =
    std::to_array<std::string_view>({"get", "list", "watch", "create", "update", "patch", "delete"});

constexpr std::string_view kRead = "get list watch";
constexpr std::string_view kOwn = "get list watch create patch delete";

std::string PathOf(const Right& right) {
  std::string path(right.resource->plural);
  if (!right.subresource.empty()) path += "/" + std::string(right.subresource);
  return path;
}

}  // namespace

std::vector<Right> RightsOf(std::span<const Reconciler> reconcilers) {
  std::vector<Right> rights{{&kube::kEvents, "create patch"}};
  for (const Reconciler& reconciler : reconcilers) {
    rights.push_back({reconciler.resource, kRead});
    if (reconciler.has_status) rights.push_back({reconciler.resource, "patch", "status"});
    // Children that block their owner's deletion, where the API server checks that.
    if (!reconciler.children.empty()) rights.push_back({reconciler.resource, "update", "finalizers"});
    for (const kube::Resource* child : reconciler.children) rights.push_back({child, kOwn});
    rights.insert(rights.end(), reconciler.uses.begin(), reconciler.uses.end());
  }
  return rights;
}

std::vector<RbacRule> RulesOf(std::span<const Right> rights, bool namespaced) {
  using Path = std::pair<std::string, std::string>;  // group, resource
  std::map<Path, std::set<std::string_view>> verbs;
  for (const Right& right : rights) {
    if (right.resource->namespaced != namespaced) continue;
    auto& granted = verbs[{std::string(right.resource->group), PathOf(right)}];
    for (const std::string_view verb : Split(right.verbs, ' ')) granted.insert(verb);
  }
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<std::string>>
      rules;  // group, verbs: resources
  for (const auto& [path, granted] : verbs) {
    std::vector<std::string> ordered;
    for (const std::string_view verb : kVerbs) {
      if (granted.contains(verb)) ordered.emplace_back(verb);
    }
    rules[{path.first, std::move(ordered)}].push_back(path.second);
  }
  std::vector<RbacRule> list;
  for (const auto& [key, resources] : rules) list.push_back({key.first, resources, key.second});
  std::ranges::sort(list, {}, [](const RbacRule& rule) { return std::tie(rule.group, rule.resources); });
  return list;
}

std::string RulesText(std::span<const RbacRule> rules) {
  std::string text;
  for (const RbacRule& rule : rules) {
    text += "- apiGroups: [" + (rule.group.empty() ? "\"\"" : rule.group) + "]\n  resources: [" +
            Join(rule.resources, ", ") + "]\n  verbs: [" + Join(rule.verbs, ", ") + "]\n";
  }
  return text;
}

bool Grants(std::span<const Right> rights, const kube::Resource& resource, std::string_view subresource,
            std::string_view verb) {
  return std::ranges::any_of(rights, [&](const Right& right) {
    if (*right.resource != resource || right.subresource != subresource) return false;
    const std::vector<std::string_view> verbs = Split(right.verbs, ' ');
    return std::ranges::find(verbs, verb) != verbs.end();
  });
}

}  // namespace capstan::plan
