// What a Decide looked at, so that it can be woken when that changes.
//
// Each thing that can change has a token: an object of a store, an index entry, a node of a Slurm cluster, a
// question. World notes the token of everything it hands out; WakeIndex finds the keys whose last Decide
// noted a token. A token is a 64-bit hash: two things that collide cost a spare wake-up and nothing else.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"

namespace capstan::plan {

using Token = uint64_t;

// `space` keeps kinds of things apart ("pods", "pods/owner", "served", "slurm/ns/name"); `what` names one of them, ""
// all.
inline Token MakeToken(std::string_view space, std::string_view what) {
  return Fnv64(what, Fnv64("\x1f", Fnv64(space)));
}

// The tokens one Decide noted. Filled through a const World, hence the mutable use.
class Reads {
 public:
  void Note(Token token) { tokens_.insert(token); }
  const std::unordered_set<Token>& tokens() const { return tokens_; }

 private:
  std::unordered_set<Token> tokens_;
};

// Which keys (by their number) noted which tokens last time.
class WakeIndex {
 public:
  using KeyNumber = uint32_t;

  // Replaces what `key` noted.
  void Set(KeyNumber key, const Reads& reads);
  void Forget(KeyNumber key);

  // The keys to wake for a change of `token`, in ascending order.
  std::vector<KeyNumber> Find(Token token) const;

  size_t size() const { return by_token_.size(); }

 private:
  std::unordered_map<KeyNumber, std::vector<Token>> by_key_;
  std::unordered_multimap<Token, KeyNumber> by_token_;
};

}  // namespace capstan::plan
