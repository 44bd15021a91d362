#include "plan/watches.h"

#include <algorithm>

#include "base/log.h"

namespace capstan::plan {

Watches::Watches(async::Loop& loop, kube::Client& client, Stores& stores, uint64_t seed)
    : loop_(loop), client_(client), stores_(stores), random_(seed), group_(loop) {}

Watches::~Watches() = default;

void Watches::Start(const std::vector<std::string>& namespaces) {
  started_ = true;
  if (net::Metrics* metrics = client_.metrics()) {
    figures_.emplace(loop_, *metrics);
    for (const Stores::Entry& entry : stores_.all()) figures_->Add(*entry.store);
    group_.Spawn("store figures", figures_->Run());
  }
  for (const Stores::Entry& entry : stores_.all()) {
    if (!entry.everywhere) continue;
    if (namespaces.empty() || !entry.resource.namespaced) {
      Watch(entry, "");
      continue;
    }
    for (const std::string& ns : namespaces) Watch(entry, ns);
  }
}

void Watches::Follow(const std::string& ns) {
  if (!followed_.insert(ns).second) return;
  log::Info("watching a namespace", {{"namespace", ns}});
  for (const Stores::Entry& entry : stores_.all()) {
    if (!entry.everywhere) Watch(entry, ns);
  }
}

void Watches::Watch(const Stores::Entry& entry, const std::string& ns) {
  kube::Watcher::Selection selection{.label_selector = entry.label_selector, .field_selector = entry.field_selector};
  kube::Feed& feed = entry.store->AddFeed(ns);
  watchers_.push_back(
      std::make_unique<kube::Watcher>(loop_, client_, entry.resource, feed, std::move(selection), random_.Next()));
  group_.Spawn("watch " + entry.store->name() + " " + ns, watchers_.back()->Run());
}

bool Watches::Synced() const {
  return started_ && std::ranges::all_of(stores_.all(), [](const Stores::Entry& entry) {
           return entry.store->feeds().empty() || entry.store->Synced();
         });
}

async::Task<void> Watches::Stop() {
  group_.Cancel();
  co_await group_.Join();
}

}  // namespace capstan::plan
