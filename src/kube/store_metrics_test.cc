#include "kube/store_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "kube/feed.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;
using testing::Line;
using testing::Make;
using testing::Thing;

class StoreMetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    figures_.Add(store_);
    group_.Spawn("figures", figures_.Run());
  }
  void TearDown() override {
    group_.Cancel();
    loop_.Advance(Duration(0));
  }
  void Say(const std::string& line) { ASSERT_TRUE(feed_.Take(line, 0, loop_.Now())); }
  void List(size_t count, uint64_t version) {
    feed_.BeginList();
    for (size_t i = 0; i < count; ++i) Say(Line("ADDED", Make("a" + std::to_string(i), i + 1)));
    Say(testing::Bookmark(version, true));
  }
  double Objects() { return metrics_.AddGauge("capstan_store_objects", "", {{"resource", "things"}}).value(); }
  double Bytes() { return metrics_.AddGauge("capstan_store_bytes", "", {{"resource", "things"}}).value(); }

  double BytesPerObject() {
    return metrics_.AddGauge("capstan_store_bytes_per_object", "", {{"resource", "things"}}).value();
  }

  async::VirtualLoop loop_;
  net::Metrics metrics_;
  Store<Thing> store_{"things"};
  Feed& feed_ = store_.AddFeed("ns");
  StoreMetrics figures_{loop_, metrics_};
  async::TaskGroup group_{loop_};
};

TEST_F(StoreMetricsTest, SaysHowManyAndHowLarge) {
  loop_.Advance(1min);
  EXPECT_EQ(Objects(), 0);
  EXPECT_EQ(Bytes(), 0);
  List(10, 20);
  loop_.Advance(15s);
  EXPECT_EQ(Objects(), 10);
  EXPECT_EQ(Bytes(), double(store_.counts().bytes));
  EXPECT_THAT(metrics_.Exposition(), HasSubstr(R"(capstan_store_objects{resource="things"} 10)"));
}

// Whoever asks which kind is the heavy one would divide figures of two moments.
TEST_F(StoreMetricsTest, SaysHowLargeOneObjectIsAsOfWhenItWasWeighed) {
  loop_.Advance(1min);
  EXPECT_EQ(BytesPerObject(), 0) << "there is none";
  List(10, 20);
  loop_.Advance(15s);
  EXPECT_EQ(BytesPerObject(), double(store_.counts().bytes) / 10);
  const double light = BytesPerObject();
  for (int i = 10; i < 20; ++i)
    Say(Line("ADDED", Make("a" + std::to_string(i), 20 + uint64_t(i), std::string(1000, 'x'))));
  loop_.Advance(1min);
  EXPECT_EQ(Objects(), 20);
  EXPECT_EQ(BytesPerObject(), light) << "not weighed again yet";
  loop_.Advance(5min);
  EXPECT_EQ(BytesPerObject(), double(store_.counts().bytes) / 20);
  EXPECT_GE(BytesPerObject(), light + 400);
}

TEST_F(StoreMetricsTest, HalfAListIsCountedAndNotWeighed) {
  feed_.BeginList();
  Say(Line("ADDED", Make("a", 5)));
  loop_.Advance(15s);
  EXPECT_EQ(Objects(), 1);
  EXPECT_EQ(Bytes(), 0);
}

TEST_F(StoreMetricsTest, WeighsSeldomAndOnlyWhatHasChanged) {
  List(10, 20);
  loop_.Advance(15s);
  const double before = Bytes();
  Say(Line("MODIFIED", Make("a0", 30, std::string(1000, 'x'))));
  loop_.Advance(1min);
  EXPECT_EQ(Bytes(), before);
  loop_.Advance(5min);
  EXPECT_GE(Bytes(), before + 1000);
}

}  // namespace
}  // namespace capstan::kube
