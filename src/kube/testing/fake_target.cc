#include "kube/testing/fake_target.h"

#include "base/text.h"

namespace capstan::kube::testing {
namespace {

std::string Decoded(std::string_view text) { return PercentDecoded(text).value_or(std::string(text)); }

std::unexpected<Refusal> NoSuchPath() {
  return std::unexpected(Refusal{404, "NotFound", "the server could not find the requested resource"});
}

}  // namespace

Answered<FakeTarget> FakeTarget::Parse(std::string_view target, FakeObjects& objects) {
  FakeTarget parsed;
  const size_t question = target.find('?');
  if (question != std::string_view::npos) {
    for (const std::string_view pair : Split(target.substr(question + 1), '&')) {
      const size_t equal = pair.find('=');
      parsed.query[Decoded(pair.substr(0, equal))] =
          equal == std::string_view::npos ? "" : Decoded(pair.substr(equal + 1));
    }
  }
  std::vector<std::string> steps;
  for (const std::string_view step : Split(target.substr(0, question), '/')) {
    if (!step.empty()) steps.push_back(Decoded(step));
  }
  const bool core = !steps.empty() && steps[0] == "api";
  const size_t begin = core ? 2 : 3;
  if (steps.size() <= begin || (!core && steps[0] != "apis")) return NoSuchPath();
  const std::string group = core ? "" : steps[1];
  const std::string& version = steps[begin - 1];
  size_t at = begin;
  if (steps[at] == "namespaces" && steps.size() > at + 2 && objects.Table(group, version, steps[at + 2])) {
    parsed.key.ns = steps[at + 1];
    at += 2;
  }
  parsed.table = objects.Table(group, version, steps[at]);
  if (!parsed.table || steps.size() > at + 3) return NoSuchPath();
  if (steps.size() > at + 1) parsed.key.name = steps[at + 1];
  if (steps.size() > at + 2) parsed.subresource = steps[at + 2];
  parsed.existed = parsed.table->objects.contains(parsed.key);
  return parsed;
}

std::string FakeTarget::Parameter(std::string_view name) const {
  const auto at = query.find(name);
  return at == query.end() ? "" : at->second;
}

Result<FakeWatchRequest> FakeTarget::Selection() const {
  FakeWatchRequest request;
  request.table = table;
  request.ns = key.ns;
  CAPSTAN_TRY(request.labels, Selector::Parse(Parameter("labelSelector")));
  CAPSTAN_TRY(request.fields, Selector::Parse(Parameter("fieldSelector")));
  return request;
}

std::string FakeTarget::Title() const { return std::string(table->resource.plural) + " \"" + key.name + "\""; }

}  // namespace capstan::kube::testing
