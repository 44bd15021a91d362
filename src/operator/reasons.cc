#include "operator/reasons.h"

#include <vector>

#include "api/kinds.h"
#include "base/text.h"
#include "operator/controller/unheeded.h"
#include "operator/nodeset/unheeded.h"

namespace capstan::op {
namespace {

std::string PlacesOf(const Reason& reason) {
  std::vector<std::string> places;
  if (reason.places & Reason::kQuiet) places.emplace_back("condition");
  if (reason.places & Reason::kOwn) places.emplace_back(reason.condition);
  if (reason.places & Reason::kProblem) places.emplace_back("Degraded");
  if (reason.places & Reason::kWait) places.emplace_back("Progressing");
  if (reason.places & Reason::kEvent) places.emplace_back("Event");
  return Join(places, ", ");
}

template <class Spec>
void AddRows(std::string_view kind, std::span<const Unheeded<Spec>> fields, std::string& page) {
  for (const Unheeded<Spec>& field : fields)
    page += "| " + std::string(kind) + " | `spec." + std::string(field.field) + "` | " + std::string(field.sentence) +
            " |\n";
}

}  // namespace

std::string ReferencePage() {
  std::string page =
      api::ReferencePage() +
      "\n## Reasons\n\nThe words that conditions and Events give as their reason, for programs; what they say in words "
      "is "
      "in the message. Degraded gives that of its first problem, Progressing that of the first thing it waits for, and "
      "Ready, while it is False, the first of either. An Event that tells of a failed attempt has `Failed` behind its "
      "word.\n\n| reason | where | meaning |\n|---|---|---|\n";
  for (const Reason& reason : kReasons)
    page += "| `" + std::string(reason.word) + "` | " + PlacesOf(reason) + " | " + std::string(reason.meaning) + " |\n";
  page +=
      "\n## Accepted without effect\n\nFields that the definitions take and this version does not act on, with what "
      "the "
      "condition Degraded says (`NotSupported`) while one is asked for.\n\n| kind | field | it |\n|---|---|---|\n";
  AddRows("Controller", controller::kUnheeded, page);
  AddRows("NodeSet", nodeset::kUnheeded, page);
  return page;
}

}  // namespace capstan::op
