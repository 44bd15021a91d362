// What a SharedRoot promises (operator/contract.h).
//
// Safety: it creates its claim, applies and deletes Jobs of its own, and writes nothing else but its own status: no claim is changed or
// deleted.
// Done: a claim, and in status a generation of the image and revision that spec asks for, which is current.
#pragma once

#include "operator/contract.h"

namespace capstan::op::sharedroot {

extern const Contract kContract;

}  // namespace capstan::op::sharedroot
