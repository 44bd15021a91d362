// The Watcher, the Client and the Feed as they are, against a server written down line by line, in virtual
// time.
#include "kube/watch.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "kube/testing/frames.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using testing::Bookmark;
using testing::kThings;
using testing::Line;
using testing::Make;
using testing::StatusText;
using testing::Thing;
using Names = std::vector<std::string>;
using Phase = WatchStatus::Phase;

class WatchTest : public ::testing::Test {
 protected:
  void Start(Watcher::Selection selection = {}) {
    watcher.emplace(loop, client, kThings, feed, std::move(selection), 7);
    group.Spawn("watch things", watcher->Run());
    loop.Advance(Duration(0));
  }
  void TearDown() override {
    group.Cancel();
    loop.Advance(Duration(0));
    EXPECT_EQ(group.size(), 0u);
  }
  // Lets the server's next stream list `things` as of `version` and stay open.
  std::shared_ptr<testing::ScriptedStream> ThenList(const std::vector<Thing>& things, uint64_t version) {
    auto stream = wire.ThenStream();
    for (const Thing& thing : things) stream->Say(Line("ADDED", thing) + "\n");
    stream->Say(Bookmark(version, true) + "\n");
    return stream;
  }
  void Say(testing::ScriptedStream& stream, const std::string& line) {
    stream.Say(line + "\n");
    loop.Advance(Duration(0));
  }
  Names Seen() const {
    Names seen;
    for (const Thing& thing : store.All()) {
      seen.push_back(thing.metadata.name + (thing.phase.empty() ? "" : ":" + thing.phase));
    }
    return seen;
  }
  bool Asked(size_t request, std::string_view part) const {
    return request < wire.requests.size() && wire.requests[request].target.find(part) != std::string::npos;
  }
  const WatchStatus& status() const { return watcher->status(); }

  async::VirtualLoop loop;
  testing::ScriptedTransport wire{loop};
  Client client{loop, wire, {}};
  Store<Thing> store{"things"};
  Feed& feed = store.AddFeed("ns");
  async::TaskGroup group{loop};
  std::optional<Watcher> watcher;
};

TEST_F(WatchTest, ListsByAStreamAndFollows) {
  auto stream = ThenList({Make("a", 5), Make("b", 6)}, 9);
  Start({.label_selector = "app=x", .field_selector = {}, .metadata_only = false});
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(Seen(), (Names{"a", "b"}));
  EXPECT_EQ(status().phase, Phase::kLive);
  for (const char* part :
       {"/apis/test.capstan/v1/namespaces/ns/things?", "watch=", "sendInitialEvents=true",
        "resourceVersionMatch=NotOlderThan", "allowWatchBookmarks=true", "timeoutSeconds=", "labelSelector=app%3Dx"}) {
    EXPECT_TRUE(Asked(0, part)) << part << " in " << wire.requests[0].target;
  }
  EXPECT_FALSE(Asked(0, "resourceVersion=")) << "the present state, not some cache's";
  Say(*stream, Line("MODIFIED", Make("a", 10, "Ready")));
  EXPECT_EQ(Seen(), (Names{"a:Ready", "b"}));
  EXPECT_EQ(wire.requests.size(), 1u) << "initial events and changes come over one stream";
}

TEST_F(WatchTest, LinesMayBeCutAtAnyByte) {
  auto stream = wire.ThenStream();
  Start();
  const std::string text = Line("ADDED", Make("a", 5, "x\\\"y")) + "\n" + Bookmark(9, true) + "\n";
  for (const char byte : text) {
    stream->Say(std::string_view(&byte, 1));
    loop.Advance(Duration(0));
  }
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(stream->largest_read(), 1u);
}

TEST_F(WatchTest, AQuietHealthyWatchLivesTenMinutesWithoutAList) {
  auto stream = ThenList({Make("a", 5)}, 9);
  Start();
  for (int minute = 1; minute <= 10; ++minute) {
    loop.Advance(1min);
    Say(*stream, Bookmark(9 + minute));
    EXPECT_TRUE(store.Live(loop.Now(), 90s));
  }
  EXPECT_EQ(wire.requests.size(), 1u);
  EXPECT_EQ(feed.frontier(), 19u);
  EXPECT_EQ(status().lists, 1u);
}

TEST_F(WatchTest, ASilentSocketIsFoundWithinNinetySecondsAndResumed) {  // OpenSandbox PR#1534
  auto silent = ThenList({Make("a", 5)}, 9);
  Start();
  auto next = wire.ThenStream();
  loop.Advance(89s);
  EXPECT_FALSE(silent->closed());
  loop.Advance(2s);
  EXPECT_TRUE(silent->closed());
  EXPECT_TRUE(Asked(1, "resourceVersion=9"));
  EXPECT_FALSE(Asked(1, "sendInitialEvents"));
  Say(*next, Line("MODIFIED", Make("a", 12, "missed")));
  EXPECT_EQ(Seen(), Names{"a:missed"});
  EXPECT_EQ(status().lists, 1u);
  EXPECT_EQ(status().silences, 1u);
}

TEST_F(WatchTest, AServerWithoutBookmarksIsNeverListedAgain) {
  ThenList({Make("a", 5)}, 9);
  std::vector<std::shared_ptr<testing::ScriptedStream>> streams;
  for (int i = 0; i < 10; ++i) streams.push_back(wire.ThenStream());
  Start();
  loop.Advance(10min);
  EXPECT_EQ(status().lists, 1u);
  EXPECT_GE(status().silences, 6u);
  EXPECT_TRUE(store.Live(loop.Now(), 95s)) << "an accepted version is a proof of life";
}

TEST_F(WatchTest, AServersTimeoutIsNoFailure) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  loop.Advance(60s);
  Say(*first, Bookmark(20));
  auto second = wire.ThenStream();
  first->End();
  loop.Advance(Duration(0));
  EXPECT_TRUE(Asked(1, "resourceVersion=20"));
  EXPECT_EQ(status().phase, Phase::kLive);
  EXPECT_EQ(status().failures, 0u);
}

TEST_F(WatchTest, ACutStreamResumesFromItsLastVersion) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  Say(*first, Line("MODIFIED", Make("a", 12, "x")));
  first->Say("{\"type\":\"MODI");  // half a line is lost with its stream
  first->Break(Error(Code::kUnavailable, "connection reset"));
  loop.Advance(Duration(0));
  EXPECT_EQ(status().phase, Phase::kRetrying);
  EXPECT_EQ(status().error->code(), Code::kUnavailable);
  auto second = wire.ThenStream();
  loop.Advance(1s);
  EXPECT_TRUE(Asked(1, "resourceVersion=12"));
  EXPECT_EQ(status().phase, Phase::kLive);
  Say(*second, Line("DELETED", Make("a", 13)));
  EXPECT_EQ(Seen(), Names{});
}

TEST_F(WatchTest, RidesOutAServerRestartWithoutAList) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  loop.Advance(30s);
  first->Break(Error(Code::kUnavailable, "connection reset"));
  loop.Advance(20s);  // refused, again and again
  EXPECT_GT(wire.requests.size(), 4u);
  EXPECT_LT(wire.requests.size(), 12u);
  wire.ThenStream();
  loop.Advance(30s);
  EXPECT_EQ(status().phase, Phase::kLive);
  EXPECT_EQ(status().lists, 1u);
}

TEST_F(WatchTest, GoneInMidStreamListsAnewAndFindsTheLostDelete) {
  auto first = ThenList({Make("a", 5), Make("b", 6)}, 9);
  Start();
  Say(*first, Line("ERROR", StatusText(410, "Expired", "too old resource version: 9 (500)")));
  EXPECT_TRUE(first->closed());
  EXPECT_EQ(Seen(), (Names{"a", "b"})) << "old content stays until a list is complete";
  EXPECT_EQ(status().phase, Phase::kListing);
  ThenList({Make("b", 6), Make("c", 600)}, 700);
  loop.Advance(1s);
  EXPECT_EQ(Seen(), (Names{"b", "c"}));
  EXPECT_EQ(status().phase, Phase::kLive);
}

TEST_F(WatchTest, GoneAsAnAnswerListsAnew) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  loop.Advance(30s);
  wire.ThenAnswer(410, StatusText(410, "Gone", "too old"));
  ThenList({}, 700);
  first->End();
  loop.Advance(1s);
  EXPECT_EQ(Seen(), Names{});
  EXPECT_EQ(status().lists, 2u);
}

TEST_F(WatchTest, AVersionOfTheFutureListsAnewAndIsSuspect) {  // etcd restored from a backup
  auto first = ThenList({Make("a", 5, "old"), Make("b", 80)}, 90);
  Start();
  first->Break(Error(Code::kUnavailable, "connection reset"));
  wire.ThenAnswer(504, StatusText(504, "Timeout", "Too large resource version: 90, current: 9"));
  ThenList({Make("a", 5, "old")}, 9);
  loop.Advance(2s);
  EXPECT_EQ(Seen(), Names{"a:old"});
  EXPECT_TRUE(store.Suspect());
  ThenList({Make("a", 5, "old")}, 10);
  loop.Advance(20s);
  EXPECT_FALSE(store.Suspect()) << "it lists once more by itself";
}

TEST_F(WatchTest, PagesServeAnOldServer) {
  wire.ThenAnswer(422, StatusText(422, "Invalid", "sendInitialEvents: Forbidden"));
  wire.ThenAnswer(
      200, R"({"metadata":{"resourceVersion":"20","continue":"t/1"},"items":[)" + json::Encode(Make("a", 5)) + "]}");
  wire.ThenAnswer(200, R"({"metadata":{"resourceVersion":"20"},"items":[)" + json::Encode(Make("b", 6)) + "]}");
  auto stream = wire.ThenStream();
  Start();
  EXPECT_TRUE(Asked(1, "limit=500"));
  EXPECT_FALSE(Asked(1, "resourceVersion"));
  EXPECT_TRUE(Asked(2, "continue=t%2F1"));
  EXPECT_TRUE(Asked(3, "resourceVersion=20"));
  EXPECT_EQ(Seen(), (Names{"a", "b"}));
  EXPECT_EQ(status().failures, 0u);
  Say(*stream, Line("ADDED", Make("c", 21)));
  EXPECT_EQ(Seen(), (Names{"a", "b", "c"}));
}

TEST_F(WatchTest, AnExpiredContinueTokenBeginsTheListAnew) {
  wire.ThenAnswer(400, StatusText(400, "BadRequest", "unknown parameter"));
  wire.ThenAnswer(
      200, R"({"metadata":{"resourceVersion":"20","continue":"t"},"items":[)" + json::Encode(Make("a", 5)) + "]}");
  wire.ThenAnswer(410, StatusText(410, "Expired", "The provided continue parameter is too old"));
  wire.ThenAnswer(200, R"({"metadata":{"resourceVersion":"900"},"items":[)" + json::Encode(Make("b", 800)) + "]}");
  wire.ThenStream();
  Start();
  EXPECT_FALSE(store.Synced()) << "half a list is none";
  loop.Advance(1s);
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(Seen(), Names{"b"});
  EXPECT_FALSE(Asked(3, "continue"));
}

TEST_F(WatchTest, InitialEventsWithoutAnEndGoToPages) {
  auto endless = wire.ThenStream();
  Start();
  Say(*endless, Line("ADDED", Make("a", 5)));
  wire.ThenAnswer(200, R"({"metadata":{"resourceVersion":"20"},"items":[)" + json::Encode(Make("a", 5)) + "]}");
  wire.ThenStream();
  loop.Advance(31s);
  EXPECT_TRUE(endless->closed());
  EXPECT_TRUE(store.Synced());
}

TEST_F(WatchTest, InitialEventsThatNeverPauseGoToPagesToo) {
  auto endless = wire.ThenStream();
  Start();
  wire.ThenAnswer(200, R"({"metadata":{"resourceVersion":"900"},"items":[]})");
  wire.ThenStream();
  for (int i = 0; i < 30 && !endless->closed(); ++i) {
    loop.Advance(5s);
    Say(*endless, Line("MODIFIED", Make("a", 100 + i)));
  }
  EXPECT_TRUE(store.Synced());
}

TEST_F(WatchTest, ForbiddenShowsAndIsTriedUntilAllowed) {
  wire.ThenAnswer(403, StatusText(403, "Forbidden", "things is forbidden: User cannot list"));
  Start();
  EXPECT_EQ(status().phase, Phase::kForbidden);
  EXPECT_EQ(status().error->code(), Code::kForbidden);
  EXPECT_FALSE(store.Synced());
  ThenList({Make("a", 5)}, 9);
  loop.Advance(75s);
  EXPECT_EQ(status().phase, Phase::kLive);
}

TEST_F(WatchTest, ACrdThatComesLaterIsFound) {
  for (int i = 0; i < 4; ++i)
    wire.ThenAnswer(404, StatusText(404, "NotFound", "the server could not find the resource"));
  Start();
  EXPECT_EQ(status().phase, Phase::kNotServed);
  loop.Advance(1min);
  ThenList({}, 9);
  loop.Advance(75s);
  EXPECT_TRUE(store.Synced());
}

TEST_F(WatchTest, AnOptionalKindIsEmptyFromThe404On) {
  store.SetOptional(true);
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  EXPECT_EQ(Seen(), Names{"a"});
  first->End();
  for (int i = 0; i < 3; ++i)
    wire.ThenAnswer(404, StatusText(404, "NotFound", "the server could not find the resource"));
  loop.Advance(10s);
  EXPECT_EQ(status().phase, Phase::kNotServed);
  EXPECT_EQ(Seen(), Names{});
  EXPECT_TRUE(store.Synced());
  EXPECT_FALSE(store.Served());
  ThenList({Make("b", 20)}, 21);
  loop.Advance(75s);
  EXPECT_EQ(Seen(), Names{"b"});
  EXPECT_TRUE(store.Served());
}

TEST_F(WatchTest, AnOwnWriteNeverConfirmedLeadsToAList) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  ASSERT_TRUE(store.Answered(Make("b", 1000, "lost"), loop.Now()));
  ThenList({Make("a", 5)}, 1001);
  loop.Advance(60s);
  Say(*first, Bookmark(10));
  loop.Advance(61s);
  EXPECT_TRUE(first->closed());
  EXPECT_EQ(Seen(), Names{"a"});
  EXPECT_EQ(status().lists, 2u);
}

TEST_F(WatchTest, AnAskedListBeginsAtOnce) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  ThenList({Make("b", 11)}, 12);
  store.AskRelist();
  loop.Advance(Duration(0));
  EXPECT_TRUE(first->closed());
  EXPECT_EQ(Seen(), Names{"b"});
}

TEST_F(WatchTest, AMonstrousLineEndsTheStreamNotTheProcess) {
  auto first = ThenList({Make("a", 5)}, 9);
  Start();
  first->Say(std::string(size_t{17} << 20, 'x'));
  loop.Advance(Duration(0));
  EXPECT_TRUE(first->closed());
  EXPECT_EQ(status().phase, Phase::kRetrying);
  EXPECT_EQ(Seen(), Names{"a"});
}

TEST_F(WatchTest, MetadataOnlyIsAskedForAndTaken) {
  auto stream = ThenList({Make("a", 5)}, 9);
  Start({.label_selector = {}, .field_selector = {}, .metadata_only = true});
  EXPECT_EQ(net::Find(wire.requests[0].headers, "Accept"),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  EXPECT_EQ(Seen(), Names{"a"});
  stream->End();
  wire.ThenAnswer(410, StatusText(410, "Gone", "too old"));
  wire.ThenAnswer(400, StatusText(400, "BadRequest", "sendInitialEvents is unknown"));
  wire.ThenAnswer(200, R"({"metadata":{"resourceVersion":"20"},"items":[]})");
  loop.Advance(5s);
  EXPECT_EQ(net::Find(wire.requests[3].headers, "Accept"),
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
  EXPECT_EQ(Seen(), Names{});
}

class ProtobufWatchTest : public WatchTest {
 protected:
  using Numbered = testing::Numbered;
  void Start() {
    numbered_watcher.emplace(loop, client, kThings, numbers, Watcher::Selection(), 7);
    group.Spawn("watch things", numbered_watcher->Run());
    loop.Advance(Duration(0));
  }
  void SayFrame(testing::ScriptedStream& stream, const std::string& event) {
    stream.Say(testing::Framed(event));
    loop.Advance(Duration(0));
  }
  std::string AcceptOf(size_t request) const {
    return std::string(net::Find(wire.requests[request].headers, "Accept"));
  }
  std::string PhaseOf(const char* name) const {
    const Numbered* thing = numbered.Find({"ns", name});
    return thing ? thing->phase : "none";
  }

  Store<Numbered> numbered{"things"};
  Feed& numbers = numbered.AddFeed("ns");
  std::optional<Watcher> numbered_watcher;
};

TEST_F(ProtobufWatchTest, FramesAreAskedForAndTaken) {
  auto stream = wire.ThenStream(testing::kFrames);
  Start();
  EXPECT_EQ(AcceptOf(0), "application/vnd.kubernetes.protobuf,application/json");
  const std::string list =
      testing::Framed(testing::Event("ADDED", Make("a", 5, "x"))) + testing::Framed(testing::BookmarkEvent(9, true));
  for (const char byte : list) {  // cut at every byte
    stream->Say(std::string_view(&byte, 1));
    loop.Advance(Duration(0));
  }
  EXPECT_TRUE(numbered.Synced());
  EXPECT_EQ(numbered_watcher->status().phase, Phase::kLive);
  SayFrame(*stream, testing::Event("MODIFIED", Make("a", 10, "y")));
  EXPECT_EQ(PhaseOf("a"), "y");
  auto next = wire.ThenStream(testing::kFrames);
  loop.Advance(10s);
  stream->End();
  loop.Advance(Duration(0));
  EXPECT_TRUE(Asked(1, "resourceVersion=10"));
  EXPECT_EQ(AcceptOf(1), "application/vnd.kubernetes.protobuf,application/json");
}

TEST_F(ProtobufWatchTest, AServerThatAnswersInJsonIsUnderstood) {  // custom resources, old aggregated APIs
  auto stream = wire.ThenStream({{"Content-Type", "application/json"}});
  Start();
  stream->Say(Line("ADDED", Make("a", 5, "x")) + "\n" + Bookmark(9, true) + "\n");
  loop.Advance(Duration(0));
  EXPECT_EQ(PhaseOf("a"), "x");
  auto frames = wire.ThenStream(testing::kFrames);  // it was upgraded
  loop.Advance(10s);
  stream->End();
  loop.Advance(Duration(0));
  SayFrame(*frames, testing::Event("MODIFIED", Make("a", 10, "y")));
  EXPECT_EQ(PhaseOf("a"), "y");
}

TEST_F(ProtobufWatchTest, ARefusalAndPagesAreProtobufToo) {
  wire.ThenAnswer(422, testing::StatusMessage(422, "Invalid", "sendInitialEvents: Forbidden"));
  wire.ThenAnswer(200, testing::ListMessage(20, "t/1", {Make("a", 5, "x")}));
  wire.ThenAnswer(200, testing::ListMessage(20, "", {Make("b", 6, "y")}));
  wire.ThenStream(testing::kFrames);
  Start();
  EXPECT_EQ(AcceptOf(1), "application/vnd.kubernetes.protobuf,application/json");
  EXPECT_TRUE(Asked(2, "continue=t%2F1"));
  EXPECT_TRUE(Asked(3, "resourceVersion=20"));
  EXPECT_TRUE(numbered.Synced());
  EXPECT_EQ(PhaseOf("b"), "y");
}

TEST_F(ProtobufWatchTest, GoneInAFrameListsAnew) {
  auto stream = wire.ThenStream(testing::kFrames);
  Start();
  SayFrame(*stream, testing::BookmarkEvent(9, true));
  SayFrame(*stream, testing::Event("ERROR", testing::StatusMessage(410, "Expired", "too old resource version")));
  EXPECT_TRUE(stream->closed());
  EXPECT_EQ(numbered_watcher->status().phase, Phase::kListing);
  auto again = wire.ThenStream(testing::kFrames);
  loop.Advance(1s);
  SayFrame(*again, testing::BookmarkEvent(700, true));
  EXPECT_EQ(numbered_watcher->status().phase, Phase::kLive);
}

TEST_F(ProtobufWatchTest, FramesThatAreNoneEndTheStreamNotTheProcess) {
  auto stream = wire.ThenStream(testing::kFrames);
  Start();
  SayFrame(*stream, testing::Event("ADDED", Make("a", 5, "x")));
  SayFrame(*stream, testing::BookmarkEvent(9, true));
  SayFrame(*stream, "{\"type\":\"ADDED\"}");
  EXPECT_TRUE(stream->closed());
  EXPECT_EQ(numbered_watcher->status().phase, Phase::kRetrying);
  EXPECT_EQ(PhaseOf("a"), "x");
}

TEST_F(WatchTest, SeveralNamespacesFeedOneStore) {
  Store<Thing> both("things");
  Watcher one(loop, client, kThings, both.AddFeed("one"), {}, 1);
  Watcher two(loop, client, kThings, both.AddFeed("two"), {}, 2);
  auto first = wire.ThenStream();
  auto second = wire.ThenStream();
  group.Spawn("one", one.Run());
  group.Spawn("two", two.Run());
  loop.Advance(Duration(0));
  EXPECT_TRUE(Asked(0, "/namespaces/one/things?"));
  EXPECT_TRUE(Asked(1, "/namespaces/two/things?"));
  Thing thing = Make("a", 50);
  thing.metadata.namespace_ = "one";
  Say(*first, Line("ADDED", thing));
  Say(*first, Bookmark(60, true));
  EXPECT_FALSE(both.Synced()) << "the other namespace has not been listed";
  Say(*second, Bookmark(10, true));
  EXPECT_TRUE(both.Synced());
  EXPECT_FALSE(both.Suspect()) << "versions are compared within one feed only";
  EXPECT_EQ(both.InNamespace("one").size(), 1u);
  second->Break(Error(Code::kUnavailable, "reset"));
  loop.Advance(Duration(0));
  EXPECT_EQ(one.status().phase, Phase::kLive);
  EXPECT_EQ(two.status().phase, Phase::kRetrying);
  group.Cancel();
  loop.Advance(Duration(0));
}

TEST(WatchFigures, CountWhatBecameOfAWatch) {
  async::VirtualLoop loop;
  testing::ScriptedTransport wire(loop);
  net::Metrics metrics;
  Client client(loop, wire, {.metrics = &metrics});
  Store<Thing> store("things");
  async::TaskGroup group(loop);
  const auto counted = [&](const std::string& line) {
    return metrics.Exposition().find("\n" + line + "\n") != std::string::npos;
  };
  {
    Watcher watcher(loop, client, kThings, store.AddFeed("ns"), {}, 7);
    EXPECT_TRUE(counted(R"(capstan_watches{resource="things",phase="listing"} 1)")) << metrics.Exposition();
    auto stream = wire.ThenStream();
    stream->Say(Line("ADDED", Make("a", 5)) + "\n" + Bookmark(9, true) + "\n");
    group.Spawn("watch", watcher.Run());
    loop.Advance(Duration(0));
    stream->Say(Line("MODIFIED", Make("a", 10)) + "\n");
    loop.Advance(Duration(0));
    EXPECT_TRUE(counted(R"(capstan_watches{resource="things",phase="live"} 1)"));
    EXPECT_TRUE(counted(R"(capstan_watches{resource="things",phase="listing"} 0)"));
    EXPECT_TRUE(counted(R"(capstan_watch_events_total{resource="things"} 3)")) << metrics.Exposition();
    stream->Break(Error(Code::kUnavailable, "reset"));
    loop.Advance(Duration(0));
    EXPECT_TRUE(counted(R"(capstan_watch_failures_total{resource="things"} 1)"));
    EXPECT_TRUE(counted(R"(capstan_watches{resource="things",phase="retrying"} 1)"));
    group.Cancel();
    loop.Advance(Duration(0));
  }
  EXPECT_TRUE(counted(R"(capstan_watches{resource="things",phase="retrying"} 0)")) << "it is no more";
}

TEST_F(WatchTest, EndsWhereverItIsCancelled) {
  for (const Duration when : std::initializer_list<Duration>{0ms, 100ms, 400ms, 31s, 95s}) {
    async::TaskGroup own(loop);
    Store<Thing> other("things");
    wire.ThenFail(Error(Code::kUnavailable, "refused"));
    ThenList({}, 9);
    {
      Watcher cancelled(loop, client, kThings, other.AddFeed(""), {}, 3);
      own.Spawn("watch", cancelled.Run());
      loop.Advance(when);
      own.Cancel();
      loop.Advance(Duration(0));
      EXPECT_EQ(own.size(), 0u) << FormatDuration(when);
    }
  }
}

}  // namespace
}  // namespace capstan::kube
