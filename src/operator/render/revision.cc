#include "operator/render/revision.h"

#include "base/hash.h"
#include "json/codec.h"
#include "kube/quantity.h"
#include "operator/render/json.h"

namespace capstan::op::render {
namespace {

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";

// "1024Mi" and "1Gi", 2 and "2" are the same wish.
void NormalizeQuantity(Json& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::Serialize(value);
  if (const auto quantity = kube::Quantity::Parse(text)) value = Json(quantity->ToString());
}

void NormalizeQuantities(Json& value, std::string_view key = {}) {
  if (auto* elements = value.if_array()) {
    for (Json& element : *elements) NormalizeQuantities(element);
    return;
  }
  auto* members = value.if_object();
  if (members == nullptr) {
    if (key == "sizeLimit") NormalizeQuantity(value);
    return;
  }
  const bool quantities = key == "limits" || key == "requests";
  for (auto& member : *members) {
    if (quantities)
      NormalizeQuantity(member.value());
    else
      NormalizeQuantities(member.value(), member.key());
  }
}

Result<void> AddRaw(JsonObject& into, std::string_view name, const json::Raw& raw) {
  CAPSTAN_TRY(Json value, json::ParseObject(raw, "spec." + std::string(name)));
  if (value.get_object().empty()) return {};
  NormalizeQuantities(value);
  into[name] = std::move(value);
  return {};
}

Result<void> AddTemplate(JsonObject& into, const api::WorkerTemplate& pod_template) {
  JsonObject object;
  CAPSTAN_CHECK_OK(AddRaw(object, "spec", pod_template.spec), "spec.template");
  JsonObject metadata;
  if (!pod_template.metadata.labels.empty()) metadata["labels"] = ToJson(pod_template.metadata.labels);
  if (!pod_template.metadata.annotations.empty()) metadata["annotations"] = ToJson(pod_template.metadata.annotations);
  if (!metadata.empty()) object["metadata"] = std::move(metadata);
  if (!object.empty()) into["template"] = std::move(object);
  return {};
}

}  // namespace

std::string ShortHash(std::string_view text) {
  std::string hash = std::to_string(Fnv32(text));
  for (char& c : hash) c = kAlphabet[size_t(c) % kAlphabet.size()];
  return hash;
}

Result<std::string> Revision(const api::NodeSet& set) {
  const api::NodeSetSpec& spec = set.spec;
  JsonObject wish;
  if (!spec.extra_conf.empty()) wish["extraConf"] = spec.extra_conf;
  if (spec.ordinal_padding.value_or(0) != 0) wish["ordinalPadding"] = *spec.ordinal_padding;
  if (spec.oversubscribe_node.value_or(false)) wish["oversubscribeNode"] = true;
  CAPSTAN_CHECK_OK(AddRaw(wish, "slurmd", spec.slurmd));
  CAPSTAN_CHECK_OK(AddRaw(wish, "logfile", spec.logfile));
  if (spec.ssh && spec.ssh->enabled.value_or(false)) {
    CAPSTAN_TRY(Json ssh, json::Parse(json::Encode(*spec.ssh)));
    wish["ssh"] = std::move(ssh);
  }
  CAPSTAN_CHECK_OK(AddTemplate(wish, spec.pod_template));
  return ShortHash(json::SerializeCanonical(Json(std::move(wish))));
}

}  // namespace capstan::op::render
