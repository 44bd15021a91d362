// What is decided: one object of one kind, by the reconciler that owns it.
#pragma once

#include <compare>
#include <string>

namespace capstan::plan {

struct Key {
  std::string kind;  // the reconciler's name: "nodeset", "controller"
  std::string ns;
  std::string name;
  auto operator<=>(const Key&) const = default;
};

inline std::string ToString(const Key& key) { return key.kind + "/" + key.ns + "/" + key.name; }

}  // namespace capstan::plan
