// What a Decide looked at, so that it can be woken when that changes.
//
// A read names one thing that can change: an object of a store, an index entry, a node of a Slurm cluster, a question.
// World notes a read for everything it hands out; WakeIndex finds the keys whose last Decide noted it. A read is a
// 64-bit hash: two things that collide cost a spare wake-up and nothing else.
//
// Thread: the engine's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash.h"

namespace capstan::plan {

using Read = uint64_t;

// `space` keeps kinds of things apart ("pods", "pods/owner", "served", "slurm/ns/name"); `what` names one of them, ""
// all.
inline Read MakeRead(std::string_view space, std::string_view what) { return Fnv64(what, Fnv64("\x1f", Fnv64(space))); }

// What one Decide read. Filled through a const World, hence the mutable use.
class Reads {
 public:
  void Note(Read read) { all_.insert(read); }
  const std::unordered_set<Read>& all() const { return all_; }

 private:
  std::unordered_set<Read> all_;
};

// Which keys (by their number) noted which reads last time.
class WakeIndex {
 public:
  using KeyNumber = uint32_t;

  // Replaces what `key` noted.
  void Set(KeyNumber key, const Reads& reads);
  void Forget(KeyNumber key);

  // The keys to wake for a change of `read`, in ascending order.
  std::vector<KeyNumber> Find(Read read) const;

  // Pairs of a key and what it noted.
  size_t size() const { return size_; }

 private:
  // Most of what is read is read by one key, and some of it by all.
  struct Keys {
    KeyNumber only = 0;
    std::unique_ptr<std::vector<KeyNumber>> many;  // ascending; null: `only`
  };

  void Add(Read read, KeyNumber key);
  void Remove(Read read, KeyNumber key);

  std::unordered_map<KeyNumber, std::vector<Read>> by_key_;  // ascending
  std::unordered_map<Read, Keys> by_read_;
  size_t size_ = 0;
};

}  // namespace capstan::plan
