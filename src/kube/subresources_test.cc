#include "kube/subresources.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/text.h"
#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using testing::kThings;

class SubresourcesTest : public ::testing::Test {
 protected:
  template <class T>
  T Run(async::Task<T> task) {
    return testing::RunVirtual(loop_, std::move(task));
  }
  async::Deadline Soon() { return loop_.After(10s); }

  async::VirtualLoop loop_;
  testing::ScriptedTransport wire_{loop_};
  Client client_{loop_, wire_, {}};
  const Key key_{"ns", "a"};
};

TEST_F(SubresourcesTest, AScaleIsReadAndChanged) {
  constexpr std::string_view kScale =
      R"({"kind":"Scale","metadata":{"name":"a","uid":"u"},"spec":{"replicas":2},"status":{"replicas":1,"selector":"a=b"}})";
  wire_.ThenAnswer(200, std::string(kScale));
  const Result<Scale> scale = Run(GetScale(client_, kThings, key_, Soon()));
  ASSERT_TRUE(scale) << scale.error().message();
  EXPECT_EQ(scale->spec.replicas, 2);
  EXPECT_EQ(scale->status.replicas, 1);
  EXPECT_EQ(scale->status.selector, "a=b");
  EXPECT_EQ(wire_.requests[0].target, "/apis/test.capstan/v1/namespaces/ns/things/a/scale");

  wire_.ThenAnswer(200, std::string(kScale));
  ASSERT_TRUE(Run(SetScale(client_, kThings, key_, 0, {.field_manager = "scaler"}, Soon())));
  EXPECT_EQ(wire_.requests[1].method, "PATCH");
  EXPECT_EQ(wire_.requests[1].target, "/apis/test.capstan/v1/namespaces/ns/things/a/scale?fieldManager=scaler");
  EXPECT_EQ(wire_.requests[1].body, R"({"spec":{"replicas":0}})");
}

TEST_F(SubresourcesTest, ABindingNamesThePodItMeans) {
  wire_.ThenAnswer(201, "{}");
  ASSERT_TRUE(Run(Bind(client_, key_, "u-1", "n\"1", Soon())));
  EXPECT_EQ(wire_.requests[0].target, "/api/v1/namespaces/ns/pods/a/binding?fieldManager=capstan");
  EXPECT_EQ(
      wire_.requests[0].body,
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a","uid":"u-1"},"target":{"apiVersion":"v1","kind":"Node","name":"n\"1"}})");
  wire_.ThenAnswer(409, testing::StatusText(409, "Conflict", "pod a is already assigned to node n2"));
  EXPECT_EQ(Run(Bind(client_, key_, "u-1", "n1", Soon())).error().code(), Code::kConflict);
}

TEST_F(SubresourcesTest, ALogIsAskedForAsWanted) {
  wire_.ThenStream();
  ASSERT_TRUE(Run(OpenLog(client_, key_, {}, Soon())));
  EXPECT_EQ(wire_.requests[0].target, "/api/v1/namespaces/ns/pods/a/log");
  wire_.ThenStream();
  const LogOptions all{.container = "c",
                       .follow = true,
                       .previous = true,
                       .tail_lines = 0,
                       .since = 90s,
                       .timestamps = true,
                       .limit_bytes = 10};
  ASSERT_TRUE(Run(OpenLog(client_, key_, all, Soon())));
  EXPECT_EQ(wire_.requests[1].target,
            "/api/v1/namespaces/ns/pods/a/log?container=c&follow=true&previous=true&timestamps=true&tailLines=0"
            "&sinceSeconds=90&limitBytes=10");
}

TEST_F(SubresourcesTest, EveryReadOfALogHasItsOwnDeadline) {
  auto written = wire_.ThenStream();
  auto log = Run(OpenLog(client_, key_, {.follow = true}, Soon()));
  ASSERT_TRUE(log);
  loop_.Advance(1h);
  written->Say("one\n");
  std::string buffer(10, '\0');
  EXPECT_EQ(*Run((*log)->Read(buffer, loop_.After(1s))), 4u) << "the opening's deadline has passed long ago";
  const Result<size_t> quiet = Run((*log)->Read(buffer, loop_.After(1s)));
  ASSERT_FALSE(quiet);
  EXPECT_EQ(quiet.error().code(), Code::kDeadline);
}

TEST_F(SubresourcesTest, ARefusedLogTellsWhy) {
  wire_.ThenAnswer(400, testing::StatusText(400, "BadRequest", "a container name must be specified for pod a"));
  const auto log = Run(OpenLog(client_, key_, {}, Soon()));
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), Code::kInvalid);
  EXPECT_EQ(log.error().message(), "get pods/log ns/a: a container name must be specified for pod a");
}

}  // namespace
}  // namespace capstan::kube
