#include "kube/store_metrics.h"

#include "async/timer.h"
#include "kube/feed.h"

namespace capstan::kube {
namespace {

constexpr Duration kCount = 15s;
constexpr Duration kWeigh = 5min;

// Grows with whatever changes a store.
uint64_t Progress(const AnyStore& store) {
  uint64_t progress = 0;
  for (const Feed* feed : store.feeds()) progress += feed->frontier();
  return progress;
}

}  // namespace

void StoreMetrics::Add(const AnyStore& store) {
  const net::Labels labels{{"resource", store.name()}};
  all_.push_back({.store = &store,
                  .objects = &metrics_.AddGauge("capstan_store_objects", "Objects in the cache", labels),
                  .bytes = &metrics_.AddGauge("capstan_store_bytes", "Memory held by the cache, estimated", labels),
                  .bytes_per_object = &metrics_.AddGauge("capstan_store_bytes_per_object",
                                                         "Memory held for an object, on average, estimated", labels)});
}

async::Task<void> StoreMetrics::Run() {
  while (true) {
    // One store a turn, so that nothing else waits for all of them.
    for (size_t i = 0; i < all_.size(); ++i) {
      Count(all_[i]);
      co_await async::Sleep(loop_, kCount / int64_t(all_.size()));
    }
    if (all_.empty()) co_await async::Sleep(loop_, kCount);
  }
}

void StoreMetrics::Count(Figures& figures) {
  const AnyStore& store = *figures.store;
  const Tick now = loop_.Now();
  figures.objects->Set(double(store.size()));
  const uint64_t progress = Progress(store);
  const bool due = !figures.weighed || (now - *figures.weighed >= kWeigh && progress != figures.progress);
  if (!due || !store.Synced()) return;
  const AnyStore::Counts counts = store.counts();
  figures.bytes->Set(double(counts.bytes));
  figures.bytes_per_object->Set(counts.objects == 0 ? 0 : double(counts.bytes) / double(counts.objects));
  figures.weighed = now;
  figures.progress = progress;
}

}  // namespace capstan::kube
