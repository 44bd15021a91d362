#include "operator/nodeset/revision.h"

#include "base/hash.h"
#include "json/codec.h"
#include "operator/render/json.h"
#include "operator/render/quantities.h"

namespace capstan::op::nodeset {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";

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

Result<JsonObject> WrittenForWorkers(const api::NodeSet& set) {
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
  return wish;
}

Result<std::string> Revision(const api::NodeSet& set) {
  CAPSTAN_TRY(JsonObject wish, WrittenForWorkers(set));
  return ShortHash(json::SerializeCanonical(Json(std::move(wish))));
}

}  // namespace capstan::op::nodeset
