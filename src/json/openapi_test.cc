#include "json/openapi.h"

#include <gtest/gtest.h>

#include "json/codec.h"
#include "json/defaults.h"
#include "json/object_meta.h"
#include "json/yaml_text.h"

namespace capstan::json {
namespace {

struct Inner {
  std::optional<bool> enabled;
  std::optional<std::string> mode;
  bool operator==(const Inner&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        Object<Inner>(
            {
                Field<&Inner::enabled>("enabled").Required().Default("true").Doc("On."),
                Field<&Inner::mode>("mode").Default("\"a\"").Enum({"a", "b"}).Rule("self != 'x'", "mode must not be x"),
            })
            .Atomic()
            .Rule("self.enabled", "enabled must be true");
    return schema;
  }
};

struct Outer {
  ObjectMeta metadata;
  std::optional<Inner> implied;
  std::optional<Inner> absent;
  std::vector<Inner> list;
  std::map<std::string, Inner> map;
  std::optional<IntOrString> either;
  std::optional<std::vector<std::string>> words;
  Raw raw, typed;
  int32_t count = 0;
  int64_t large = 0;
  Time when;
  bool operator==(const Outer&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<Outer>({
        Field<&Outer::metadata>("metadata"),
        Field<&Outer::implied>("implied").AbsentIsEmpty().Doc("Implied."),
        Field<&Outer::absent>("absent").Nullable().Rule("self.mode == 'a'", "absent.mode must be a"),
        Field<&Outer::list>("list").ListMap({"mode"}).MaxItems(3),
        Field<&Outer::map>("map").MaxProperties(2),
        Field<&Outer::either>("either").Default("\"25%\""),
        Field<&Outer::words>("words").Atomic().Default("[\"x\"]").Each({.max_length = 5}),
        Field<&Outer::raw>("raw"),
        Field<&Outer::typed>("typed").RawSchema(R"({"type":"array","items":{"type":"string"}})").Doc("Typed."),
        Field<&Outer::count>("count").Minimum(1).Maximum(2),
        Field<&Outer::large>("large"),
        Field<&Outer::when>("when"),
    });
    return schema;
  }
};

TEST(OpenApi, SaysEverythingATableSays) {
  const std::string inner =
      R"("properties":{"enabled":{"default":true,"description":"On.","type":"boolean"},)"
      R"("mode":{"default":"a","enum":["a","b"],"type":"string",)"
      R"("x-kubernetes-validations":[{"message":"mode must not be x","rule":"self != 'x'"}]}},)"
      R"("required":["enabled"],"type":"object","x-kubernetes-map-type":"atomic","x-kubernetes-validations":)"
      R"([{"message":"enabled must be true","rule":"self.enabled"})";
  EXPECT_EQ(
      SerializeCanonical(OpenApiSchema(Outer::Schema())),
      R"({"properties":{"absent":{"nullable":true,)" + inner +
          R"(,{"message":"absent.mode must be a","rule":"self.mode == 'a'"}]},)"
          R"("count":{"format":"int32","maximum":2,"minimum":1,"type":"integer"},)"
          R"("either":{"anyOf":[{"type":"integer"},{"type":"string"}],"default":"25%","x-kubernetes-int-or-string":true},)"
          R"("implied":{"description":"Implied.",)" +
          inner + R"(]},"large":{"format":"int64","type":"integer"},"list":{"items":{)" + inner +
          R"(]},"maxItems":3,"type":"array","x-kubernetes-list-map-keys":["mode"],"x-kubernetes-list-type":"map"},)"
          R"("map":{"additionalProperties":{)" +
          inner +
          R"(]},"maxProperties":2,"type":"object"},"metadata":{"type":"object"},)"
          R"("raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},)"
          R"("typed":{"description":"Typed.","items":{"type":"string"},"type":"array"},)"
          R"("when":{"format":"date-time","type":"string"},)"
          R"("words":{"default":["x"],"items":{"maxLength":5,"type":"string"},"type":"array","x-kubernetes-list-type":"atomic"}},)"
          R"("type":"object"})");
}

TEST(OpenApi, ListsEveryMemberForTheReference) {
  std::vector<std::string> lines;
  for (const ReferenceRow& row : ReferenceRows(Outer::Schema(), "spec")) {
    std::string line = row.path + " | " + row.type + " | " + row.standard + (row.required ? " | required" : "");
    for (const std::string& check : row.checks) line += " | " + check;
    lines.push_back(line);
  }
  EXPECT_EQ(lines.at(1), "spec.implied | object | ");
  EXPECT_EQ(lines.at(2), "spec.implied.enabled | true or false | true | required");
  EXPECT_EQ(lines.at(3), "spec.implied.mode | text | \"a\" | one of `a` `b` | mode must not be x");
  EXPECT_EQ(lines.at(7), "spec.list | list of objects |  | at most 3 elements");
  EXPECT_EQ(lines.at(8), "spec.list[].enabled | true or false | true | required");
  EXPECT_EQ(lines.at(11), "spec.map.*.enabled | true or false | true | required");
  EXPECT_EQ(lines.at(13), "spec.either | integer or text | \"25%\"");
  EXPECT_EQ(lines.at(16), "spec.typed | list of objects | ");
}

TEST(Defaults, FillOnlyWhatIsAbsentAtAnyDepth) {
  Result<Outer> outer =
      Decode<Outer>(R"({"absent":{"enabled":false},"list":[{},{"mode":"b"}],"map":{"k":{}},"words":[]})");
  ASSERT_TRUE(outer);
  ApplyDefaults(kType<Outer>, &*outer);
  const Inner all{true, "a"};
  EXPECT_EQ(outer->implied, all);
  EXPECT_EQ(outer->absent, (Inner{false, "a"}));
  EXPECT_EQ(outer->list, (std::vector<Inner>{all, {true, "b"}}));
  EXPECT_EQ(outer->map.at("k"), all);
  EXPECT_EQ(outer->either, IntOrString("25%"));
  EXPECT_EQ(outer->words, std::vector<std::string>{}) << "an empty list is not absent";

  const Outer once = *outer;
  ApplyDefaults(kType<Outer>, &*outer);
  EXPECT_EQ(*outer, once);

  Outer nothing;
  ApplyDefaults(kType<Outer>, &nothing);
  EXPECT_FALSE(nothing.absent) << "an object without AbsentIsEmpty stays absent";
}

std::string Yaml(std::string_view text) { return ToYaml(*Parse(text)); }

TEST(Yaml, WritesBlocksWithSortedKeys) {
  EXPECT_EQ(Yaml(R"({"b":{"y":1,"x":[1,{"k":"v","j":[]},[2,3]]},"a":{},"c":[]})"),
            "a: {}\nb:\n  x:\n  - 1\n  - j: []\n    k: v\n  - - 2\n    - 3\n  \"y\": 1\nc: []\n");
}

TEST(Yaml, QuotesWhatWouldNotBeText) {
  for (const char* text : {"",   "true", "No", "null", "1",    "1e3", "-",          "- a", "a: b", "a #b", "a ",
                           " a", "~",    "*a", "&a",   "a\nb", "0x1", "2027-01-01", "é",   "{}",   "y",    "%"}) {
    const std::string line = ToYaml(Value(text));
    EXPECT_EQ(line.front(), '"') << line;
  }
  for (const char* text : {"a", "Adds it, or not.", "x-kubernetes-map-type", "it's", "a/b"}) {
    EXPECT_EQ(ToYaml(Value(text)), std::string(text) + "\n");
  }
}

TEST(Yaml, TextOfSeveralLinesIsALiteralBlock) {
  EXPECT_EQ(ToYaml(boost::json::object{{"conf", "A=1\n\n  B=2\n"}, {"more", boost::json::array{"x\ny", "z\n\n"}}}),
            "conf: |\n  A=1\n\n    B=2\nmore:\n- |-\n  x\n  y\n- |+\n  z\n\n");
  EXPECT_EQ(Yaml(R"({"a":" b\nc"})"), "a: \" b\\nc\"\n") << "the first line's blank would be taken for an indent";
}

}  // namespace
}  // namespace capstan::json
