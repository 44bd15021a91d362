#include "json/defaults.h"

#include <cstdio>
#include <cstdlib>

#include "json/codec.h"

namespace capstan::json {
namespace {

void ApplyTo(const Member& member, void* value) {
  const Type& type = member.type();
  if (IsUnset(type, value)) {
    if (!member.default_json().empty()) {
      if (const Result<void> done = DecodeValue(type, value, member.default_json()); !done) {
        std::fprintf(stderr, "field table: default of \"%s\": %s\n", member.name().c_str(),
                     done.error().message().c_str());
        std::abort();
      }
    } else if (member.absent_is_empty()) {
      type.add(value, {});
    }
  }
  ApplyDefaults(type, value);
}

}  // namespace

void ApplyDefaults(const Type& type, void* value) {
  switch (type.kind) {
    case Kind::kObject:
      for (const Member& member : type.schema().members()) ApplyTo(member, member.at(value));
      return;
    case Kind::kOptional:
    case Kind::kList:
    case Kind::kMap:
      // The elements belong to `value`, which may be changed.
      type.each(
          value,
          [](void* context, std::string_view, const void* element) {
            ApplyDefaults(*static_cast<const Type*>(context), const_cast<void*>(element));
          },
          const_cast<Type*>(type.element));
      return;
    default:
      return;
  }
}

}  // namespace capstan::json
