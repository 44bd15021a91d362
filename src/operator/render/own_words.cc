#include "operator/render/own_words.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/words.h"
#include "json/value.h"
#include "operator/render/json.h"

namespace capstan::op::render {
namespace {

constexpr std::string_view kSlurmdOptions[] = {"-N", "-f", "-F", "--conf-server"};
constexpr std::string_view kSlurmctldOptions[] = {"-c", "-f"};
constexpr std::string_view kSlurmrestdOptions[] = {"-f"};

constexpr std::string_view kConfVariable = "SLURM_CONF";
constexpr std::string_view kTemplate = "spec.template.spec";

std::string FieldOf(const OwnWords& own) { return "spec." + std::string(own.container); }

// Takes the options out of `words` and adds their names to `taken`. True: there were some.
bool TakeOut(const OwnWords& own, std::vector<std::string>& words, std::vector<std::string>& taken) {
  const std::vector<TakenOption> options = TakeOptions(own.syntax, own.options, &words);
  for (const TakenOption& one : options) {
    if (std::ranges::find(taken, one.name) == taken.end()) taken.push_back(one.name);
  }
  return !options.empty();
}

// What is no list of texts is the API server's to refuse, and an option's text whose quotes do not close capstan-entry's.
void TakeFromArgs(JsonObject& container, const OwnWords& own, std::vector<std::string>& taken) {
  Json* args = container.if_contains("args");
  if (args == nullptr || !args->is_array()) return;
  std::vector<std::string> words;
  for (const Json& one : args->get_array()) {
    if (!one.is_string()) return;
    words.emplace_back(one.get_string());
  }
  if (!TakeOut(own, words, taken)) return;
  JsonArray left;
  for (const std::string& word : words) left.emplace_back(word);
  *args = std::move(left);
}

void TakeFromVariables(JsonObject& container, const OwnWords& own, std::vector<std::string>& taken) {
  Json* env = container.if_contains("env");
  if (env == nullptr || !env->is_array()) return;
  JsonArray left;
  for (Json& variable : env->get_array()) {
    const std::string_view name = json::FindText(variable, {"name"});
    if (name == kConfVariable) {
      taken.emplace_back(name);
      continue;
    }
    if (name == own.variable) {
      auto words = SplitWords(json::FindText(variable, {"value"}));
      if (words && TakeOut(own, *words, taken)) variable.get_object()["value"] = JoinWords(*words);
    }
    left.push_back(std::move(variable));
  }
  *env = std::move(left);
}

std::vector<std::string> Take(Json& container, const OwnWords& own) {
  std::vector<std::string> taken;
  if (!container.is_object()) return taken;
  TakeFromArgs(container.get_object(), own, taken);
  TakeFromVariables(container.get_object(), own, taken);
  return taken;
}

std::vector<std::string> TakeFromPod(Json& pod_spec, const OwnWords& own) {
  Json* containers = pod_spec.is_object() ? pod_spec.get_object().if_contains("containers") : nullptr;
  if (containers == nullptr || !containers->is_array()) return {};
  std::vector<std::string> taken;
  for (Json& container : containers->get_array()) {
    if (json::FindText(container, {"name"}) != own.container) continue;
    for (std::string& name : Take(container, own)) taken.push_back(std::move(name));
  }
  return taken;
}

Result<json::Raw> Without(const json::Raw& user, const OwnWords& own, std::string_view where,
                          std::vector<std::string> (*take)(Json& user, const OwnWords& own)) {
  CAPSTAN_TRY(Json parsed, json::ParseObject(user, where));
  if (take(parsed, own).empty()) return user;
  return json::Raw{json::Serialize(parsed)};
}

}  // namespace

constinit const OwnWords kSlurmdOwnWords{"slurmd", kSlurmdSyntax, kSlurmdOptions, "SLURMD_OPTIONS"};
constinit const OwnWords kSlurmctldOwnWords{"slurmctld", kSlurmctldSyntax, kSlurmctldOptions, "SLURMCTLD_OPTIONS"};
constinit const OwnWords kSlurmrestdOwnWords{"slurmrestd", kSlurmrestdSyntax, kSlurmrestdOptions, "SLURMRESTD_OPTIONS"};

Result<json::Raw> WithoutOwnWords(const json::Raw& container, const OwnWords& own) {
  return Without(container, own, FieldOf(own), &Take);
}

Result<json::Raw> PodWithoutOwnWords(const json::Raw& pod_spec, const OwnWords& own) {
  return Without(pod_spec, own, kTemplate, &TakeFromPod);
}

std::string OwnWordsIn(const json::Raw& container, const json::Raw& pod_spec, const OwnWords& own) {
  auto overrides = json::ParseObject(container, ""), pod = json::ParseObject(pod_spec, "");
  std::string text;
  if (overrides) {
    if (const auto taken = Take(*overrides, own); !taken.empty()) text = FieldOf(own) + ": " + Join(taken, ", ");
  }
  if (pod) {
    if (const auto taken = TakeFromPod(*pod, own); !taken.empty())
      text += (text.empty() ? "" : "; ") + std::string(kTemplate) + ": " + Join(taken, ", ");
  }
  return text;
}

}  // namespace capstan::op::render
