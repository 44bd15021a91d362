// A key in a user's Secret: Slurm's own (auth/slurm), the one that signs tokens (auth/jwt), and others. Only its digest is
// ever known here.
#pragma once

#include <string>
#include <string_view>

#include "api/common.h"
#include "plan/world.h"

namespace capstan::op {

// What is known of one, as of a minute ago at the latest.
struct FoundKey {
  enum class State : uint8_t {
    kKnown,    // it is there; `digest` stands for it
    kUnknown,  // not looked at yet, or it cannot be read now
    kAbsent,   // looked: there is no Secret of that name
    kWrong,    // the Secret is there, and the key is not in it, or no Secret is named
  };
  State state = State::kUnknown;
  std::string digest;   // SecretDigest's, of this key alone
  std::string message;  // a sentence, unless known

  bool known() const { return state == State::kKnown; }
};

// `ref` is the field `field` of the resource; may be null.
FoundKey FindKey(const plan::World& world, std::string_view ns, const api::SecretKeySelector* ref,
                 std::string_view field);

}  // namespace capstan::op
