#include "plan/stores.h"

#include <algorithm>

namespace capstan::plan {

std::string StoreName(const kube::Resource& resource) {
  std::string name(resource.plural);
  if (!resource.group.empty()) name.append(".").append(resource.group);
  return name;
}

const Stores::Entry* Stores::FindEntry(const kube::Resource& resource) const {
  const auto found = std::ranges::find(all_, resource, &Entry::resource);
  return found == all_.end() ? nullptr : &*found;
}

kube::AnyStore* Stores::Find(const kube::Resource& resource) const {
  const Entry* entry = FindEntry(resource);
  return entry == nullptr ? nullptr : entry->store.get();
}

bool Stores::Trusted() const {
  return std::ranges::all_of(all_, [](const Entry& entry) {
    return (!entry.store->watched() || entry.store->Synced()) && !entry.store->Suspect();
  });
}

}  // namespace capstan::plan
