#include "json/codec.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"
#include "json/object_meta.h"

namespace capstan::json {
namespace {

struct Leaf {
  std::string name;
  int32_t count = 0;
  bool operator==(const Leaf&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<Leaf>({
        Field<&Leaf::name>("name"),
        Field<&Leaf::count>("count"),
    });
    return schema;
  }
};

struct Tree {
  bool flag = false;
  std::optional<bool> choice;
  uint8_t tiny = 0;
  int64_t large = 0;
  uint64_t huge = 0;
  uint64_t version = 0;
  double share = 0;
  std::string text;
  std::optional<std::string> maybe_text;
  std::optional<Time> when;
  Secret secret;
  Raw raw;
  Digest digest;
  std::optional<IntOrString> either;
  Leaf leaf;
  std::optional<Leaf> maybe_leaf;
  std::vector<Leaf> leaves;
  std::optional<std::vector<std::string>> words;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::vector<Leaf>> groups;
  int32_t always = 0;
  bool operator==(const Tree&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<Tree>({
        Field<&Tree::flag>("flag"),
        Field<&Tree::choice>("choice"),
        Field<&Tree::tiny>("tiny"),
        Field<&Tree::large>("large"),
        Field<&Tree::huge>("huge"),
        Field<&Tree::version>("version").AsText(),
        Field<&Tree::share>("share"),
        Field<&Tree::text>("text"),
        Field<&Tree::maybe_text>("maybeText"),
        Field<&Tree::when>("when"),
        Field<&Tree::secret>("secret"),
        Field<&Tree::raw>("raw"),
        Field<&Tree::digest>("digest"),
        Field<&Tree::either>("either"),
        Field<&Tree::leaf>("leaf"),
        Field<&Tree::maybe_leaf>("maybeLeaf"),
        Field<&Tree::leaves>("leaves"),
        Field<&Tree::words>("words"),
        Field<&Tree::labels>("labels"),
        Field<&Tree::groups>("groups"),
        Field<&Tree::always>("always").Always(),
    });
    return schema;
  }
};

TEST(Codec, ReadsEveryKindOfMember) {
  const auto tree = Decode<Tree>(R"({
    "flag": true, "choice": false, "tiny": 255, "large": -9223372036854775808, "huge": 18446744073709551615,
    "version": "18446744073709551615", "share": 0.5, "text": "a\n\u00e9\"", "maybeText": "",
    "when": "2026-01-31T12:00:00Z", "secret": "c2VjcmV0", "raw": { "b" : [1, {"x": null}] , "a":2 } ,
    "digest": {"f:spec": {}}, "either": "25%", "leaf": {"name": "l", "count": -3}, "maybeLeaf": {},
    "leaves": [{"name": "0"}, {"count": 1}], "words": [], "labels": {"a.b/c": "d", "": "e"},
    "groups": {"g": [{"name": "x"}], "h": []}, "always": 7
  })");
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_TRUE(tree->flag);
  EXPECT_EQ(tree->choice, false);
  EXPECT_EQ(tree->tiny, 255);
  EXPECT_EQ(tree->large, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(tree->huge, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(tree->version, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(tree->share, 0.5);
  EXPECT_EQ(tree->text, "a\né\"");
  EXPECT_EQ(tree->maybe_text, "");
  EXPECT_EQ(FormatRfc3339(tree->when.value()), "2026-01-31T12:00:00Z");
  EXPECT_EQ(tree->secret.Reveal(), "c2VjcmV0");
  EXPECT_EQ(tree->raw.text, R"({ "b" : [1, {"x": null}] , "a":2 })");
  EXPECT_NE(tree->digest.value, 0u);
  EXPECT_EQ(tree->either, IntOrString("25%"));
  EXPECT_EQ(tree->leaf, (Leaf{"l", -3}));
  EXPECT_EQ(tree->maybe_leaf, Leaf{});
  EXPECT_EQ(tree->leaves, (std::vector<Leaf>{{"0", 0}, {"", 1}}));
  EXPECT_EQ(tree->words, std::vector<std::string>{});
  EXPECT_EQ(tree->labels, (std::map<std::string, std::string>{{"", "e"}, {"a.b/c", "d"}}));
  EXPECT_EQ(tree->groups.at("g").at(0).name, "x");
  EXPECT_TRUE(tree->groups.at("h").empty());
  EXPECT_EQ(tree->always, 7);
}

TEST(Codec, TellsAbsentFromEmptyAndTakesNullAsAbsent) {
  for (const char* text : {"{}", R"({"choice":null,"maybeText":null,"maybeLeaf":null,"words":null,"leaf":null,
                                    "labels":null,"raw":null,"version":null,"flag":null})"}) {
    const auto tree = Decode<Tree>(text);
    ASSERT_TRUE(tree) << tree.error().message();
    EXPECT_EQ(*tree, Tree{}) << text;
  }
  EXPECT_NE(*Decode<Tree>(R"({"words":[]})"), Tree{});
}

TEST(Codec, SkipsUnknownFieldsOfAnyShape) {
  const auto leaf = Decode<Leaf>(R"({"x":{"name":"no","y":[{},[1,2,{"count":9}]]},"name":"yes","z":"}{","count":1.0})");
  ASSERT_TRUE(leaf) << leaf.error().message();
  EXPECT_EQ(*leaf, (Leaf{"yes", 1}));
}

TEST(Codec, LastOfTwoEqualKeysWins) {
  const auto tree = Decode<Tree>(R"({"leaf":{"name":"a","count":1},"leaf":{"name":"b"},"words":["x"],"words":["y"],
      "labels":{"k":"1","k":"2"},"maybeLeaf":{},"maybeLeaf":null,"\u0074ext":"z"})");
  ASSERT_TRUE(tree) << tree.error().message();
  EXPECT_EQ(tree->leaf, (Leaf{"b", 0}));
  EXPECT_EQ(tree->words, std::vector<std::string>{"y"});
  EXPECT_EQ(tree->labels.at("k"), "2");
  EXPECT_FALSE(tree->maybe_leaf);
  EXPECT_EQ(tree->text, "z") << "an escaped key is the same key";
}

TEST(Codec, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {R"({"leaf":{"count":"x"}})", R"(leaf.count is "x", must be an integer)"},
      {R"({"leaves":[{},{"count":3000000000}]})",
       "leaves[1].count is 3000000000, must be an integer from -2147483648 to 2147483647"},
      {R"({"tiny":-1})", "tiny is -1, must be an integer from 0 to 255"},
      {R"({"leaf":{"count":1.5}})", "leaf.count is 1.5, must be an integer from -2147483648 to 2147483647"},
      {R"({"flag":"true"})", R"(flag is "true", must be true or false)"},
      {R"({"labels":{"a.b/c":{}}})", R"(labels["a.b/c"] is an object, must be text)"},
      {R"({"groups":{"g":{}}})", "groups.g is an object, must be a list"},
      {R"({"leaf":[]})", "leaf is a list, must be an object"},
      {R"({"when":"yesterday"})", R"(when is "yesterday", must be a time such as 2026-01-31T12:00:00Z)"},
      {R"({"version":"1x"})", R"(version is "1x", must be text that holds an integer)"},
      {R"({"version":1})", "version is 1, must be text that holds an integer"},
      {R"({"either":true})", "either is true, must be an integer or text"},
      {R"({"text":12345678901234567890123456789012345678901234567890})",
       "text is 1234567890123456789012345678901234567890..., must be text"},
      {R"({"secret":12345})", "secret is something else, must be text"},
      {"[]", "the text is a list, must be an object"},
      {"3", "the text is 3, must be an object"},
  };
  for (const auto& c : cases) {
    const auto tree = Decode<Tree>(c.text);
    ASSERT_FALSE(tree) << c.text;
    EXPECT_EQ(tree.error().message(), c.message);
    EXPECT_EQ(tree.error().code(), Code::kInvalid);
  }
}

TEST(Codec, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "}", "{\"name\":\"a\"", "{\"name\":\"a}", "{\"name\" \"a\"}", "{}{}", "{} x",
                           "{\"name\":nul}", "{\"count\":1]", "\"", "[1,2", "nope", "{\"a\":1,}x",
                           "{\"name\":\"\xff\"}", "{\"count\":01}", "{\"name\":\"\\q\"}"}) {
    const auto leaf = Decode<Leaf>(text);
    EXPECT_FALSE(leaf) << text;
    if (!leaf) EXPECT_EQ(leaf.error().code(), Code::kInvalid);
  }
}

TEST(Codec, ReadsValuesThatAreNotObjects) {
  EXPECT_EQ(*Decode<bool>("true"), true);
  EXPECT_EQ(*Decode<int32_t>(" 3306 "), 3306);
  EXPECT_EQ(*Decode<std::string>("\"25%\""), "25%");
  EXPECT_EQ(*Decode<std::vector<std::string>>(R"(["a"])"), std::vector<std::string>{"a"});
  EXPECT_EQ(Decode<Raw>(" {\"a\": 1} ")->text, "{\"a\": 1}");
  EXPECT_EQ(*Decode<Leaf>("null"), Leaf{});
  EXPECT_FALSE(Decode<int32_t>("1,2"));
  EXPECT_FALSE(Decode<int32_t>("1],[2"));
  EXPECT_FALSE(Decode<int32_t>("true false"));
}

TEST(Codec, SurvivesDeepNestingOnlyWhereItIsSkipped) {
  std::string deep = "{\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + ",\"name\":\"n\"}";
  const auto leaf = Decode<Leaf>(deep);
  ASSERT_TRUE(leaf) << leaf.error().message();
  EXPECT_EQ(leaf->name, "n");
}

TEST(Codec, RefusesTextOverTheLimit) {
  Decoder decoder(Decoder::Limits{.bytes = 20});
  Leaf leaf;
  EXPECT_TRUE(decoder.DecodeInto(leaf, R"({"name":"a"})"));
  const auto refused = decoder.DecodeInto(leaf, R"({"name":"aaaaaaaaaaaaaaaaaaaaaaa"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "the text has 34 bytes, at most 20 are read");
}

// Three bytes of an element stood for a struct of half a kilobyte.
TEST(Codec, ReadsNoMoreElementsThanItsLimit) {
  Decoder decoder({.elements = 4});
  Tree tree;
  EXPECT_TRUE(decoder.DecodeInto(tree, R"({"leaves":[{},{}],"labels":{"a":"1","b":"2"}})"));
  EXPECT_TRUE(decoder.DecodeInto(tree, R"({"leaves":[{},{},{},{}]})")) << "each text has its own";
  EXPECT_EQ(decoder.DecodeInto(tree, R"({"leaves":[{},{},{},{},{}]})").error().message(),
            "leaves[4] is one element more than the 4 that are read");
  EXPECT_EQ(decoder.DecodeInto(tree, R"({"leaves":[{},{}],"groups":{"a":[{},{}]}})").error().message(),
            "groups.a[1] is one element more than the 4 that are read");
  EXPECT_FALSE(decoder.DecodeInto(tree, R"({"leaves":[{},{},{}],"leaves":[{},{}]})")) << "also of what is replaced";
}

TEST(Codec, DecoderForgetsTheTextBefore) {
  Decoder decoder;
  Tree tree;
  ASSERT_TRUE(decoder.DecodeInto(tree, R"({"leaves":[{"name":"a"}],"labels":{"a":"b"},"maybeText":"x"})"));
  std::string buffer = R"({"text":"in place"})";
  const size_t size = buffer.size();
  buffer.resize(size + Decoder::kPadding, '\xff');
  ASSERT_TRUE(decoder.DecodeInto(tree, std::string_view(buffer).substr(0, size), buffer.size()));
  EXPECT_EQ(tree, Tree{.text = "in place"});
}

TEST(Codec, WritesOnlyWhatIsSetInTableOrder) {
  EXPECT_EQ(Encode(Tree{}), R"({"always":0})");
  Tree tree;
  tree.choice = false;
  tree.maybe_text = "";
  tree.maybe_leaf = Leaf{};
  tree.words.emplace();
  tree.leaves = {Leaf{}};
  tree.either = 0;
  tree.labels = {{"b", ""}, {"a", "\x01\"é\xff"}};
  tree.version = 17;
  tree.raw.text = R"({"kept":  1})";
  tree.share = 0.1;
  tree.digest.value = 1;
  EXPECT_EQ(Encode(tree), R"({"choice":false,"version":"17","share":0.1,"maybeText":"","raw":{"kept":  1},"either":0,)"
                          R"("maybeLeaf":{},"leaves":[{}],"words":[],"labels":{"a":"\u0001\"é)"
                          "\xEF\xBF\xBD"
                          R"(","b":""},"always":0})");
}

TEST(Codec, WhatIsWrittenReadsBackTheSame) {
  Tree tree{.flag = true, .choice = true, .tiny = 1, .large = -1, .huge = 1, .version = 3, .share = 1e300};
  tree.text = "\x7f\t";
  tree.when = ParseRfc3339("2026-01-31T12:00:00Z");
  tree.secret = Secret("s");
  tree.either = IntOrString("x");
  tree.groups = {{"", {Leaf{"a", 1}}}};
  const auto back = Decode<Tree>(Encode(tree));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, tree);
}

TEST(ObjectMeta, ReadsWhatTheApiServerSends) {
  const auto meta =
      Decode<ObjectMeta>(R"({"name":"n","namespace":"ns","uid":"u","resourceVersion":"1234","generation":2,
    "creationTimestamp":"2026-11-21T00:00:00Z","deletionTimestamp":null,"labels":{"a":"b"},
    "ownerReferences":[{"name":"x","uid":"1"},{"apiVersion":"v1","kind":"K","name":"o","uid":"2","controller":true}],
    "managedFields":[{"manager":"capstan","operation":"Apply","apiVersion":"v1","time":"2026-11-21T00:00:00Z",
      "fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}},
      {"manager":"kubectl","operation":"Update","subresource":"status","fieldsV1":{"f:data":{}}}]})");
  ASSERT_TRUE(meta) << meta.error().message();
  EXPECT_EQ(meta->resource_version, 1234u);
  EXPECT_FALSE(meta->deleting());
  EXPECT_EQ(meta->Label("a"), "b");
  EXPECT_EQ(meta->Label("c"), "");
  EXPECT_EQ(meta->ControllerOwner()->name, "o");
  ASSERT_EQ(meta->managed_fields.size(), 2u);
  EXPECT_NE(meta->managed_fields[0].fields, meta->managed_fields[1].fields);
  EXPECT_EQ(Encode(*meta).find("managedFields"), std::string::npos);

  ObjectMeta later = *meta;
  later.resource_version = 1235;
  EXPECT_EQ(later, *meta) << "a new version alone is not a change";
  later.managed_fields[0].fields.value++;
  EXPECT_NE(later, *meta);
}

TEST(IntOrString, RoundsPercentagesAsKubernetesDoes) {
  EXPECT_EQ(*IntOrString(3).Of(100, true), 3);
  EXPECT_EQ(*IntOrString("25%").Of(10, true), 3);
  EXPECT_EQ(*IntOrString("25%").Of(10, false), 2);
  EXPECT_FALSE(IntOrString("25").Of(10, false));
  EXPECT_FALSE(IntOrString("-1%").Of(10, false));
}

struct Other {
  int x = 0;
};

TEST(SchemaDeathTest, RefusesABrokenTable) {
  EXPECT_DEATH(Object<Leaf>({Field<&Other::x>("x")}), "belongs to another struct");
  EXPECT_DEATH(Object<Leaf>({Field<&Leaf::name>("x"), Field<&Leaf::count>("x")}), "stands there twice");
  EXPECT_DEATH(Object<Leaf>({Field<&Leaf::name>("x").Default("\"y\"")}), "not std::optional");
}

// Eight bytes are looked at together.
TEST(Quoted, EveryByteAtEveryPlace) {
  for (size_t size = 1; size <= 17; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'x');
        text[at] = char(byte);
        std::string quoted;
        AppendQuoted(quoted, text);
        ASSERT_EQ(quoted, JsonQuoted(text)) << "byte " << byte << " at " << at << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace capstan::json
