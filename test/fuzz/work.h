// What one input costs, beside whether it breaks something: a short text must not stand for seconds or gigabytes.
#pragma once

#include <sanitizer/allocator_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace capstan::fuzzing {

// Counts the bytes that are taken from the heap while it lives, given back or not: work as well as memory, and the same in
// every run. Ends the program when they are more than `base` and `each` for each byte of input. One at a time.
class Work {
 public:
  Work(size_t input, size_t base, size_t each) : most_(base + each * input) {
    [[maybe_unused]] static const int installed =
        __sanitizer_install_malloc_and_free_hooks(&Taken, [](const volatile void*) {});
    taken_ = 0;
  }
  ~Work() {
    if (taken_ <= most_) return;
    std::fprintf(stderr, "the input took %zu bytes of memory, one after the other; at most %zu are right\n", taken_,
                 most_);
    std::abort();
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  static void Taken(const volatile void*, size_t bytes) { taken_ += bytes; }

  static inline thread_local size_t taken_ = 0;
  const size_t most_;
};

}  // namespace capstan::fuzzing
