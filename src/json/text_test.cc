#include "json/text.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "json/codec.h"

namespace capstan::json {
namespace {

TEST(Text, HoldsWhatItWasGiven) {
  const std::string long_text(300, 'x');
  Text text(long_text);
  EXPECT_EQ(text.view(), long_text);
  EXPECT_EQ(text.heap_bytes(), long_text.size() + 4);
  Text copy = text;
  text = Text("other");
  EXPECT_EQ(copy.view(), long_text);
  EXPECT_EQ(text.view(), "other");
  const Text moved = std::move(copy);
  EXPECT_EQ(moved.view(), long_text);
  EXPECT_TRUE(copy.empty());  // NOLINT(bugprone-use-after-move): said to be so
  EXPECT_EQ(Text(std::string_view("a\0b", 3)).view().size(), 3u);
}

TEST(Text, CostsNothingWhileEmpty) {
  EXPECT_EQ(sizeof(Text), 8u);
  EXPECT_EQ(Text().heap_bytes(), 0u);
  EXPECT_EQ(Text(""), Text());
  EXPECT_EQ(Text().view(), "");
}

TEST(SharedText, IsHeldOnceAndGoesWithTheLast) {
  const size_t before = SharedText::held();
  {
    const SharedText one("node-1");
    SharedText same(std::string("node-") + "1");
    EXPECT_EQ(one, same);
    EXPECT_EQ(one.view().data(), same.view().data());
    EXPECT_EQ(SharedText::held(), before + 1);
    const SharedText copy = same;
    same = SharedText("node-2");
    EXPECT_NE(one, same);
    EXPECT_EQ(copy, one);
    EXPECT_EQ(SharedText::held(), before + 2);
  }
  EXPECT_EQ(SharedText::held(), before);
  EXPECT_EQ(SharedText(""), SharedText());
}

TEST(SharedText, MayBeMadeOnAnyThread) {
  const size_t before = SharedText::held();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        const SharedText text("shared-" + std::to_string(i % 3));
        ASSERT_EQ(SharedText(text), text);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(SharedText::held(), before);
}

struct Place {
  Text name;
  SharedText zone;
  std::vector<SharedText> others;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Place>({
        json::Field<&Place::name>("name"),
        json::Field<&Place::zone>("zone"),
        json::Field<&Place::others>("others"),
    });
    return schema;
  }
};

TEST(Text, StandsInFieldTables) {
  const std::string text = R"({"name":"a\"b","zone":"z1","others":["z2","z1"]})";
  const auto place = Decode<Place>(text);
  ASSERT_TRUE(place) << place.error().message();
  EXPECT_EQ(place->name.view(), "a\"b");
  EXPECT_EQ(place->others[1], place->zone);
  EXPECT_EQ(Encode(*place), text);
  EXPECT_EQ(Encode(Place()), "{}");
  EXPECT_EQ(Decode<Place>(R"({"zone":1})").error().message(), "zone is 1, must be text");
}

}  // namespace
}  // namespace capstan::json
