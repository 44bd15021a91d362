// Shared by store.cc and feed.cc; of no use to anybody else.
#pragma once

#include <tuple>

#include "kube/store.h"

namespace capstan::kube {

// A Key without its own texts.
struct KeyView {
  std::string_view ns;
  std::string_view name;

  KeyView(std::string_view ns, std::string_view name) : ns(ns), name(name) {}
  explicit KeyView(const Identity& id) : ns(id.ns), name(id.name) {}
  friend auto operator<=>(const KeyView&, const KeyView&) = default;
};

template <class Change>
void AnyStore::Edit(std::string_view ns, std::string_view name, Change change) {
  const size_t at = Place(ns, name);
  const bool there = at < entries_.size() && KeyView(entries_[at].id()) == KeyView(ns, name);
  if (!there) entries_.emplace(entries_.begin() + ptrdiff_t(at));
  Entry& entry = entries_[at];
  const AnyObject* before = entry.visible();
  change(entry);
  const AnyObject* after = entry.visible();
  if (!entry.heard && !entry.own) entries_.erase(entries_.begin() + ptrdiff_t(at));
  Settle(before, after);
}

}  // namespace capstan::kube
