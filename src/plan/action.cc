#include "plan/action.h"

#include "base/hash.h"

namespace capstan::plan {

ActionId Action::id() const {
  const uint64_t content = effect->content();
  const std::string_view bytes(reinterpret_cast<const char*>(&content), sizeof content);
  return {Fnv64(bytes, Fnv64(effect->target(), Fnv64("\x1f", Fnv64(effect->verb()))))};
}

}  // namespace capstan::plan
