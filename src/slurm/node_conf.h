// The value of slurmd's --conf: with which properties a dynamic node registers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::slurm {

// From a NodeSet's extraConf ("Weight=10 Feature=gpu Gres=gpu:4"), the features the node must have, and its
// topology
// ("" for none): "Features=a,gpu Gres=gpu:4 Weight=10 Topology=default:sw1".
//
// Items are in byte order of their keys, except Topology, which comes last and is left out when empty: slurmd
// would take the item after an empty one for its value. Keys keep the spelling they were first given in; a
// repeated key's values are joined by commas. Features are the union of `features` and what extraConf has
// under Feature or Features, sorted. A Topology in extraConf wins over `topology`.
//
// The text has no quotes and is one argument of slurmd's command line as it stands. kInvalid, naming the
// item, for one without `=`, without a key or value, with a quote or backslash, or for NodeName, which is the
// pod's to choose.
//
// Slurm reads all of this only when a node's record is created. An existing record keeps what it has, except
// Topology; see Source::UpdateNode for changing it.
Result<std::string> NodeConf(std::string_view extra_conf, std::span<const std::string> features,
                             std::string_view topology);

}  // namespace capstan::slurm
