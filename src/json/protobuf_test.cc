#include "json/protobuf.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "json/codec.h"
#include "json/object_meta.h"
#include "json/testing/message.h"

namespace capstan::json {
namespace {

using testing::Message;

struct WireLeaf {
  std::string name;
  int32_t count = 0;
  bool operator==(const WireLeaf&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<WireLeaf>({
        Field<&WireLeaf::name>("name").Number(1),
        Field<&WireLeaf::count>("count").Number(2),
    });
    return schema;
  }
};

struct WireTree {
  bool flag = false;
  std::optional<bool> choice;
  uint8_t tiny = 0;
  int64_t large = 0;
  uint64_t version = 0;
  double share = 0;
  Text text;
  std::optional<Time> when;
  Digest data;
  Digest written;
  std::optional<IntOrString> either;
  WireLeaf leaf;
  std::optional<WireLeaf> maybe_leaf;
  std::vector<WireLeaf> leaves;
  std::vector<int32_t> numbers;
  std::map<std::string, std::string> labels;
  std::map<std::string, WireLeaf> by_name;
  std::string quantity;
  bool operator==(const WireTree&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<WireTree>({
        Field<&WireTree::flag>("flag").Number(1),
        Field<&WireTree::choice>("choice").Number(2),
        Field<&WireTree::tiny>("tiny").Number(3),
        Field<&WireTree::large>("large").Number(4),
        Field<&WireTree::version>("version").AsText().Number(5),
        Field<&WireTree::share>("share").Number(6),
        Field<&WireTree::text>("text").Number(7),
        Field<&WireTree::when>("when").Number(8),
        Field<&WireTree::data>("data").Number(9),
        Field<&WireTree::written>("written").Number(10).Wrapped(),
        Field<&WireTree::either>("either").Number(11),
        Field<&WireTree::leaf>("leaf").Number(12),
        Field<&WireTree::maybe_leaf>("maybeLeaf").Number(13),
        Field<&WireTree::leaves>("leaves").Number(14),
        Field<&WireTree::numbers>("numbers").Number(15),
        Field<&WireTree::labels>("labels").Number(16),
        Field<&WireTree::by_name>("byName").Number(17),
        Field<&WireTree::quantity>("quantity").Number(18).Wrapped(),
    });
    return schema;
  }
};

struct Loop {
  std::vector<Loop> inside;
  bool operator==(const Loop&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<Loop>({Field<&Loop::inside>("inside").Number(1)});
    return schema;
  }
};

WireTree Decoded(const Message& message) {
  Result<WireTree> tree = DecodeProtobuf<WireTree>(message.bytes());
  EXPECT_TRUE(tree) << tree.error().message();
  return tree ? *std::move(tree) : WireTree();
}
std::string ErrorOf(const Message& message) {
  const Result<WireTree> tree = DecodeProtobuf<WireTree>(message.bytes());
  return tree ? "none" : tree.error().message();
}

TEST(Protobuf, GivesWhatTheSameJsonGives) {
  const Message message = Message()
                              .Number(1, 1)
                              .Number(2, 0)
                              .Number(3, 200)
                              .Number(4, -5)
                              .Text(5, "18446744073709551615")
                              .Fixed(6, std::string("\0\0\0\0\0\0\xE0\x3F", 8))
                              .Text(7, "t")
                              .Inside(8, Message().Number(1, 1'700'000'000).Number(2, 500'000'000))
                              .Inside(10, Message().Text(1, R"({"f:a":{}})"))
                              .Inside(11, Message().Number(1, 1).Number(2, 0).Text(3, "25%"))
                              .Inside(12, Message().Text(1, "a").Number(2, 1))
                              .Inside(13, Message().Text(1, "b").Number(2, 2))
                              .Inside(14, Message().Text(1, "c"))
                              .Inside(14, Message().Number(2, -3))
                              .Number(15, 1)
                              .Number(15, -2)
                              .Entry(16, "k", "v")
                              .Entry(16, "", "")
                              .Inside(17, Message().Text(1, "k").Inside(2, Message().Text(1, "d")))
                              .Inside(18, Message().Text(1, "16Gi"));
  const auto json =
      Decode<WireTree>(R"({"flag":true,"choice":false,"tiny":200,"large":-5,"version":"18446744073709551615",
      "share":0.5,"text":"t","when":"2023-11-14T22:13:20.5Z","written":{"f:a":{}},"either":"25%",
      "leaf":{"name":"a","count":1},"maybeLeaf":{"name":"b","count":2},"leaves":[{"name":"c"},{"count":-3}],
      "numbers":[1,-2],"labels":{"k":"v","":""},"byName":{"k":{"name":"d"}},"quantity":"16Gi"})");
  ASSERT_TRUE(json) << json.error().message();
  EXPECT_EQ(Decoded(message), *json);
}

TEST(Protobuf, WhatIsNotThereIsUnset) { EXPECT_EQ(Decoded(Message()), WireTree()); }

TEST(Protobuf, SkipsWhatTheTableDoesNotName) {
  const Message message = Message()
                              .Number(200, 1)
                              .Text(201, "\xFF\xFF")
                              .Fixed(100, "1234")
                              .Fixed(101, "12345678")
                              .Text(300, std::string(1000, 'x'))
                              .Number(4, 7);
  EXPECT_EQ(Decoded(message).large, 7);
}

TEST(Protobuf, AZeroTimeIsAbsent) {
  EXPECT_FALSE(Decoded(Message().Text(8, "")).when);
  EXPECT_EQ(Decoded(Message().Inside(8, Message().Number(1, 0))).when, Time());
}

TEST(Protobuf, TimesBeyondOursGiveTheirNearest) {
  for (const int64_t seconds : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    const WireTree tree = Decoded(Message().Inside(8, Message().Number(1, seconds).Number(2, seconds)));
    ASSERT_TRUE(tree.when);
    EXPECT_EQ(*tree.when > Time(), seconds > 0);
  }
}

TEST(Protobuf, NumbersMayBePacked) {
  const Message packed = Message().Text(15, Message().Varint(1).Varint(300).Varint(uint64_t(-1)).bytes());
  EXPECT_EQ(Decoded(packed).numbers, (std::vector<int32_t>{1, 300, -1}));
}

TEST(Protobuf, TheLastOfASingleFieldCountsAndMessagesAreMerged) {
  const Message twice =
      Message().Number(4, 1).Number(4, 2).Inside(12, Message().Text(1, "a")).Inside(12, Message().Number(2, 9));
  EXPECT_EQ(Decoded(twice).large, 2);
  EXPECT_EQ(Decoded(twice).leaf, (WireLeaf{"a", 9}));
}

TEST(Protobuf, ADigestIsOfAllElements) {
  const uint64_t both = Decoded(Message().Text(9, "a").Text(9, "b")).data.value;
  EXPECT_NE(both, Decoded(Message().Text(9, "a").Text(9, "c")).data.value);
  EXPECT_NE(both, Decoded(Message().Text(9, "c").Text(9, "b")).data.value);
  EXPECT_EQ(both, Decoded(Message().Text(9, "a").Text(9, "b")).data.value);
}

// In JSON answers Go escapes what stands in fieldsV1; the digest of our own apply must be found again in the watch.
TEST(Protobuf, FieldsV1HasTheDigestOfItsJson) {
  const auto digest = [](std::string_view fields) {
    return Decoded(Message().Inside(10, Message().Text(1, fields))).written.value;
  };
  EXPECT_EQ(digest(R"({"k:{\"name\":\"a<b>&\"}":{}})"), Fnv64(R"({"k:{\"name\":\"a\u003cb\u003e\u0026\"}":{}})"));
  EXPECT_EQ(digest("{\"\xE2\x80\xA8\xE2\x80\xA9\xE2\x82\xAC\":{}}"), Fnv64("{\"\\u2028\\u2029\xE2\x82\xAC\":{}}"));
  EXPECT_EQ(digest("{\"\xE2\":{}}"), Fnv64("{\"\xE2\":{}}"));
}

TEST(Protobuf, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf(Message().Text(1, "x")), "flag is text or a message, must be an integer");
  EXPECT_EQ(ErrorOf(Message().Number(7, 1)), "text is a number, must be text or a message");
  EXPECT_EQ(ErrorOf(Message().Number(3, 256)), "tiny is 256, must be an integer from 0 to 255");
  EXPECT_EQ(ErrorOf(Message().Text(5, "x")), "version is \"x\", must be text that holds an integer");
  EXPECT_EQ(ErrorOf(Message().Inside(17, Message().Text(1, "k").Inside(2, Message().Text(2, "x")))),
            "byName.k.count is text or a message, must be an integer");
  EXPECT_EQ(ErrorOf(Message().Inside(13, Message().Text(2, "x"))),
            "maybeLeaf.count is text or a message, must be an integer");
  EXPECT_EQ(ErrorOf(Message().Text(12, "\x0A")), "leaf is not a whole protobuf message");
  EXPECT_EQ(ErrorOf(Message().Text(16, "\x0A")), "labels is not a whole protobuf message");
  EXPECT_EQ(ErrorOf(Message().Text(8, "\x08")), "when is not a whole protobuf message");
}

TEST(Protobuf, RefusesWhatIsNoMessage) {
  constexpr std::string_view kWhole = "the message is not a whole protobuf message";
  for (const std::string_view bytes : {
           std::string_view("\x3A\x05xx"),                                    // shorter than it says
           std::string_view("\x3A"),                                          // a head alone
           std::string_view("\x80"),                                          // half a head
           std::string_view("\x00\x00", 2),                                   // field 0
           std::string_view("\x0B\x0C"),                                      // a group
           std::string_view("\x0F"),                                          // an unknown type
           std::string_view("\x20\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"),  // more than 64 bits
           std::string_view("\xA0\x06\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
           std::string_view("\x31\x00\x00", 3),                               // half a double
           std::string_view("\x3A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),  // as long as can be
       }) {
    const Result<WireTree> tree = DecodeProtobuf<WireTree>(bytes);
    ASSERT_FALSE(tree) << Hex(bytes);
    EXPECT_EQ(tree.error().message(), kWhole) << Hex(bytes);
    EXPECT_EQ(tree.error().code(), Code::kInvalid);
  }
}

TEST(Protobuf, EveryCutIsAnErrorOrAWholeField) {
  const std::string bytes =
      Message().Number(4, 1'000'000).Text(7, "text").Inside(12, Message().Text(1, "a")).Entry(16, "k", "v").bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // An exact copy, so that AddressSanitizer sees any byte read behind it.
    const std::vector<char> cut(bytes.begin(), bytes.begin() + ptrdiff_t(size));
    const Result<WireTree> tree = DecodeProtobuf<WireTree>(std::string_view(cut.data(), cut.size()));
    if (tree) EXPECT_EQ(tree->labels.size(), 0u) << size;
  }
}

TEST(Protobuf, DoesNotFollowAnyDepth) {
  Message message;
  for (int i = 0; i < 60; ++i) message = Message().Inside(1, message);
  EXPECT_TRUE(DecodeProtobuf<Loop>(message.bytes()));
  for (int i = 0; i < 10; ++i) message = Message().Inside(1, message);
  const Result<Loop> deep = DecodeProtobuf<Loop>(message.bytes());
  ASSERT_FALSE(deep);
  EXPECT_NE(deep.error().message().find("nested too deep"), std::string::npos);
}

TEST(Protobuf, OnlyWholeTablesAreRead) {
  struct Unnumbered {
    std::string name;
    static const json::Schema& Schema() {
      static const json::Schema schema = Object<Unnumbered>({Field<&Unnumbered::name>("name")});
      return schema;
    }
  };
  struct Above {
    Unnumbered below;
    static const json::Schema& Schema() {
      static const json::Schema schema = Object<Above>({Field<&Above::below>("below").Number(1)});
      return schema;
    }
  };
  struct Template {
    Raw raw;
    static const json::Schema& Schema() {
      static const json::Schema schema = Object<Template>({Field<&Template::raw>("raw").Number(1)});
      return schema;
    }
  };
  EXPECT_TRUE(ReadsProtobuf(kType<WireTree>));
  EXPECT_TRUE(ReadsProtobuf(kType<Loop>));
  EXPECT_TRUE(ReadsProtobuf(kType<ObjectMeta>));
  EXPECT_FALSE(ReadsProtobuf(kType<Unnumbered>));
  EXPECT_FALSE(ReadsProtobuf(kType<Above>));
  EXPECT_FALSE(ReadsProtobuf(kType<Template>));
  EXPECT_FALSE(ReadsProtobuf(kType<std::string>));
}

}  // namespace
}  // namespace capstan::json
