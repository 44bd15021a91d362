#include "operator/render/quantities.h"

#include <string_view>

#include "kube/quantity.h"

namespace capstan::op::render {
namespace {

// "1024Mi" and "1Gi", 2 and "2" are the same wish.
void NormalizeQuantity(Json& value) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : json::Serialize(value);
  if (const auto quantity = kube::Quantity::Parse(text)) value = Json(quantity->ToString());
}

void Normalize(Json& value, std::string_view key) {
  if (auto* elements = value.if_array()) {
    for (Json& element : *elements) Normalize(element, {});
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
      Normalize(member.value(), member.key());
  }
}

}  // namespace

void NormalizeQuantities(Json& value) { Normalize(value, {}); }

}  // namespace capstan::op::render
