#include "kube/protobuf.h"

#include "base/text.h"
#include "json/wire.h"

namespace capstan::kube {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

// The last field of that number that holds bytes; "" when there is none. kInvalid: not a message.
Result<std::string_view> BytesOf(std::string_view message, uint32_t number) {
  json::Wire wire(message);
  std::string_view found;
  for (json::Wire::Field field; wire.Next(field);) {
    if (field.number == number) found = field.bytes;
  }
  if (wire.broken()) return Fail(Code::kInvalid, "the answer is not a whole protobuf message");
  return found;
}

}  // namespace

bool IsProtobufType(std::string_view content_type) {
  return EqualsIgnoreCase(Trim(content_type.substr(0, content_type.find(';'))), kProtobufType);
}

bool IsProtobuf(std::string_view body) { return body.starts_with(kMagic); }

Result<ProtobufObject> OpenProtobuf(std::string_view body) {
  constexpr uint32_t kTypeMeta = 1, kRaw = 2, kContentEncoding = 3, kKind = 2;
  if (!IsProtobuf(body)) return Fail(Code::kInvalid, "the answer is not protobuf of Kubernetes");
  body.remove_prefix(kMagic.size());
  std::string_view type_meta;
  ProtobufObject object;
  json::Wire wire(body);
  for (json::Wire::Field field; wire.Next(field);) {
    if (field.number == kTypeMeta) type_meta = field.bytes;
    if (field.number == kRaw) object.message = field.bytes;
    if (field.number == kContentEncoding && !field.bytes.empty())
      return Fail(Code::kInvalid, "the answer is protobuf encoded as " + JsonQuoted(field.bytes.substr(0, 40)));
  }
  if (wire.broken()) return Fail(Code::kInvalid, "the answer is not a whole protobuf message");
  CAPSTAN_TRY(object.kind, BytesOf(type_meta, kKind));
  return object;
}

Result<ProtobufEvent> ReadProtobufEvent(std::string_view frame) {
  constexpr uint32_t kType = 1, kObject = 2, kRaw = 1;
  ProtobufEvent event;
  std::string_view extension;
  json::Wire wire(frame);
  for (json::Wire::Field field; wire.Next(field);) {
    if (field.number == kType) event.type = field.bytes;
    if (field.number == kObject) extension = field.bytes;
  }
  if (wire.broken()) return Fail(Code::kInvalid, "the watch sent a frame that is not a whole protobuf message");
  CAPSTAN_TRY(event.object, BytesOf(extension, kRaw));
  return event;
}

}  // namespace capstan::kube
