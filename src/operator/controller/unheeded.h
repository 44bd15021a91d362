// The fields of a Controller that this version does not act on.
#pragma once

#include "api/controller.h"
#include "operator/unheeded.h"

namespace capstan::op::controller {

extern const std::span<const Unheeded<api::ControllerSpec>> kUnheeded;

}  // namespace capstan::op::controller
