#include "operator/findings.h"

namespace capstan::op {
namespace {

constexpr int kConflictTries = 3;

api::Condition Make(std::string_view type, std::string_view status, int64_t generation, Finding finding) {
  return {.type = std::string(type),
          .status = std::string(status),
          .observed_generation = generation,
          .last_transition_time = {},
          .reason = std::string(finding.reason),
          .message = std::move(finding.message)};
}

// The first finding's reason, and everybody's sentence.
Finding Joined(const std::vector<Finding>& findings) {
  Finding joined{findings.front().reason, ""};
  for (const Finding& finding : findings) {
    if (!joined.message.empty()) joined.message += "; ";
    joined.message += finding.message;
  }
  return joined;
}

std::vector<Finding> Wrong(const Findings& findings) {
  std::vector<Finding> wrong = findings.problems;
  wrong.insert(wrong.end(), findings.remarks.begin(), findings.remarks.end());
  return wrong;
}

Finding WhyNotReady(const std::vector<Finding>& wrong, const std::vector<Finding>& waits) {
  if (!wrong.empty()) return Joined(wrong);
  if (!waits.empty()) return Joined(waits);
  return {"NotReady", "it is not ready yet"};
}

}  // namespace

void Findings::AddFailures(const plan::World& world) {
  for (const plan::Failure& failure : world.failures()) {
    const bool named = failure.reason != "ActionFailed";
    if (failure.code == Code::kConflict && !named && failure.tries < kConflictTries) continue;
    const bool name_taken = failure.reason == "NameConflict";
    problems.push_back({failure.reason, name_taken
                                            ? failure.message
                                            : failure.verb + " " + failure.target + " failed: " + failure.message});
  }
}

api::Conditions ConditionsOf(const api::Conditions& before, const Findings& findings, int64_t generation, Time now) {
  api::Conditions conditions;
  const auto keep = [&](std::string_view type) {
    if (const api::Condition* condition = api::FindCondition(before, type)) conditions.push_back(*condition);
  };
  for (const std::string_view type : {api::kReady, api::kProgressing, api::kDegraded}) keep(type);
  for (const OwnCondition& own : findings.own) keep(own.type);
  const std::vector<Finding> wrong = Wrong(findings);
  const std::vector<Finding>& waits = findings.waits;
  const auto set = [&](std::string_view type, bool status, Finding finding) {
    api::SetCondition(conditions, Make(type, status ? "True" : "False", generation, std::move(finding)), now);
  };
  set(api::kReady, findings.ready.has_value(), findings.ready ? *findings.ready : WhyNotReady(wrong, waits));
  set(api::kProgressing, !waits.empty(), waits.empty() ? Finding{"Settled", "nothing is under way"} : Joined(waits));
  set(api::kDegraded, !wrong.empty(), wrong.empty() ? Finding{"AsExpected", "nothing is wrong"} : Joined(wrong));
  for (const OwnCondition& own : findings.own)
    api::SetCondition(conditions, Make(own.type, own.status, generation, own.finding), now);
  return conditions;
}

}  // namespace capstan::op
