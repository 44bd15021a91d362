#include "bridge/policy.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/text.h"
#include "bridge/names.h"

namespace capstan::bridge {
namespace {

constexpr auto kLists = std::to_array<std::string_view>({"accounts", "partitions", "qos", "reservations", "wckeys"});
constexpr auto kOthers = std::to_array<std::string_view>({"user", "group", "max-priority"});
constexpr int64_t kSlurmUser = 401;  // the images'
constexpr size_t kLongestName = 100;

std::string Annotation(std::string_view end) { return std::string(kPolicyAnnotations) + std::string(end); }

std::unexpected<Error> Wrong(const Namespace& ns, std::string_view end, std::string_view wanted) {
  return Fail(Code::kInvalid, "annotation " + Annotation(end) + " of namespace " + ns.metadata.name + " is " +
                                  JsonQuoted(OneLine(ns.metadata.Annotation(Annotation(end)), kLongestName)) +
                                  ", and must be " + std::string(wanted));
}

// nullopt: it is not there.
Result<std::optional<int64_t>> Number(const Namespace& ns, std::string_view end) {
  if (!ns.metadata.annotations.contains(Annotation(end))) return std::nullopt;
  const auto number = ParseInt(ns.metadata.Annotation(Annotation(end)));
  if (!number || *number < 1 || *number > kMostId)
    return Wrong(ns, end, "a number from 1 to " + std::to_string(kMostId));
  return *number;
}

Result<std::vector<std::string>> Names(const Namespace& ns, std::string_view end) {
  std::vector<std::string> names;
  for (const std::string_view one : Split(ns.metadata.Annotation(Annotation(end)), ','))
    if (const std::string_view name = Trim(one); !name.empty()) names.emplace_back(name);
  if (names.empty()) return Wrong(ns, end, "names with commas between, such as \"a, b\"");
  return names;
}

bool IsKnown(std::string_view end) {
  return std::ranges::find(kLists, end) != kLists.end() || std::ranges::find(kOthers, end) != kOthers.end();
}

std::unexpected<Error> Refused(const Policy& policy, std::string_view list, std::string_view what,
                               std::string_view name) {
  return Fail(Code::kForbidden, "namespace " + policy.ns + " may not use " + std::string(what) + " " +
                                    JsonQuoted(OneLine(name, kLongestName)) + "; it may use " +
                                    Join(policy.lists.find(list)->second, ", ") + " (annotation " + Annotation(list) +
                                    " of the Namespace)");
}

bool HasSeveral(std::string_view list) { return list == "partitions" || list == "reservations"; }

std::vector<std::string_view> NamesIn(std::string_view list, std::string_view named) {
  return HasSeveral(list) ? Split(named, ',') : std::vector{named};
}

}  // namespace

Result<Policy> Policy::Of(const Namespace& ns) {
  Policy policy{.ns = ns.metadata.name};
  for (const auto& [name, value] : ns.metadata.annotations) {
    if (!name.starts_with(kPolicyAnnotations)) continue;
    policy.there = true;
    if (IsKnown(std::string_view(name).substr(kPolicyAnnotations.size()))) continue;
    return Fail(Code::kInvalid,
                "annotation " + OneLine(name, kLongestName) + " of namespace " + ns.metadata.name +
                    " is none that a policy has; it has user, group, accounts, partitions, qos, wckeys, "
                    "reservations and max-priority");
  }
  CAPSTAN_TRY(policy.user, Number(ns, "user"));
  CAPSTAN_TRY(policy.group, Number(ns, "group"));
  CAPSTAN_TRY(policy.max_priority, Number(ns, "max-priority"));
  if (policy.user && IsReservedUser(*policy.user)) return Wrong(ns, "user", "neither root nor Slurm's own user");
  if (policy.user.has_value() != policy.group.has_value()) {
    return Fail(Code::kInvalid, "namespace " + ns.metadata.name + " has one of the annotations " + Annotation("user") +
                                    " and " + Annotation("group") + "; a job needs both, or none");
  }
  for (const std::string_view list : kLists) {
    if (!ns.metadata.annotations.contains(Annotation(list))) continue;
    CAPSTAN_TRY(policy.lists[std::string(list)], Names(ns, list));
  }
  return policy;
}

Result<std::string> Policy::Choose(std::string_view list, std::string_view what, const std::string& named) const {
  const auto found = lists.find(list);
  if (found == lists.end()) return named;
  if (named.empty()) return list == "reservations" ? "" : found->second.front();
  for (const std::string_view name : NamesIn(list, named))
    if (std::ranges::find(found->second, name) == found->second.end()) return Refused(*this, list, what, name);
  return named;
}

std::string Policy::Hash() const {
  std::string text;
  for (const auto& number : {user, group, max_priority}) text += (number ? std::to_string(*number) : "-") + "\n";
  for (const auto& [list, names] : lists) text += list + "=" + Join(names, ",") + "\n";
  return Fnv64Hex(text);
}

bool IsReservedUser(int64_t uid) { return uid == 0 || uid == kSlurmUser; }

}  // namespace capstan::bridge
