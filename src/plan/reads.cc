#include "plan/reads.h"

#include <algorithm>
#include <iterator>

namespace capstan::plan {

void WakeIndex::Add(Read read, KeyNumber key) {
  ++size_;
  const auto [place, is_new] = by_read_.try_emplace(read, Keys{.only = key, .many = nullptr});
  if (is_new) return;
  Keys& keys = place->second;
  if (keys.many == nullptr) keys.many = std::make_unique<std::vector<KeyNumber>>(1, keys.only);
  keys.many->insert(std::ranges::lower_bound(*keys.many, key), key);
}

void WakeIndex::Remove(Read read, KeyNumber key) {
  const auto found = by_read_.find(read);
  if (found == by_read_.end()) return;
  --size_;
  if (found->second.many == nullptr) {
    by_read_.erase(found);
    return;
  }
  std::vector<KeyNumber>& keys = *found->second.many;
  keys.erase(std::ranges::lower_bound(keys, key));
  if (keys.size() == 1) found->second = {.only = keys.front(), .many = nullptr};
}

void WakeIndex::Forget(KeyNumber key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  for (const Read read : found->second) Remove(read, key);
  by_key_.erase(found);
}

void WakeIndex::Set(KeyNumber key, const Reads& reads) {
  std::vector<Read> now(reads.all().begin(), reads.all().end()), differ;
  std::ranges::sort(now);
  std::vector<Read>& before = by_key_[key];
  std::ranges::set_difference(before, now, std::back_inserter(differ));
  for (const Read read : differ) Remove(read, key);
  differ.clear();
  std::ranges::set_difference(now, before, std::back_inserter(differ));
  for (const Read read : differ) Add(read, key);
  before = std::move(now);
}

std::vector<WakeIndex::KeyNumber> WakeIndex::Find(Read read) const {
  const auto found = by_read_.find(read);
  if (found == by_read_.end()) return {};
  const Keys& keys = found->second;
  return keys.many != nullptr ? *keys.many : std::vector<KeyNumber>{keys.only};
}

}  // namespace capstan::plan
