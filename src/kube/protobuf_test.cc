// Envelopes, and what a Feed makes of events, lists and refusals that come as protobuf.
#include "kube/protobuf.h"

#include <gtest/gtest.h>

#include "kube/errors.h"
#include "kube/feed.h"
#include "kube/testing/frames.h"

namespace capstan::kube {
namespace {

using json::testing::Message;
using testing::BookmarkEvent;
using testing::Enveloped;
using testing::Event;
using testing::ListMessage;
using testing::Make;
using testing::Numbered;
using testing::StatusMessage;
using Type = WatchEvent::Type;

TEST(ProtobufEnvelope, IsToldFromJson) {
  EXPECT_TRUE(IsProtobufType("application/vnd.kubernetes.protobuf"));
  EXPECT_TRUE(IsProtobufType("application/vnd.kubernetes.protobuf;stream=watch"));
  EXPECT_FALSE(IsProtobufType("application/json"));
  EXPECT_FALSE(IsProtobufType(""));
  EXPECT_TRUE(IsProtobuf(Enveloped("Pod", {})));
  EXPECT_FALSE(IsProtobuf("{}"));
}

TEST(ProtobufEnvelope, GivesKindAndMessage) {
  const std::string body = Enveloped("Pod", Message().Text(1, "x"));
  const auto object = OpenProtobuf(body);
  ASSERT_TRUE(object) << object.error().message();
  EXPECT_EQ(object->kind, "Pod");
  EXPECT_EQ(object->message, Message().Text(1, "x").bytes());
}

TEST(ProtobufEnvelope, RefusesWhatIsNone) {
  const std::string whole = Enveloped("Pod", Message().Text(1, "x"));
  const std::string encoded = std::string("k8s\0", 4) + Message().Text(2, "x").Text(3, "gzip").bytes();
  for (const std::string& body : {std::string("{}"), std::string("k8s"), whole.substr(0, whole.size() - 1), encoded}) {
    const auto object = OpenProtobuf(body);
    ASSERT_FALSE(object) << body;
    EXPECT_EQ(object.error().code(), Code::kInvalid);
  }
  EXPECT_EQ(OpenProtobuf(encoded).error().message(), "the answer is protobuf encoded as \"gzip\"");
}

TEST(ProtobufStatus, SaysTheSameAsTheOneInJson) {
  const net::Response response{409, {}, StatusMessage(409, "AlreadyExists", "things \"a\" already exists")};
  const Error error = ErrorFromResponse(response, Effect::kWrite, "id-1");
  EXPECT_EQ(error.code(), Code::kAlreadyExists);
  EXPECT_EQ(error.message(), "things \"a\" already exists; spec.x: a cause");
  const FailedCall* call = FailedCallOf(error);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->reason, "AlreadyExists");
  EXPECT_EQ(ErrorFromStatus(StatusMessage(410, "Expired", "too old")).code(), Code::kGone);
}

TEST(ProtobufStatus, BytesThatAreNoneAreNotQuoted) {
  const net::Response response{502, {}, std::string("k8s\0\x01\x02", 6)};
  EXPECT_EQ(ErrorFromResponse(response, Effect::kRead).message(), "HTTP status 502");
}

class ProtobufFeedTest : public ::testing::Test {
 protected:
  WatchEvent Take(const std::string& event) {
    Result<WatchEvent> taken = feed_.TakeFrame(event, Tick());
    EXPECT_TRUE(taken) << taken.error().message();
    return taken ? *std::move(taken) : WatchEvent();
  }
  std::vector<std::string> Seen() const {
    std::vector<std::string> seen;
    for (const Numbered& thing : store_.All()) seen.push_back(thing.metadata.name + ":" + thing.phase);
    return seen;
  }
  using Names = std::vector<std::string>;

  Store<Numbered> store_{"things"};
  Feed& feed_ = store_.AddFeed("ns");
};

TEST_F(ProtobufFeedTest, OnlyTablesWithNumbersAskForIt) {
  EXPECT_TRUE(store_.ReadsProtobuf());
  EXPECT_FALSE(Store<testing::Thing>("things").ReadsProtobuf());
}

TEST_F(ProtobufFeedTest, AListByAStreamThenChanges) {
  feed_.BeginList();
  EXPECT_EQ(Take(Event("ADDED", Make("a", 5, "Pending"))).version, 5u);
  Take(Event("ADDED", Make("b", 6, "Running")));
  EXPECT_TRUE(Take(BookmarkEvent(9, true)).list_complete);
  EXPECT_TRUE(store_.Synced());
  EXPECT_EQ(feed_.frontier(), 9u);
  EXPECT_EQ(Take(Event("MODIFIED", Make("a", 10, "Running"))).type, Type::kModified);
  Take(Event("DELETED", Make("b", 11)));
  EXPECT_EQ(Seen(), Names{"a:Running"});
  EXPECT_FALSE(Take(BookmarkEvent(15)).list_complete);
  EXPECT_EQ(feed_.frontier(), 15u);
}

TEST_F(ProtobufFeedTest, APageOfAList) {
  feed_.BeginList();
  const auto first = feed_.TakePage(ListMessage(20, "more", {Make("a", 5, "x"), Make("b", 6, "y")}));
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->version, 20u);
  EXPECT_EQ(first->continue_token, "more");
  ASSERT_TRUE(feed_.TakePage(ListMessage(20, "", {Make("c", 7, "z")})));
  feed_.EndList(20, Tick());
  EXPECT_EQ(Seen(), (Names{"a:x", "b:y", "c:z"}));
  for (const std::string& body : {Enveloped("ThingList", {}), ListMessage(20, "", {Make("a", 5)}).substr(0, 40)}) {
    const auto page = feed_.TakePage(body);
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code(), Code::kInvalid);
  }
}

// The same object from either encoding is no change: answers to our own writes are JSON.
TEST_F(ProtobufFeedTest, AnAnswerInJsonAndItsEventAreTheSame) {
  feed_.BeginList();
  Take(BookmarkEvent(9, true));
  ASSERT_TRUE(*store_.Answered(json::Encode(Make("a", 10, "x")), Tick()));
  Numbered answered = *store_.Find({"ns", "a"});
  Take(Event("ADDED", Make("a", 10, "x")));
  EXPECT_EQ(*store_.Find({"ns", "a"}), answered);
  EXPECT_EQ(store_.counts().provisional, 0u);
}

TEST_F(ProtobufFeedTest, AnObjectThatCannotBeReadKeepsItsLastContent) {
  feed_.BeginList();
  Take(Event("ADDED", Make("a", 5, "good")));
  Take(BookmarkEvent(9, true));
  const auto broken = [](std::string_view name, uint64_t version) {
    return testing::MessageOf(Make(std::string(name), version)).Number(2, 7);  // a number where text is due
  };
  EXPECT_EQ(Take(Event("MODIFIED", Enveloped("Thing", broken("a", 10)))).version, 10u);
  EXPECT_EQ(Seen(), Names{"a:good"});
  EXPECT_EQ(store_.counts().undecodable, 1u);
  EXPECT_EQ(feed_.frontier(), 10u);
  feed_.BeginList();
  const Message list = Message().Inside(1, Message().Text(2, "20")).Inside(2, broken("a", 12));
  ASSERT_TRUE(feed_.TakePage(Enveloped("ThingList", list)));
  feed_.EndList(20, Tick());
  EXPECT_EQ(Seen(), Names{"a:good"}) << "it was listed, so it is not swept";
  Take(Event("DELETED", Enveloped("Thing", broken("a", 21))));
  EXPECT_EQ(Seen(), Names{});
}

TEST_F(ProtobufFeedTest, ErrorsAndNonsense) {
  const WatchEvent gone = Take(Event("ERROR", StatusMessage(410, "Expired", "too old resource version")));
  EXPECT_EQ(gone.type, Type::kError);
  EXPECT_EQ(gone.error->code(), Code::kGone);
  for (const std::string& event :
       {Event("WHAT", Make("a", 5)), Event("ADDED", std::string_view("{}")), std::string("\x0A\x05xx"), std::string(),
        Event("ADDED", std::string_view("k8s\0\x12\x05xx", 8)),
        Event("ADDED", Enveloped("Thing", Message().Text(1, "\x0A"))), Message().Number(2, 1).bytes()}) {
    const Result<WatchEvent> taken = feed_.TakeFrame(event, Tick());
    ASSERT_FALSE(taken) << event;
    EXPECT_EQ(taken.error().code(), Code::kInvalid);
  }
  EXPECT_TRUE(store_.empty());
}

}  // namespace
}  // namespace capstan::kube
