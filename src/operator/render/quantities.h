// Quantities of Kubernetes in one spelling, so that texts which mean the same are the same.
#pragma once

#include "operator/render/json.h"

namespace capstan::op::render {

// Within limits, requests and sizeLimit: "1024Mi" becomes "1Gi", 2 becomes "2". What is no quantity stays.
void NormalizeQuantities(Json& value);

}  // namespace capstan::op::render
