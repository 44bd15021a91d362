// Generic resources of workers: what a NodeSet asks for, and whether Slurm has it.
//
// `Gres=` of spec.extraConf says it. Where that says nothing, the devices that the pod's limits name do: each of
// nvidia.com/gpu, nvidia.com/mig-*, amd.com/gpu, gpu.intel.com/i915 and gpu.intel.com/xe is a `gpu`; but only if the
// Controller's spec.extraConf has gpu among its GresTypes, since Slurm knows no gpu else. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/controller.h"
#include "api/nodeset.h"
#include "base/result.h"
#include "slurm/snapshot.h"

namespace capstan::op::nodeset {

struct GresWish {
  std::string text;    // "gpu:a100:4,nvme:1"; "": nothing is asked for
  std::string source;  // in words: "spec.extraConf"
  bool derived = false;
};

// kInvalid: a template is not JSON.
Result<GresWish> GresOf(const api::NodeSet& set, const api::Controller& controller);

// spec.extraConf, with what is derived.
Result<std::string> ConfWithGres(const api::NodeSet& set, const api::Controller& controller);

// How the record of a registered worker differs from the wish, with both values and what to do; "": it does not. Counts are
// compared by name, and by type where both sides tell types; what is not asked for does not count.
std::string GresTrouble(const slurm::Node& node, const GresWish& wish);

}  // namespace capstan::op::nodeset
