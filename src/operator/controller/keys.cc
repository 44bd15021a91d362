#include "operator/controller/keys.h"

#include "base/text.h"
#include "operator/names.h"
#include "operator/questions.h"

namespace capstan::op::controller {

Key FindKey(const plan::World& world, std::string_view ns, const api::SecretKeySelector* ref, std::string_view field) {
  if (ref == nullptr || ref->name.empty() || ref->key.empty()) {
    return {Key::State::kWrong, "", std::string(field) + " must name a Secret and a key in it"};
  }
  const kube::Key key{std::string(ns), ref->name};
  const std::string secret = "Secret " + key.ToString();
  const auto answer = world.Ask(SecretDigest(key), kReferenceAge);
  if (answer.absent()) {
    return {Key::State::kAbsent, "",
            secret + ", named in " + std::string(field) + ", is missing; create it with the key \"" + ref->key + "\""};
  }
  if (answer.value == nullptr) {
    return {Key::State::kUnknown, "",
            answer.error.empty() ? secret + " is being looked for" : secret + " cannot be read: " + answer.error};
  }
  const auto& digests = answer.value->digests;
  const auto found = digests.find(ref->key);
  if (found == digests.end()) {
    std::vector<std::string> keys;
    for (const auto& [name, digest] : digests) keys.push_back(name);
    return {Key::State::kWrong, "",
            secret + ", named in " + std::string(field) + ", has no key \"" + ref->key +
                "\"; it has: " + (keys.empty() ? "none" : Join(keys, ", "))};
  }
  return {Key::State::kKnown, found->second, ""};
}

bool MayGenerate(const api::Controller& controller, std::string_view which) {
  std::string wish = controller.metadata.Annotation(std::string(kAnnotationGenerateKeys));
  if (wish.empty()) wish = controller.metadata.Annotation(std::string(kFormerAnnotationGenerateKeys));
  return wish == "true" || wish == which;
}

}  // namespace capstan::op::controller
