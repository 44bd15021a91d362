#include "bridge/fit.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/release.h"

namespace capstan::bridge {
namespace {

using json::Find;
using json::FindText;
using json::Value;

constexpr std::string_view kOfTheMoment[] = {"node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"};

std::vector<Value> ListIn(const Value* list) {
  if (list == nullptr || !list->is_array()) return {};
  return {list->as_array().begin(), list->as_array().end()};
}

std::vector<std::string> TextsIn(const Value* list) {
  std::vector<std::string> texts;
  for (const Value& one : ListIn(list))
    if (one.is_string()) texts.emplace_back(one.get_string());
  return texts;
}

// A requirement of a node selector term on a label or a field; nullptr: it is not there.
bool Holds(const Value& requirement, const std::string* value) {
  const std::string_view is = FindText(requirement, {"operator"});
  const std::vector<std::string> values = TextsIn(Find(requirement, {"values"}));
  if (is == "Exists") return value != nullptr;
  if (is == "DoesNotExist") return value == nullptr;
  const bool among = value != nullptr && std::ranges::find(values, *value) != values.end();
  if (is == "In") return among;
  if (is == "NotIn") return !among;
  if ((is != "Gt" && is != "Lt") || value == nullptr || values.size() != 1) return false;
  const auto has = ParseInt(*value), bound = ParseInt(values.front());
  return has && bound && (is == "Gt" ? *has > *bound : *has < *bound);
}

bool Matches(const Value& term, const Node& node) {
  const std::vector<Value> labels = ListIn(Find(term, {"matchExpressions"})),
                           fields = ListIn(Find(term, {"matchFields"}));
  if (labels.empty() && fields.empty()) return false;
  const auto label_holds = [&](const Value& requirement) {
    const auto found = node.metadata.labels.find(std::string(FindText(requirement, {"key"})));
    return Holds(requirement, found == node.metadata.labels.end() ? nullptr : &found->second);
  };
  const auto field_holds = [&](const Value& requirement) {
    return FindText(requirement, {"key"}) == "metadata.name" && Holds(requirement, &node.metadata.name);
  };
  return std::ranges::all_of(labels, label_holds) && std::ranges::all_of(fields, field_holds);
}

bool Tolerates(const Value& toleration, const Value& taint) {
  const std::string_view key = FindText(toleration, {"key"}), is = FindText(toleration, {"operator"}),
                         effect = FindText(toleration, {"effect"});
  if (!effect.empty() && effect != FindText(taint, {"effect"})) return false;
  if (key.empty()) return is == "Exists";
  if (key != FindText(taint, {"key"})) return false;
  if (is == "Exists") return true;
  return (is.empty() || is == "Equal") && FindText(toleration, {"value"}) == FindText(taint, {"value"});
}

// It keeps a pod away, and stays.
bool Counts(const Value& taint) {
  const std::string_view effect = FindText(taint, {"effect"}), key = FindText(taint, {"key"});
  if (effect != "NoSchedule" && effect != "NoExecute") return false;
  return std::ranges::none_of(kOfTheMoment, [key](std::string_view prefix) { return key.starts_with(prefix); });
}

std::string TextOf(const Value& taint) {
  const std::string value(FindText(taint, {"value"}));
  return std::string(FindText(taint, {"key"})) + (value.empty() ? "" : "=" + value) + ":" +
         std::string(FindText(taint, {"effect"}));
}

std::vector<Value> Parsed(const json::Raw& list) {
  if (list.empty()) return {};
  const auto parsed = json::Parse(list.text);
  return parsed ? ListIn(&*parsed) : std::vector<Value>();
}

}  // namespace

Needs::Needs(const Pod& pod, const Settings& settings)
    : selector_(pod.spec.node_selector), tolerations_(Parsed(pod.spec.tolerations)) {
  for (const Value& one : Tolerations(settings.scheduler_name)) tolerations_.push_back(one);
  if (pod.spec.affinity.empty()) return;
  const auto affinity = json::Parse(pod.spec.affinity.text);
  if (!affinity) return;
  const Value* terms = Find(*affinity, {"nodeAffinity", kRequiredAffinity, "nodeSelectorTerms"});
  has_terms_ = terms != nullptr;
  terms_ = ListIn(terms);
}

bool Tolerates(const Pod& pod, const std::string& key, const std::string& value, const std::string& effect) {
  const Value taint = boost::json::object{{"key", key}, {"value", value}, {"effect", effect}};
  return std::ranges::any_of(Parsed(pod.spec.tolerations),
                             [&](const Value& toleration) { return Tolerates(toleration, taint); });
}

std::string Needs::WhyNot(const Node& node) const {
  std::string why = WhyNotByLabels(node);
  return why.empty() ? WhyNotByTaints(node) : why;
}

std::string Needs::WhyNotByLabels(const Node& node) const {
  for (const auto& [key, value] : selector_) {
    const auto found = node.metadata.labels.find(key);
    if (found == node.metadata.labels.end() || found->second != value)
      return "lacks the label " + OneLine(key + "=" + value, 150) + " of the pod's node selector";
  }
  if (has_terms_ && std::ranges::none_of(terms_, [&](const Value& term) { return Matches(term, node); }))
    return "does not match the pod's node affinity";
  return {};
}

std::string Needs::WhyNotByTaints(const Node& node) const {
  for (const Value& taint : Parsed(node.spec.taints)) {
    if (!Counts(taint)) continue;
    const auto tolerates = [&](const Value& toleration) { return Tolerates(toleration, taint); };
    if (std::ranges::none_of(tolerations_, tolerates))
      return "has the taint " + OneLine(TextOf(taint), 150) + ", which the pod does not tolerate";
  }
  return {};
}

}  // namespace capstan::bridge
