#include "plan/objects/derived_name.h"

#include "base/hash.h"

namespace capstan::plan {

std::string DerivedName(std::string_view prefix, std::string_view owner_uid, std::string_view slot,
                        std::string_view predecessor_uid) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  constexpr size_t kSuffix = 10, kLabel = 63;
  std::string name(prefix.substr(0, kLabel - kSuffix - 1));
  while (name.ends_with('-') || name.ends_with('.')) name.pop_back();
  name += '-';
  // Lengths in front keep ("a", "bc") and ("ab", "c") apart.
  std::string parts;
  for (const std::string_view part : {owner_uid, slot, predecessor_uid})
    parts += std::to_string(part.size()) + ":" + std::string(part);
  const std::string digest = Sha256Hex(parts);
  for (size_t i = 0; i < kSuffix; ++i)
    name += kAlphabet[size_t(std::stoi(digest.substr(4 * i, 4), nullptr, 16)) % kAlphabet.size()];
  return name;
}

}  // namespace capstan::plan
