#include "operator/keys.h"

#include "base/text.h"
#include "operator/questions.h"

namespace capstan::op {

FoundKey FindKey(const plan::World& world, std::string_view ns, const api::SecretKeySelector* ref,
                 std::string_view field) {
  if (ref == nullptr || ref->name.empty() || ref->key.empty()) {
    return {FoundKey::State::kWrong, "", std::string(field) + " must name a Secret and a key in it"};
  }
  const kube::Key key{std::string(ns), ref->name};
  const std::string secret = "Secret " + key.ToString();
  const auto answer = world.Ask(SecretDigest(key), kReferenceAge);
  if (answer.absent()) {
    return {FoundKey::State::kAbsent, "",
            secret + ", named in " + std::string(field) + ", is missing; create it with the key \"" + ref->key + "\""};
  }
  if (answer.value == nullptr) {
    return {FoundKey::State::kUnknown, "",
            answer.error.empty() ? secret + " is being looked for" : secret + " cannot be read: " + answer.error};
  }
  const auto& digests = answer.value->digests;
  const auto found = digests.find(ref->key);
  if (found == digests.end()) {
    std::vector<std::string> keys;
    for (const auto& [name, digest] : digests) keys.push_back(name);
    return {FoundKey::State::kWrong, "",
            secret + ", named in " + std::string(field) + ", has no key \"" + ref->key +
                "\"; it has: " + (keys.empty() ? "none" : Join(keys, ", "))};
  }
  return {FoundKey::State::kKnown, found->second, ""};
}

bool ReportKey(const FoundKey& key, Findings& findings) {
  if (key.state == FoundKey::State::kUnknown) findings.Wait("ReadingKeys", key.message);
  if (key.state == FoundKey::State::kAbsent || key.state == FoundKey::State::kWrong)
    findings.Problem("KeyMissing", key.message);
  return key.known();
}

bool CheckJwks(const plan::World& world, std::string_view ns, const std::optional<api::ConfigMapKeySelector>& ref,
               Findings& findings) {
  if (!ref) return true;
  const kube::Key key{std::string(ns), ref->name};
  const std::string named = "ConfigMap " + key.ToString() + ", named in spec.jwksKeyRef, ";
  const auto answer = world.Ask(JwksFile(key, ref->key), kReferenceAge);
  if (answer.absent()) {
    findings.Problem("ReferenceMissing", named + "does not exist; create it with the key \"" + ref->key + "\"");
    return false;
  }
  if (answer.value == nullptr) {
    findings.Wait("ReadingReferences",
                  named + (answer.error.empty() ? "is being looked for" : "cannot be read: " + answer.error));
    return false;
  }
  if (!answer.value->empty()) findings.Problem("ReferenceInvalid", named + *answer.value);
  return answer.value->empty();
}

}  // namespace capstan::op
