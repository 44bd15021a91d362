// Strategic merge: laying what a user wrote over what Capstan builds, by the rules Kubernetes has for
// `kubectl patch`, with the ambiguities of those rules settled so that the result is never an object the API
// server must refuse.
//
// - Objects merge member by member. false, 0 and "" are values like any other; null removes what the base
// has.
// - Lists whose elements have a key (MergeField::keys) merge element by element; a key the base does not have
// adds one.
//   Order: the overlay's elements in the overlay's order, and each of the base's others in front of the first
//   of them that follows it in the base, or at the end. With `base_first`: the base's order, then the new
//   ones.
// - Lists marked `append` keep the base's elements and gain those they do not have. Other lists are replaced.
// - Where only one of several members may be set (MergeShape::one_of), one in the overlay removes the base's
// other.
// - Directives in the overlay: `$patch: replace` (in an object: the overlay as it is; as an element of a
// list: the list
//   as it is), `$patch: delete` (in an object: removes it; in an element: removes the base's element of that
//   key),
//   `$retainKeys: [..]` (drops the base's other members), `$deleteFromPrimitiveList/<list>: [..]`. Others are
//   refused.
//
// The shapes of core/v1 are in kube/merge_keys.h. Everything is deterministic and nothing throws.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace capstan::json {

struct MergeShape;

// What tells the elements of a list apart. A second key, with the value it has when absent, where the first
// alone does not: ports 53/TCP and 53/UDP are two.
struct MergeKey {
  std::string_view name;
  std::string_view when_absent;  // empty: the key must be there
};

struct MergeField {
  std::string_view name;
  const MergeShape* shape = nullptr;    // of the object, or of the list's elements; null: nothing special inside
  std::span<const MergeKey> keys = {};  // lists
  bool base_first = false;              // lists with keys
  bool append = false;                  // lists without keys
  bool retain_keys = false;             // an element or object that the overlay names keeps only the members it names
};

struct MergeShape {
  std::span<const MergeField> fields;
  std::span<const std::string_view> one_of = {};
  std::span<const std::string_view> known = {};  // all members that exist, for Normalize; empty: not checked

  const MergeField* Find(std::string_view name) const;
};

// `base` with `overlay` laid over it. kInvalid: the overlay is not an object, an element lacks its key, a
// directive is unknown; the message names the place. After an error `base` is valid but holds only part.
Result<void> StrategicMerge(Value& base, const Value& overlay, const MergeShape& shape);

// Makes an overlay unambiguous before it is merged or hashed: of elements with equal keys only the last
// stays. Returns one sentence for each thing that the user should know: a key given twice, a member that the
// kind does not have (it stays: this table may be older than the cluster). At most 20 sentences.
std::vector<std::string> Normalize(Value& overlay, const MergeShape& shape);

}  // namespace capstan::json
