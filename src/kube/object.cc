#include "kube/object.h"

namespace capstan::kube {
namespace {

// What libstdc++ and glibc spend besides the payload.
constexpr size_t kAllocation = 16;
constexpr size_t kTreeNode = 32 + kAllocation;

// `bytes` of one text on the heap.
size_t TextBytes(size_t bytes) { return bytes > 0 ? bytes + kAllocation : 0; }

size_t ElementBytes(const json::Type& type) {
  if (type.kind == json::Kind::kString) return type.bytes;
  if (type.kind != json::Kind::kObject) return sizeof(void*);
  size_t bytes = 0;
  for (const json::Member& member : type.schema().members()) bytes += ElementBytes(member.type());
  return bytes;
}

struct Walk {
  const json::Type& element;
  json::Kind container;
  size_t bytes = 0;

  static void Visit(void* context, std::string_view key, const void* element) {
    Walk& walk = *static_cast<Walk*>(context);
    walk.bytes += HeapBytes(walk.element, element);
    if (walk.container == json::Kind::kOptional) return;
    walk.bytes += ElementBytes(walk.element);
    if (walk.container == json::Kind::kMap) {
      walk.bytes += kTreeNode + sizeof(std::string) + TextBytes(json::HeapBytesOf(std::string(key)));
    }
  }
};

}  // namespace

size_t HeapBytes(const json::Type& type, const void* value) {
  switch (type.kind) {
    case json::Kind::kString:
      return TextBytes(type.heap(value));
    case json::Kind::kRaw:
      return TextBytes(json::HeapBytesOf(static_cast<const json::Raw*>(value)->text));
    case json::Kind::kObject: {
      size_t bytes = 0;
      for (const json::Member& member : type.schema().members()) bytes += HeapBytes(member.type(), member.at(value));
      return bytes;
    }
    case json::Kind::kOptional:
    case json::Kind::kList:
    case json::Kind::kMap: {
      Walk walk{*type.element, type.kind};
      type.each(value, &Walk::Visit, &walk);
      return walk.bytes;
    }
    default:
      return 0;
  }
}

}  // namespace capstan::kube
