// A map that keeps the memory and the series of one label within bounds.
#pragma once

#include <cstdint>
#include <map>

namespace capstan::exporter {

template <class Key, class Value>
class Bounded {
 public:
  explicit Bounded(size_t most) : most_(most) {}

  // The value of that key; nullptr if there are `most` others already.
  template <class Like>
  Value* At(const Like& key) {
    if (const auto found = values_.find(key); found != values_.end()) return &found->second;
    if (values_.size() < most_) return &values_.emplace(Key(key), Value()).first->second;
    ++refused_;
    return nullptr;
  }

  // nullptr: none.
  template <class Like>
  const Value* Find(const Like& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }

  const std::map<Key, Value, std::less<>>& values() const { return values_; }
  int64_t refused() const { return refused_; }  // calls of At that had no place

 private:
  size_t most_;
  std::map<Key, Value, std::less<>> values_;
  int64_t refused_ = 0;
};

}  // namespace capstan::exporter
