// Counts how many of something there are at once: a member of what a test stores.
#pragma once

#include <algorithm>
#include <cstddef>

namespace capstan::kube::testing {

struct Counted {
  static inline size_t now = 0, most = 0;
  Counted() { Add(); }
  Counted(const Counted&) { Add(); }
  Counted(Counted&&) noexcept { Add(); }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --now; }
  bool operator==(const Counted&) const { return true; }

 private:
  static void Add() { most = std::max(most, ++now); }
};

}  // namespace capstan::kube::testing
