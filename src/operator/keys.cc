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

}  // namespace capstan::op
