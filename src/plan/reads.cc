#include "plan/reads.h"

#include <algorithm>

namespace capstan::plan {

void WakeIndex::Forget(KeyNumber key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  for (const Token token : found->second) {
    const auto [begin, end] = by_token_.equal_range(token);
    const auto entry = std::find_if(begin, end, [key](const auto& pair) { return pair.second == key; });
    if (entry != end) by_token_.erase(entry);
  }
  by_key_.erase(found);
}

void WakeIndex::Set(KeyNumber key, const Reads& reads) {
  std::vector<Token> tokens(reads.tokens().begin(), reads.tokens().end());
  std::ranges::sort(tokens);
  auto& noted = by_key_[key];
  if (noted == tokens) return;
  Forget(key);
  for (const Token token : tokens) by_token_.emplace(token, key);
  by_key_[key] = std::move(tokens);
}

std::vector<WakeIndex::KeyNumber> WakeIndex::Find(Token token) const {
  std::vector<KeyNumber> keys;
  const auto [begin, end] = by_token_.equal_range(token);
  for (auto entry = begin; entry != end; ++entry) keys.push_back(entry->second);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace capstan::plan
