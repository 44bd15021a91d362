// What a worker was made from, as one short text: equal for equal wishes of the user, whoever rendered the pod.
#pragma once

#include <string>
#include <string_view>

#include "api/nodeset.h"
#include "base/result.h"
#include "operator/render/json.h"

namespace capstan::op::nodeset {

// What the user wrote about a NodeSet's workers: extraConf, logfile, ordinalPadding, oversubscribeNode, slurmd, ssh and
// template of its spec; defaults and empty objects left out, quantities in one spelling. kInvalid when a template is not
// JSON.
Result<render::JsonObject> WrittenForWorkers(const api::NodeSet& set);

// The revision of a NodeSet's workers: a hash of that. Nothing that Capstan adds counts, so a new version of it replaces no
// worker. Fit for a label's value.
Result<std::string> Revision(const api::NodeSet& set);

// FNV-1 of `text` in the letters that Kubernetes uses for hashes in names: no vowels, no digits that look like letters.
std::string ShortHash(std::string_view text);

}  // namespace capstan::op::nodeset
