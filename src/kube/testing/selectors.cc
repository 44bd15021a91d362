#include "kube/testing/selectors.h"

#include <algorithm>

#include "base/text.h"

namespace capstan::kube::testing {
namespace {

// At commas outside parentheses.
std::vector<std::string_view> Terms(std::string_view text) {
  std::vector<std::string_view> terms;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    terms.push_back(Trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return terms;
}

std::vector<std::string> ListIn(std::string_view parentheses) {
  std::vector<std::string> values;
  for (const std::string_view value : Split(parentheses.substr(1, parentheses.size() - 2), ','))
    values.emplace_back(Trim(value));
  return values;
}

const std::string* Copy(const json::Value* value, std::string& into) {
  if (!value) return nullptr;
  into = value->is_string() ? std::string(value->get_string()) : json::Serialize(*value);
  return &into;
}

bool IsKey(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '/' ||
           c == '_' || c == '-';
  });
}

}  // namespace

Result<Selector> Selector::Parse(std::string_view text) {
  Selector selector;
  if (Trim(text).empty()) return selector;
  for (const std::string_view term : Terms(text)) {
    const auto words = Words(term);
    if (words.empty()) return Fail(Code::kInvalid, "the selector has an empty term");
    const size_t open = term.find('(');
    if (words.size() > 1 && open != std::string_view::npos &&
        (words[1].starts_with("in") || words[1].starts_with("notin"))) {
      const Operator op = words[1].starts_with("in") ? Operator::kIn : Operator::kNotIn;
      selector.requirements_.push_back({std::string(words[0]), op, ListIn(Trim(term.substr(open)))});
    } else if (const size_t not_equal = term.find("!="); not_equal != std::string_view::npos) {
      selector.requirements_.push_back({std::string(Trim(term.substr(0, not_equal))),
                                        Operator::kNotIn,
                                        {std::string(Trim(term.substr(not_equal + 2)))}});
    } else if (const size_t equal = term.find('='); equal != std::string_view::npos) {
      const size_t value = term.find_first_not_of('=', equal);
      const std::string_view wanted = value == std::string_view::npos ? "" : term.substr(value);
      selector.requirements_.push_back(
          {std::string(Trim(term.substr(0, equal))), Operator::kIn, {std::string(Trim(wanted))}});
    } else if (term.starts_with('!')) {
      selector.requirements_.push_back({std::string(Trim(term.substr(1))), Operator::kAbsent, {}});
    } else {
      selector.requirements_.push_back({std::string(term), Operator::kExists, {}});
    }
    if (const std::string& key = selector.requirements_.back().key; !IsKey(key))
      return Fail(Code::kInvalid, "unable to parse requirement: \"" + key + "\" is no key");
  }
  return selector;
}

bool Selector::Holds(const Requirement& requirement, const std::string* value) {
  const bool listed = value && std::ranges::find(requirement.values, *value) != requirement.values.end();
  switch (requirement.op) {
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return value;
    case Operator::kAbsent:
      return !value;
  }
  return false;
}

bool Selector::MatchesLabels(const json::Value& object) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    std::string text;
    return Holds(requirement, Copy(json::Find(object, {"metadata", "labels", requirement.key}), text));
  });
}

bool Selector::MatchesFields(const json::Value& object) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    const json::Value* at = &object;
    for (const std::string_view step : Split(requirement.key, '.')) at = at ? json::Find(*at, {step}) : nullptr;
    std::string text;  // a field that is not set is empty
    Copy(at, text);
    return Holds(requirement, &text);
  });
}

}  // namespace capstan::kube::testing
