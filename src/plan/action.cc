#include "plan/action.h"

#include "base/hash.h"

namespace capstan::plan {

ActionId Action::id() const {
  return {.aim = Fnv64(effect->target(), Fnv64("\x1f", Fnv64(effect->verb()))), .content = effect->content()};
}

}  // namespace capstan::plan
