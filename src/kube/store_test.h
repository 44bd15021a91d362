// A store of Things and the verbs in which its story is told, for the tests of stores.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kube/feed.h"
#include "kube/store.h"
#include "kube/testing/thing.h"

namespace capstan::kube {

using testing::Bookmark;
using testing::Line;
using testing::Make;
using testing::Thing;
using Names = std::vector<std::string>;

// Writes down what the store tells: "+a", "~a", "-a", "listed", "suspect", "served", "not served", and the index entries
// touched.
class Notes final : public StoreListener {
 public:
  void OnChange(const AnyStore&, const Change& change) override {
    static constexpr const char* kMarks[] = {"+", "~", "-"};
    told.push_back(kMarks[int(change.what)] + std::string(change.name));
    if (change.what == Change::What::kChanged && change.uid != change.old_uid) told.back() += " renewed";
    touched.clear();
    for (const IndexEntry& entry : change.touched)
      touched.push_back(std::string(entry.index) + "=" + std::string(entry.value));
  }
  void OnListed(const AnyStore&) override { told.push_back("listed"); }
  void OnServed(const AnyStore& store) override { told.push_back(store.Served() ? "served" : "not served"); }
  void OnSuspect(const AnyStore&) override { told.push_back("suspect"); }

  Names Take() { return std::exchange(told, {}); }

  Names told;
  Names touched;
};

// A store of Things in namespace ns, and the verbs in which its story is told.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { store.SetListener(&notes); }

  void Hear(const std::string& line) {
    const auto event = feed.Take(line, 0, now);
    ASSERT_TRUE(event) << event.error().message();
  }
  void Added(const Thing& thing) { Hear(Line("ADDED", thing)); }
  void Modified(const Thing& thing) { Hear(Line("MODIFIED", thing)); }
  void Gone(const Thing& thing) { Hear(Line("DELETED", thing)); }
  void Listed(std::vector<Thing> things, uint64_t version) {
    feed.BeginList();
    for (const Thing& thing : things) Added(thing);
    Hear(Bookmark(version, true));
  }
  Names Seen() const {
    Names seen;
    for (const Thing& thing : store.All()) {
      seen.push_back(thing.metadata.name + (thing.phase.empty() ? "" : ":" + thing.phase));
    }
    return seen;
  }

  Store<Thing> store{"things"};
  Notes notes;
  Feed& feed = store.AddFeed("");
  Tick now{1h};
};

}  // namespace capstan::kube
