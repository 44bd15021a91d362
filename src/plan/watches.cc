#include "plan/watches.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "kube/feed.h"

namespace capstan::plan {
namespace {

constexpr Duration kUnwatchDelay = 10min;

}  // namespace

Watches::Watches(async::Loop& loop, kube::Client& client, Stores& stores, uint64_t seed)
    : loop_(loop), client_(client), stores_(stores), random_(seed), everywhere_(loop), group_(loop) {}

Watches::~Watches() = default;

bool Watches::Everywhere(const Stores::Entry& entry) const {
  return every_kind_ || entry.watching.everywhere || !entry.resource.namespaced;
}

void Watches::Start(const std::vector<std::string>& namespaces, bool every_kind) {
  started_ = true;
  every_kind_ = every_kind;
  if (net::Metrics* metrics = client_.metrics()) {
    figures_.emplace(loop_, *metrics);
    for (const Stores::Entry& entry : stores_.all()) figures_->Add(*entry.store);
    group_.Spawn("store figures", figures_->Run());
  }
  for (const Stores::Entry& entry : stores_.all()) {
    if (!Everywhere(entry)) continue;
    if (namespaces.empty() || !entry.resource.namespaced) {
      Watch(everywhere_, entry, "");
      continue;
    }
    for (const std::string& ns : std::set(namespaces.begin(), namespaces.end())) Watch(everywhere_, entry, ns);
  }
}

void Watches::Follow(const std::string& ns) {
  if (every_kind_) return;
  const auto [place, fresh] = followed_.try_emplace(ns);
  if (!fresh) {
    place->second->unused_since.reset();
    return;
  }
  place->second = std::make_unique<Followed>(loop_);
  log::Info("watching a namespace", {{"namespace", ns}});
  for (const Stores::Entry& entry : stores_.all()) {
    if (!Everywhere(entry)) Watch(*place->second, entry, ns);
  }
}

void Watches::LeaveUnused(const std::function<bool(const std::string& ns)>& in_use) {
  for (const auto& [ns, followed] : followed_) {
    if (followed->leaving) continue;
    if (in_use(ns)) {
      followed->unused_since.reset();
      continue;
    }
    if (!followed->unused_since) followed->unused_since = loop_.Now();
    if (loop_.Now() - *followed->unused_since < kUnwatchDelay) continue;
    followed->leaving = true;
    group_.Spawn("leave " + ns, Leave(ns));
  }
}

async::Task<void> Watches::Leave(std::string ns) {
  Followed& followed = *followed_.at(ns);
  followed.group.Cancel();
  co_await followed.group.Join();
  followed.watchers.clear();
  const bool again = !followed.unused_since;  // followed while it was being left
  for (const Stores::Entry& entry : stores_.all()) {
    if (!Everywhere(entry)) entry.store->RemoveFeed(ns);
  }
  followed_.erase(ns);
  log::Info("no longer watching a namespace", {{"namespace", ns}});
  if (again) Follow(ns);
}

void Watches::Watch(Followed& with, const Stores::Entry& entry, const std::string& ns) {
  kube::Watcher::Selection selection{.label_selector = entry.watching.label_selector,
                                     .field_selector = entry.watching.field_selector,
                                     .metadata_only = entry.watching.metadata_only};
  kube::Feed& feed = entry.store->AddFeed(ns);
  with.watchers.push_back({&feed, std::make_unique<kube::Watcher>(loop_, client_, entry.resource, feed,
                                                                  std::move(selection), random_.Next())});
  with.group.Spawn("watch " + entry.store->name() + " " + ns, with.watchers.back().watcher->Run());
}

bool Watches::Synced() const {
  return started_ && std::ranges::all_of(stores_.all(), [](const Stores::Entry& entry) {
           return !entry.store->watched() || entry.store->Synced();
         });
}

std::vector<std::string> Watches::Unlisted() const {
  std::vector<std::string> names;
  NameUnlisted(everywhere_, names);
  for (const auto& [ns, followed] : followed_) NameUnlisted(*followed, names);
  return names;
}

void Watches::NameUnlisted(const Followed& followed, std::vector<std::string>& names) {
  for (const Watched& watched : followed.watchers) {
    if (watched.feed->synced()) continue;
    const kube::WatchStatus& status = watched.watcher->status();
    std::string& name = names.emplace_back(watched.feed->store().name());
    if (!watched.feed->ns().empty()) name += " in " + watched.feed->ns();
    name.append(" (").append(kube::Name(status.phase));
    name += (status.error ? ": " + status.error->message() : "") + ")";
  }
}

async::Task<void> Watches::Stop() {
  group_.Cancel();
  everywhere_.group.Cancel();
  for (const auto& [ns, followed] : followed_) followed->group.Cancel();
  co_await group_.Join();
  co_await everywhere_.group.Join();
  for (const auto& [ns, followed] : followed_) co_await followed->group.Join();
}

}  // namespace capstan::plan
