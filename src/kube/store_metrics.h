// What the stores of a process hold, for who wonders where its memory is.
//
//   StoreMetrics figures(loop, metrics);
//   figures.Add(pods);
//   group.Spawn("store metrics", figures.Run());
//
//   capstan_store_objects{resource="pods"}            that show
//   capstan_store_bytes{resource="pods"}              held for them, indexes included; an estimate
//   capstan_store_bytes_per_object{resource="pods"}   both of the moment when bytes were estimated; 0 without objects
//
// Objects are counted every 15 seconds. Bytes take a walk over everything: once a store has been listed, and then every
// five minutes if it has changed. Thread: the loop's.
#pragma once

#include <optional>
#include <vector>

#include "async/loop.h"
#include "kube/store.h"
#include "net/metrics.h"

namespace capstan::kube {

class StoreMetrics {
 public:
  // REQUIRES: all outlive it, the stores too.
  StoreMetrics(async::Loop& loop, net::Metrics& metrics) : loop_(loop), metrics_(metrics) {}

  void Add(const AnyStore& store);

  // Until cancelled.
  async::Task<void> Run();

 private:
  struct Figures {
    const AnyStore* store;
    net::Gauge* objects;
    net::Gauge* bytes;
    net::Gauge* bytes_per_object;
    std::optional<Tick> weighed;  // when bytes were estimated, and
    uint64_t progress = 0;        // how far the feeds had come
  };
  void Count(Figures& figures);

  async::Loop& loop_;
  net::Metrics& metrics_;
  std::vector<Figures> all_;
};

}  // namespace capstan::kube
