// Whatever stands in a custom resource, a template or a quantity: reading it never crashes, what was read is written
// the same way ever after, and canonical text is its own canonical text. A text of two lines is also a base and an
// overlay, and the difference between two objects.
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/controller.h"
#include "api/nodeset.h"
#include "json/canonical.h"
#include "json/codec.h"
#include "json/merge.h"
#include "json/strategic_merge.h"
#include "kube/merge_keys.h"
#include "kube/quantity.h"

using namespace capstan;  // NOLINT: a program of few functions

namespace {

template <class Kind>
void CheckCodec(std::string_view text) {
  const auto object = json::Decode<Kind>(text);
  if (!object) return;
  const std::string written = json::Encode(*object);
  const auto again = json::Decode<Kind>(written);
  if (!again || json::Encode(*again) != written) abort();
  api::WithDefaults(object->spec);
}

void CheckMerge(std::string_view first, std::string_view second) {
  const auto base = json::Parse(first);
  auto overlay = json::Parse(second);
  if (!base || !overlay) return;
  json::Value patched = *base;
  json::ApplyMergePatch(patched, *overlay);
  json::Value merged = *base;
  json::Normalize(*overlay, kube::kPodSpecShape);
  (void)json::StrategicMerge(merged, *overlay, kube::kPodSpecShape);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckCodec<api::NodeSet>(text);
  CheckCodec<api::Controller>(text);
  if (const auto canonical = json::Canonical(text)) {
    const auto again = json::Canonical(*canonical);
    if (!again || *again != *canonical) abort();
  }
  if (const size_t line = text.find('\n'); line != text.npos) CheckMerge(text.substr(0, line), text.substr(line + 1));
  if (const auto quantity = kube::Quantity::Parse(text)) {
    const auto again = kube::Quantity::Parse(quantity->ToString());
    if (!again || *again != *quantity) abort();
  }
  return 0;
}
