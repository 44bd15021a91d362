// What is decided: one object of one kind, by the reconciler that owns it.
#pragma once

#include <compare>
#include <functional>
#include <string>

#include "base/hash.h"

namespace capstan::plan {

struct Key {
  std::string kind;  // the reconciler's name: "nodeset", "controller"
  std::string ns;
  std::string name;
  auto operator<=>(const Key&) const = default;
};

inline std::string ToString(const Key& key) { return key.kind + "/" + key.ns + "/" + key.name; }

}  // namespace capstan::plan

template <>
struct std::hash<capstan::plan::Key> {
  size_t operator()(const capstan::plan::Key& key) const {
    using capstan::Fnv64;
    return Fnv64(key.name, Fnv64(key.ns, Fnv64(key.kind)));
  }
};
