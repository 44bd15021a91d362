#include "json/merge.h"

#include <gtest/gtest.h>

#include <chrono>

#include "json/canonical.h"
#include "json/strategic_merge.h"

namespace capstan::json {
namespace {

Value J(std::string_view text) {
  Result<Value> value = Parse(text);
  if (!value) ADD_FAILURE() << text << ": " << value.error().message();
  return value.value_or(Value());
}

TEST(Canonical, GivesOneTextForOneMeaning) {
  EXPECT_EQ(*Canonical(R"( {"b": [3, 1.0, 1e2, 0.50], "a": {"y": null, "x": "\u00e9\/"}, "a": {"z": -0} } )"),
            R"({"a":{"z":0},"b":[3,1,100,0.5]})");
  EXPECT_EQ(*Canonical("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(*Canonical("[3e660,-3e660,0e400]"), "[1e999,-1e999,0]");
  EXPECT_EQ(*Canonical("[105e66,1.05e68]"), "[1.05e+68,1.05e+68]");
  EXPECT_FALSE(Canonical("{"));
  EXPECT_FALSE(Canonical("{} {}"));
  EXPECT_FALSE(Canonical(std::string(129, '[') + std::string(129, ']')));
  EXPECT_TRUE(Canonical(std::string(128, '[') + std::string(128, ']')));
}

TEST(Value, FindsAndMakesByPath) {
  Value value = J(R"({"a":{"b":"c"}})");
  EXPECT_EQ(FindText(value, {"a", "b"}), "c");
  EXPECT_EQ(FindText(value, {"a", "b", "c"}), "");
  EXPECT_EQ(Find(value, {"x"}), nullptr);
  MakeObject(value, {"a", "b", "d"})["e"] = 1;
  EXPECT_EQ(Serialize(value), R"({"a":{"b":{"d":{"e":1}}}})");
  value = J(R"({"z":null,"a":[null,{"b":null,"c":0}]})");
  DropNulls(value);
  EXPECT_EQ(Serialize(value), R"({"a":[null,{"c":0}]})");
}

// The examples of RFC 7386, appendix A.
TEST(MergePatch, DoesWhatTheStandardSays) {
  const char* cases[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [target, patch, result] : cases) {
    Value value = J(target);
    ApplyMergePatch(value, J(patch));
    EXPECT_EQ(Serialize(value), result) << target << " + " << patch;
  }
}

TEST(JsonPatch, EscapesPointersAndText) {
  EXPECT_EQ(JsonPointer({"metadata", "labels", "a/b~c", "0"}), "/metadata/labels/a~1b~0c/0");
  JsonPatch patch;
  EXPECT_TRUE(patch.empty());
  patch.Test("/metadata/uid", "\"u\"").Remove(JsonPointer({"a\"b"})).Add("/x/-", "{}");
  EXPECT_EQ(patch.text(), R"([{"op":"test","path":"/metadata/uid","value":"u"},{"op":"remove","path":"/a\"b"},)"
                          R"({"op":"add","path":"/x/-","value":{}}])");
}

// --- Strategic merge -------------------------------------------------------------------------------------------------

constexpr MergeKey kByName[] = {{"name", ""}};
constexpr MergeKey kByPort[] = {{"port", ""}, {"protocol", "TCP"}};
constexpr std::string_view kSources[] = {"value", "valueFrom"};
constexpr MergeShape kEnvShape{.fields = {}, .one_of = kSources};
constexpr std::string_view kKnown[] = {"env", "ports", "volumes", "words", "nested", "first"};
constexpr MergeField kFields[] = {
    {.name = "env", .shape = &kEnvShape, .keys = kByName},     {.name = "ports", .keys = kByPort},
    {.name = "volumes", .keys = kByName, .retain_keys = true}, {.name = "words", .append = true},
    {.name = "first", .keys = kByName, .base_first = true},
};
constexpr MergeShape kShape{.fields = kFields, .known = kKnown};

std::string Merged(std::string_view base, std::string_view overlay) {
  Value value = J(base);
  const Result<void> done = StrategicMerge(value, J(overlay), kShape);
  return done ? Serialize(value) : done.error().message();
}

TEST(StrategicMerge, HonoursFalseZeroEmptyAndNull) {
  EXPECT_EQ(Merged(R"({"a":true,"b":1,"c":"x","d":{"e":1},"f":2})", R"({"a":false,"b":0,"c":"","d":{},"f":null})"),
            R"({"a":false,"b":0,"c":"","d":{"e":1}})");
  EXPECT_EQ(Merged("{}", R"({"a":{"b":null,"c":{"d":null,"e":0}},"n":[{"x":null}]})"),
            R"({"a":{"c":{"e":0}},"n":[{}]})");
}

TEST(StrategicMerge, MergesKeyedListsInKubernetesOrder) {
  EXPECT_EQ(Merged(R"({"env":[{"name":"a","value":"1"},{"name":"b","value":"2"},{"name":"c","value":"3"}]})",
                   R"({"env":[{"name":"x","value":"9"},{"name":"c","value":""}]})"),
            R"({"env":[{"name":"x","value":"9"},{"name":"a","value":"1"},{"name":"b","value":"2"},)"
            R"({"name":"c","value":""}]})");
  EXPECT_EQ(Merged(R"({"env":[{"name":"a"},{"name":"b"}]})", R"({"env":[{"name":"b"},{"name":"x"}]})"),
            R"({"env":[{"name":"a"},{"name":"b"},{"name":"x"}]})");
  EXPECT_EQ(Merged(R"({"first":[{"name":"a"},{"name":"b"}]})", R"({"first":[{"name":"x"},{"name":"b","v":1}]})"),
            R"({"first":[{"name":"a"},{"name":"b","v":1},{"name":"x"}]})");
}

TEST(StrategicMerge, TellsElementsApartByAllTheirKeys) {
  EXPECT_EQ(Merged(R"({"ports":[{"port":53,"name":"a"}]})",
                   R"({"ports":[{"port":53,"protocol":"UDP"},{"port":53,"protocol":"TCP","x":1}]})"),
            R"({"ports":[{"port":53,"protocol":"UDP"},{"port":53,"name":"a","protocol":"TCP","x":1}]})");
  EXPECT_EQ(Merged("{}", R"({"ports":[{"name":"a"}]})"), "ports[0] has no port");
  EXPECT_EQ(Merged("{}", R"({"ports":[1]})"), "ports[0] must be an object");
}

TEST(StrategicMerge, KeepsBaseElementsWithoutOrWithEqualKeys) {
  EXPECT_EQ(
      Merged(R"({"ports":[{"name":"a"},{"name":"b"},{"port":1,"v":1},{"port":1,"v":2}]})", R"({"ports":[{"port":1}]})"),
      R"({"ports":[{"name":"a"},{"name":"b"},{"port":1,"v":1},{"port":1,"v":2}]})");
}

TEST(StrategicMerge, NeverSetsTwoOfWhichOnlyOneMayBe) {
  EXPECT_EQ(Merged(R"({"env":[{"name":"a","value":"1"}]})", R"({"env":[{"name":"a","valueFrom":{"x":1}}]})"),
            R"({"env":[{"name":"a","valueFrom":{"x":1}}]})");
  EXPECT_EQ(Merged(R"({"volumes":[{"name":"a","emptyDir":{"medium":"Memory"}}]})",
                   R"({"volumes":[{"name":"a","hostPath":{"path":"/"}}]})"),
            R"({"volumes":[{"name":"a","hostPath":{"path":"/"}}]})");
  EXPECT_EQ(Merged(R"({"volumes":[{"name":"a","emptyDir":{"medium":"Memory"}}]})",
                   R"({"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1Gi"}}]})"),
            R"({"volumes":[{"name":"a","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}]})");
}

TEST(StrategicMerge, AppendsOrReplacesOtherLists) {
  EXPECT_EQ(Merged(R"({"words":["a"],"other":["a"]})", R"({"words":["b","a"],"other":["b"]})"),
            R"({"words":["a","b"],"other":["b"]})");
  EXPECT_EQ(Merged(R"({"words":[{"a":1}]})", R"({"words":[{"$patch":"replace"},{"b":2}]})"), R"({"words":[{"b":2}]})");
}

TEST(StrategicMerge, ObeysDirectives) {
  EXPECT_EQ(Merged(R"({"env":[{"name":"a"},{"name":"b"}]})", R"({"env":[{"name":"a","$patch":"delete"}]})"),
            R"({"env":[{"name":"b"}]})");
  EXPECT_EQ(Merged(R"({"env":[{"name":"a"}]})", R"({"env":[{"$patch":"replace"},{"name":"b"}]})"),
            R"({"env":[{"name":"b"}]})");
  EXPECT_EQ(Merged(R"({"nested":{"a":1}})", R"({"nested":{"$patch":"replace","b":2}})"), R"({"nested":{"b":2}})");
  EXPECT_EQ(Merged(R"({"nested":{"a":1},"z":1})", R"({"nested":{"$patch":"delete"}})"), R"({"z":1})");
  EXPECT_EQ(Merged(R"({"nested":{"a":1,"b":2}})", R"({"nested":{"$retainKeys":["b"],"c":3}})"),
            R"({"nested":{"b":2,"c":3}})");
  EXPECT_EQ(Merged(R"({"x":["a","b"]})", R"({"$deleteFromPrimitiveList/x":["a"]})"), R"({"x":["b"]})");
  EXPECT_EQ(Merged("{}", R"({"nested":{"$patch":"burn"}})"),
            "nested has an unknown $patch, must be replace, delete or merge");
  EXPECT_EQ(Merged("{}", R"({"nested":{"$setElementOrder/x":[]}})"),
            "nested.$setElementOrder/x is a directive that is not known here");
  EXPECT_EQ(Merged("{}", "[]"), "the template must be an object");
}

// Each element was looked for among all others: the operator stood still for minutes.
TEST(StrategicMerge, TakesTimeInProportionToItsLists) {
  std::string env, words;
  for (int i = 0; i < 100'000; ++i) {
    env += (i == 0 ? "" : ",") + std::string(R"({"name":"v)") + std::to_string(i) + R"("})";
    words += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  }
  Value overlay = J(R"({"env":[)" + env + R"(],"words":[)" + words + "]}");
  Value base = overlay;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(Normalize(overlay, kShape).empty());
  ASSERT_TRUE(StrategicMerge(base, overlay, kShape));
  ASSERT_TRUE(StrategicMerge(base, J(R"({"$deleteFromPrimitiveList/words":[)" + words + "]}"), kShape));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20)) << "in seconds, not in many minutes";
  EXPECT_EQ(base.at("env").as_array().size(), 100'000u);
  EXPECT_EQ(base.at("words").as_array().size(), 0u);
}

TEST(StrategicMerge, AnElementThatWasDeletedAndNamedAgainIsANewOne) {
  EXPECT_EQ(Merged(R"({"env":[{"name":"a","value":"1"},{"name":"b"}]})",
                   R"({"env":[{"name":"a","$patch":"delete"},{"name":"a","other":"2"}]})"),
            R"({"env":[{"name":"a","other":"2"},{"name":"b"}]})");
}

TEST(Normalize, KeepsTheLastOfEqualKeysAndSaysSo) {
  Value value = J(
      R"({"env":[{"name":"a","value":"1"},{"name":"b"},{"name":"a","value":"2"}],"ports":[{"port":1},{"port":1,"protocol":"TCP"}],
                     "nodeNmae":"x","$patch":"replace"})");
  const std::vector<std::string> notes = Normalize(value, kShape);
  EXPECT_EQ(notes, (std::vector<std::string>{"env has name \"a\" twice; the last one is taken",
                                             "ports has port 1 twice; the last one is taken",
                                             "nodeNmae is not a field that Kubernetes is known to have here"}));
  EXPECT_EQ(Serialize(value),
            R"({"env":[{"name":"b"},{"name":"a","value":"2"}],"ports":[{"port":1,"protocol":"TCP"}],"nodeNmae":"x",)"
            R"("$patch":"replace"})");
}

}  // namespace
}  // namespace capstan::json
