#include "operator/unknown_fields.h"

#include <algorithm>

#include "base/text.h"
#include "json/value.h"
#include "operator/questions.h"

namespace capstan::op {
namespace {

// What a server knows changes with its release only.
constexpr Duration kVerdictAge = 12h;

UserPart PartOf(const UserField& part) { return {std::string(part.field), part.raw->text}; }

// "containers[0].livenesProbe": a name may itself hold dots, so that the whole rest is tried first.
void Erase(json::Value& value, std::string_view path) {
  if (auto* list = value.if_array()) {
    const size_t end = path.find(']');
    const auto index = ParseInt(path.substr(0, end));
    if (end == std::string_view::npos || !index || size_t(*index) >= list->size()) return;
    path.remove_prefix(end + 1);
    if (path.starts_with('.') || path.starts_with('[')) path.remove_prefix(1);
    return Erase((*list)[size_t(*index)], path);
  }
  auto* object = value.if_object();
  if (object == nullptr) return;
  if (const auto whole = object->find(path); whole != object->end()) {
    object->stable_erase(whole);
    return;
  }
  const size_t end = path.find_first_of(".[");
  if (end == std::string_view::npos) return;
  if (json::Value* member = object->if_contains(path.substr(0, end))) Erase(*member, path.substr(end + 1));
}

void Drop(const UnknownFields::Value& unknown, const UserField& part) {
  const std::string before = std::string(part.field) + ".";
  std::optional<json::Value> value;
  for (const std::string& field : unknown) {
    if (!field.starts_with(before)) continue;
    if (!value) {
      auto parsed = json::Parse(part.raw->text);
      if (!parsed) return;
      value = *std::move(parsed);
    }
    Erase(*value, std::string_view(field).substr(before.size()));
  }
  if (value) part.raw->text = json::Serialize(*value);
}

void DropNamed(const plan::World& world, UnknownFields question, const std::vector<UserField>& parts,
               Findings& findings) {
  if (std::ranges::all_of(parts, [](const UserField& part) { return part.raw->empty(); })) return;
  const auto answer = world.Ask(std::move(question), kVerdictAge);
  if (answer.value == nullptr || answer.value->empty()) return;
  for (const UserField& part : parts) Drop(*answer.value, part);
  findings.Remark("UnknownFields", Join(*answer.value, ", ") +
                                       (answer.value->size() == 1 ? " is no field" : " are no fields") +
                                       " that the API server knows, and left out; correct or remove them");
}

}  // namespace

void DropUnknownPodFields(const plan::World& world, const kube::Key& owner, UserField pod_spec,
                          const std::vector<UserField>& containers, Findings& findings) {
  std::vector<UserPart> texts;
  for (const UserField& part : containers) texts.push_back(PartOf(part));
  std::vector<UserField> parts = containers;
  parts.push_back(pod_spec);
  DropNamed(world, UnknownFields(owner, PartOf(pod_spec), std::move(texts)), parts, findings);
}

void DropUnknownServiceFields(const plan::World& world, const kube::Key& owner, UserField service_spec,
                              Findings& findings) {
  const auto spec = json::Parse(service_spec.raw->text);
  if (spec && json::Find(*spec, {"externalIPs"}) != nullptr)
    findings.Remark("NotSupported", std::string(service_spec.field) +
                                        ".externalIPs is left out: it would take the traffic of any address; remove "
                                        "it, and set type LoadBalancer or NodePort instead");
  DropNamed(world, UnknownFields(owner, PartOf(service_spec)), {service_spec}, findings);
}

}  // namespace capstan::op
