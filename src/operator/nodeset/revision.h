// What a worker was made from, as one short text: equal for equal wishes of the user, whoever rendered the pod.
#pragma once

#include <string>
#include <string_view>

#include "api/nodeset.h"
#include "base/result.h"

namespace capstan::op::nodeset {

// The revision of a NodeSet's workers: a hash of what the user wrote about them (extraConf, logfile, ordinalPadding,
// oversubscribeNode, slurmd, ssh, template), in canonical form: keys sorted, defaults and empty objects left out,
// quantities in one spelling. Nothing that Capstan adds counts, so a new version of it replaces no worker. Fit for a
// label's value. kInvalid when a template is not JSON.
Result<std::string> Revision(const api::NodeSet& set);

// FNV-1 of `text` in the letters that Kubernetes uses for hashes in names: no vowels, no digits that look like letters.
std::string ShortHash(std::string_view text);

}  // namespace capstan::op::nodeset
