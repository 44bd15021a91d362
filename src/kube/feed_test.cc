// What a Feed holds while lists come in. What it does with their content is in store_lists_test.cc.
#include "kube/feed.h"

#include <gtest/gtest.h>

#include "kube/testing/counted.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using testing::Bookmark;
using testing::Counted;
using testing::Line;

struct Item {
  json::ObjectMeta metadata;
  Counted counted;
  friend bool operator==(const Item&, const Item&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Item>({json::Field<&Item::metadata>("metadata")});
    return schema;
  }
};

class FeedMemoryTest : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 2000, kPage = 100;

  static std::string Object(size_t i, uint64_t version) {
    return json::Encode(testing::Make("n" + std::to_string(10'000 + i), version));
  }
  void Say(const std::string& line) { ASSERT_TRUE(feed_.Take(line, 0, Tick())); }
  // Object i in version `first` + i.
  void Stream(uint64_t first) {
    feed_.BeginList();
    for (size_t i = 0; i < kCount; ++i) Say(Line("ADDED", Object(i, first + i)));
    Say(Bookmark(first + kCount, true));
  }
  void Pages(uint64_t first) {
    feed_.BeginList();
    for (size_t begin = 0; begin < kCount; begin += kPage) {
      std::string items;
      for (size_t i = begin; i < begin + kPage; ++i) items += (i == begin ? "" : ",") + Object(i, first + i);
      ASSERT_TRUE(feed_.TakePage("{\"metadata\":{},\"items\":[" + items + "]}"));
    }
    feed_.EndList(first + kCount, Tick());
  }

  Store<Item> store_{"items"};
  Feed& feed_ = store_.AddFeed("ns");
};

TEST_F(FeedMemoryTest, AStreamedListThatReplacesOneIsNeverHeldBesideIt) {
  for (const uint64_t version : {1u, 1u, 10'000u}) {  // the first, the same again, and all of it newer
    Counted::most = Counted::now;
    Stream(version);
    EXPECT_EQ(store_.size(), kCount);
    EXPECT_EQ(Counted::now, kCount);
    EXPECT_LE(Counted::most, kCount + 4) << "as of " << version;
  }
}

TEST_F(FeedMemoryTest, APagedListHoldsAPageBesideIt) {
  for (const uint64_t version : {1u, 1u, 10'000u}) {
    Counted::most = Counted::now;
    Pages(version);
    EXPECT_EQ(store_.size(), kCount);
    EXPECT_EQ(Counted::now, kCount);
    EXPECT_LE(Counted::most, kCount + 2 * kPage + 4) << "as of " << version;
  }
}

}  // namespace
}  // namespace capstan::kube
