// The fields of a NodeSet that this version does not act on.
#pragma once

#include "api/nodeset.h"
#include "operator/unheeded.h"

namespace capstan::op::nodeset {

extern const std::span<const Unheeded<api::NodeSetSpec>> kUnheeded;

}  // namespace capstan::op::nodeset
