// A key in a user's Secret: Slurm's own (auth/slurm), the one that signs tokens (auth/jwt), and others. Only its digest is
// ever known here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/common.h"
#include "operator/findings.h"
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

// Says of a key that is not known why not; whether it is known.
bool ReportKey(const FoundKey& key, Findings& findings);

// The file of further keys for tokens (auth/jwt), when `ref`, spec.jwksKeyRef, names one; slurmctld and slurmdbd do not
// start without it. False: it is not there, or cannot be read by auth/jwt; the findings say which.
bool CheckJwks(const plan::World& world, std::string_view ns, const std::optional<api::ConfigMapKeySelector>& ref,
               Findings& findings);

}  // namespace capstan::op
