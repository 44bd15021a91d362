// Kubernetes' envelopes around protobuf messages (json/protobuf.h reads what is inside).
//
// An object or a list: "k8s\0", then a runtime.Unknown with the kind and the message. An event of a watch: a WatchEvent
// with its type and, in a RawExtension, an object in its envelope. Aggregated APIs and custom resources may answer in
// JSON whatever was asked for, so that each answer is looked at.
#pragma once

#include <string_view>

#include "base/result.h"

namespace capstan::kube {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// Whether a Content-Type is that, with parameters or without.
bool IsProtobufType(std::string_view content_type);

// Whether an answer's body is in the envelope. No JSON is.
bool IsProtobuf(std::string_view body);

// All texts lie in the one that was given.
struct ProtobufObject {
  std::string_view kind;     // "Status", "PodList"
  std::string_view message;  // of the object itself
};
// kInvalid: not an envelope, not whole, or one that holds something else than protobuf.
Result<ProtobufObject> OpenProtobuf(std::string_view body);

struct ProtobufEvent {
  std::string_view type;    // "ADDED"
  std::string_view object;  // in its envelope
};
// kInvalid: not a WatchEvent.
Result<ProtobufEvent> ReadProtobufEvent(std::string_view frame);

}  // namespace capstan::kube
