#include "operator/render/own_words.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "json/value.h"
#include "operator/render/json.h"

namespace capstan::op::render {
namespace {

constexpr std::string_view kSlurmdOptions[] = {"-N", "-f", "-F", "--conf-server"};
constexpr std::string_view kSlurmctldOptions[] = {"-c", "-f"};
constexpr std::string_view kSlurmrestdOptions[] = {"-f"};

// Takes them out of the container's args. What is no list of texts is the API server's to refuse.
std::vector<TakenOption> Take(Json& container, const OwnWords& own) {
  Json* args = container.is_object() ? container.get_object().if_contains("args") : nullptr;
  if (args == nullptr || !args->is_array()) return {};
  std::vector<std::string> words;
  for (const Json& one : args->get_array()) {
    if (!one.is_string()) return {};
    words.emplace_back(one.get_string());
  }
  std::vector<TakenOption> taken = TakeOptions(own.syntax, own.options, &words);
  if (taken.empty()) return taken;
  JsonArray left;
  for (const std::string& word : words) left.emplace_back(word);
  *args = std::move(left);
  return taken;
}

}  // namespace

constinit const OwnWords kSlurmdOwnWords{kSlurmdSyntax, kSlurmdOptions};
constinit const OwnWords kSlurmctldOwnWords{kSlurmctldSyntax, kSlurmctldOptions};
constinit const OwnWords kSlurmrestdOwnWords{kSlurmrestdSyntax, kSlurmrestdOptions};

Result<json::Raw> WithoutOwnWords(const json::Raw& user, const OwnWords& own, std::string_view where) {
  CAPSTAN_TRY(Json container, json::ParseObject(user, where));
  if (Take(container, own).empty()) return user;
  return json::Raw{json::Serialize(container)};
}

std::string OwnWordsIn(const json::Raw& user, const OwnWords& own) {
  auto container = json::ParseObject(user, "");
  if (!container) return "";
  std::vector<std::string> names;
  for (const TakenOption& one : Take(*container, own)) {
    if (std::ranges::find(names, one.name) == names.end()) names.push_back(one.name);
  }
  return Join(names, ", ");
}

}  // namespace capstan::op::render
