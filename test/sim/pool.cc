// operator new and delete of the simulator. A story makes and drops some hundred thousand small things, for which malloc
// spends a fifth of all time on joining and cutting free places. Here every thread has a list of free places for each
// size, and nothing is given back. Not under sanitizers, which have their own.
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kChunk = size_t{1} << 18;   // places of one size, aligned to its own size
constexpr size_t kHuge = size_t{2} << 20;    // a large page
constexpr size_t kArena = size_t{16} << 30;  // of addresses; memory is only what is used of it
constexpr size_t kHead = 64;                 // of a chunk: which size its places have
constexpr size_t kStep = 16;                 // between sizes up to kSmall; above it four for each doubling
constexpr size_t kSmall = 1024;
constexpr size_t kLargest = size_t{16} << 10;  // what is larger is malloc's
constexpr size_t kSizes = kSmall / kStep + 1 + 4 * 4;

struct Free {
  Free* next;
};

struct Lists {
  std::array<Free*, kSizes> free;
  std::array<char*, kSizes> unused, end;  // of the chunk that is being cut
};
constinit thread_local Lists lists{};

constinit std::atomic<char*> arena = nullptr;
constinit std::atomic<size_t> taken = 0;

size_t Number(size_t size) {
  if (size <= kSmall) return (size + kStep - 1) / kStep;
  const int doubling = std::bit_width(size - 1) - 11;  // 0: up to 2,048
  const size_t quarter = kSmall << doubling >> 2;
  return kSmall / kStep + 1 + size_t(doubling) * 4 + (size - 1 - (kSmall << doubling)) / quarter;
}

size_t SizeOf(size_t number) {
  if (number <= kSmall / kStep) return number == 0 ? kStep : number * kStep;
  const size_t above = number - kSmall / kStep - 1;
  const size_t base = kSmall << (above / 4);
  return base + (above % 4 + 1) * (base >> 2);
}

char* Arena() {
  if (char* known = arena.load(std::memory_order_acquire)) return known;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* fresh = mmap(nullptr, kArena + kHuge, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (fresh == MAP_FAILED) std::abort();
  auto* const aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(fresh) + kHuge - 1) & ~(kHuge - 1));
  (void)madvise(aligned, kArena, MADV_HUGEPAGE);  // a story goes through some megabytes again and again
  char* none = nullptr;
  arena.compare_exchange_strong(none, aligned);
  return arena.load(std::memory_order_acquire);
}

void* FromNewChunk(size_t number) {
  const size_t at = taken.fetch_add(kChunk);
  if (at >= kArena) std::abort();
  char* const chunk = Arena() + at;
  *reinterpret_cast<size_t*>(chunk) = number;
  lists.unused[number] = chunk + kHead + SizeOf(number);
  lists.end[number] = chunk + kChunk;
  return chunk + kHead;
}

}  // namespace

void* operator new(size_t size) {
  if (size > kLargest) {
    if (void* place = std::malloc(size)) return place;
    throw std::bad_alloc();
  }
  const size_t number = Number(size);
  if (Free* const place = lists.free[number]) {
    lists.free[number] = place->next;
    return place;
  }
  char* const place = lists.unused[number];
  const size_t whole = SizeOf(number);
  if (place == nullptr || place + whole > lists.end[number]) return FromNewChunk(number);
  lists.unused[number] = place + whole;
  return place;
}

void operator delete(void* place) noexcept {
  const auto address = reinterpret_cast<uintptr_t>(place);
  const auto first = reinterpret_cast<uintptr_t>(arena.load(std::memory_order_relaxed));
  if (address - first >= kArena || first == 0) return std::free(place);
  const size_t number = *reinterpret_cast<const size_t*>(address & ~(kChunk - 1));
  auto* const free = static_cast<Free*>(place);
  free->next = lists.free[number];
  lists.free[number] = free;
}

void operator delete(void* place, size_t) noexcept { operator delete(place); }
