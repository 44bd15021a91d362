// The JSON patch (RFC 6902) that makes one tree into another, with few and small operations: what an admission
// webhook answers with.
//
// Members of objects are compared one by one. Elements of a list are aligned so that as few of them as
// possible are touched: an element put in front or taken out of the middle is one operation, and one that
// changed inside is changed inside. Very long lists that differ everywhere are replaced.
//
// Applied to `from` as the API server does, the result equals `to`, null members included. Operations on one
// list stand in an order in which each index is right when its turn comes. The same two trees give the same
// text. Nothing here throws.
#pragma once

#include "json/merge.h"
#include "json/value.h"

namespace capstan::json {

// Empty when the two are equal. REQUIRES: both are objects (a patch of the whole is no patch).
JsonPatch JsonPatchBetween(const Value& from, const Value& to);

}  // namespace capstan::json
