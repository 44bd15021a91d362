// Keys that wait for room in a lane, in turn. No operation costs more than the logarithm of their number: there may be
// thousands.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "plan/key.h"

namespace capstan::plan {

class WaitingLine {
 public:
  bool empty() const { return places_.empty(); }
  size_t size() const { return places_.size(); }
  bool contains(const Key& key) const { return places_.contains(key); }

  // At the end, unless it is in the line already.
  void Join(const Key& key) {
    if (places_.try_emplace(key, next_).second) line_.emplace(next_++, key);
  }

  void Leave(const Key& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    line_.erase(place->second);
    places_.erase(place);
  }

  // The one that has waited longest; it goes on waiting, at the end. REQUIRES: not empty.
  Key TakeTurn() {
    const Key key = line_.begin()->second;
    Leave(key);
    Join(key);
    return key;
  }

 private:
  std::map<uint64_t, Key> line_;  // by place, which only grow
  std::unordered_map<Key, uint64_t> places_;
  uint64_t next_ = 0;
};

}  // namespace capstan::plan
