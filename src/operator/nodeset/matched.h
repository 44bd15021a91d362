// What done means for the user of a NodeSet: the half of its contract (contract.h) that is asked when nothing happens any more.
#pragma once

#include "json/value.h"
#include "operator/contract.h"

namespace capstan::op::nodeset::contract {

// What is not yet as its user wants it.
Broken Unmatched(const json::Value& set, const Around& around);

// What is left of a deleted one, but for what people hold.
Broken Remains(const json::Value& set, const Around& around);

}  // namespace capstan::op::nodeset::contract
