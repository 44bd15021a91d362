// The two keys of a cluster: Slurm's own (auth/slurm) and the one that signs tokens (auth/jwt). Only their digests are
// ever known here.
#pragma once

#include <string>
#include <string_view>

#include "api/controller.h"
#include "operator/findings.h"
#include "plan/world.h"

namespace capstan::op::controller {

struct Key {
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
Key FindKey(const plan::World& world, std::string_view ns, const api::SecretKeySelector* ref, std::string_view field);

// Whether the operator may make the key `which` ("slurm" or "jwt") when there is none: only if the Controller's
// annotation capstan.dev/generate-keys says "true", or the key's own name. A new key in place of a lost one cuts
// off every running daemon, so nobody gets one unasked.
bool MayGenerate(const api::Controller& controller, std::string_view which);

}  // namespace capstan::op::controller
