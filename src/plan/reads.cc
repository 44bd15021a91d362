#include "plan/reads.h"

#include <algorithm>

namespace capstan::plan {

void WakeIndex::Forget(KeyNumber key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  for (const Read read : found->second) {
    const auto [begin, end] = by_read_.equal_range(read);
    const auto entry = std::find_if(begin, end, [key](const auto& pair) { return pair.second == key; });
    if (entry != end) by_read_.erase(entry);
  }
  by_key_.erase(found);
}

void WakeIndex::Set(KeyNumber key, const Reads& reads) {
  std::vector<Read> sorted(reads.all().begin(), reads.all().end());
  std::ranges::sort(sorted);
  auto& noted = by_key_[key];
  if (noted == sorted) return;
  Forget(key);
  for (const Read read : sorted) by_read_.emplace(read, key);
  by_key_[key] = std::move(sorted);
}

std::vector<WakeIndex::KeyNumber> WakeIndex::Find(Read read) const {
  std::vector<KeyNumber> keys;
  const auto [begin, end] = by_read_.equal_range(read);
  for (auto entry = begin; entry != end; ++entry) keys.push_back(entry->second);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace capstan::plan
