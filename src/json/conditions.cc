#include "json/conditions.h"

#include <algorithm>

namespace capstan::json {

const json::Schema& Condition::Schema() {
  static const json::Schema schema = json::Object<Condition>({
      Field<&Condition::last_transition_time>("lastTransitionTime")
          .Required()
          .Always()
          .Doc("When the status last changed."),
      Field<&Condition::message>("message").Required().Always().MaxLength(32768).Doc(
          "What is the case, and what to do about it."),
      Field<&Condition::observed_generation>("observedGeneration")
          .Minimum(0)
          .Doc("The metadata.generation that this speaks of."),
      Field<&Condition::reason>("reason")
          .Required()
          .Always()
          .MinLength(1)
          .MaxLength(1024)
          .Pattern("^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
          .Doc("The message in one word, for programs."),
      Field<&Condition::status>("status")
          .Required()
          .Always()
          .Enum({"True", "False", "Unknown"})
          .Doc("Whether it is the case."),
      Field<&Condition::type>("type")
          .Required()
          .Always()
          .MaxLength(316)
          .Pattern("^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                   "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$")
          .Doc("Of what this is the state: Ready, Progressing, Degraded, or one of the kind's own."),
  });
  return schema;
}

json::Member ConditionsField(json::Member member) {
  return std::move(member).ListMap({"type"}).Doc("What is the case, by type.");
}

const Condition* FindCondition(const Conditions& conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

std::string_view ConditionStatus(const Conditions& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition == nullptr ? std::string_view("Unknown") : std::string_view(condition->status);
}

bool SetCondition(Conditions& conditions, Condition condition, Time now) {
  constexpr size_t kLongestMessage = 32768;
  if (condition.message.size() > kLongestMessage) {
    size_t cut = kLongestMessage - 3;
    while (cut > 0 && (static_cast<unsigned char>(condition.message[cut]) & 0xC0) == 0x80) --cut;
    condition.message.resize(cut);
    condition.message += "...";
  }
  const auto found = std::ranges::find(conditions, condition.type, &Condition::type);
  const bool known = found != conditions.end();
  condition.last_transition_time = known && found->status == condition.status ? found->last_transition_time : now;
  if (!known) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (*found == condition) return false;
  *found = std::move(condition);
  return true;
}

bool RemoveCondition(Conditions& conditions, std::string_view type) {
  return std::erase_if(conditions, [&](const Condition& condition) { return condition.type == type; }) > 0;
}

}  // namespace capstan::json
