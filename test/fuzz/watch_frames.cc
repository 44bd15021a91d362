// Whatever bytes a watch brings, as lines or as frames, in whatever pieces: no crash, bounded memory, and what the store
// holds stays in order.
#include "kube/watch_frames.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "kube/feed.h"
#include "kube/testing/frames.h"

using namespace capstan;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t piece = 1 + data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);

  kube::Store<kube::testing::Numbered> store("things");
  kube::Feed& feed = store.AddFeed("");
  if (data[1] & 1) feed.BeginList();
  kube::EventBuffer events({.event = 1 << 16, .idle = 64});
  for (Tick now{}; !rest.empty(); now += 1s) {
    const auto space = events.Space();
    if (!space) break;
    const size_t bytes = std::min({piece, rest.size(), space->size()});
    std::copy_n(rest.data(), bytes, space->data());
    events.Commit(bytes);
    rest.remove_prefix(bytes);
    if (data[1] & 2) {
      while (const auto frame = events.NextFrame()) {
        if (!feed.TakeFrame(*frame, now)) feed.BeginList();
      }
      continue;
    }
    while (const auto line = events.NextLine()) {
      if (line->readable < line->text.size() + json::Decoder::kPadding) std::abort();
      if (!feed.Take(line->text, line->readable, now)) feed.BeginList();
    }
  }
  const kube::testing::Numbered* last = nullptr;
  for (const auto& thing : store.All()) {
    const auto key = [](const auto& t) { return std::pair(t.metadata.namespace_, t.metadata.name); };
    if (last && !(key(*last) < key(thing))) std::abort();
    last = &thing;
  }
  return 0;
}
