// Kubernetes' protobuf to structs, by the field tables that JSON is read by too (schema.h), whose rows know the numbers
// of their fields. For kinds of which there are thousands: the API server writes protobuf in a third of the time of
// JSON, and what a table does not name is skipped unread.
//
//   Result<Pod> pod = json::DecodeProtobuf<Pod>(message);
//
// The same object gives equal structs from either encoding, where the table keeps to this:
//   - A field that Go has without a pointer stands in protobuf even when it is zero. Its member is plain, not a
//     std::optional. A time that is zero is absent in both.
//   - json::Raw and Secret have no place in such a table: the one is JSON, the other base64 in JSON and bytes here.
//   - A json::Digest is one of what stands there, so it differs between the encodings, and has its place only in kinds
//     that this process does not write (answers to writes are JSON). That of fieldsV1 is the same in both.
//   - json::Text, resourceVersions as numbers, lists, maps, IntOrString, Time (whole seconds of metav1.Time, the
//     nanoseconds of MicroTime) need nothing.
//
// Fields come in any order; of a single one the last counts, messages that come twice are merged. Numbers may be packed
// or not. Errors are kInvalid and name the place as those of JSON do: `spec.priority is text, must be an integer`.
// Nothing is read beyond the message, nothing nested deeper than 64 levels, and nothing is allocated but the struct.
#pragma once

#include <string_view>

#include "base/result.h"
#include "json/schema.h"

namespace capstan::json {

// Whether a table, and those of its members, knows all numbers and holds nothing that protobuf says otherwise.
bool ReadsProtobuf(const Type& type);

// `out` becomes what `message` says: what it held before is gone. After an error it is valid but holds only part.
// Rows without a number keep their default. REQUIRES: type is of a struct.
Result<void> DecodeProtobufValue(const Type& type, void* out, std::string_view message);

template <class T>
Result<T> DecodeProtobuf(std::string_view message) {
  T value{};
  if (Result<void> done = DecodeProtobufValue(kType<T>, &value, message); !done) return Fail(std::move(done).error());
  return value;
}

}  // namespace capstan::json
