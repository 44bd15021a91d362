#include "json/patch_diff.h"

#include <gtest/gtest.h>

namespace capstan::json {
namespace {

std::string Between(std::string_view from, std::string_view to) {
  return JsonPatchBetween(*Parse(from), *Parse(to)).text();
}

TEST(JsonPatchBetween, IsEmptyForEqualTrees) {
  EXPECT_TRUE(JsonPatchBetween(*Parse(R"({"a":1,"b":[{}]})"), *Parse(R"({"b":[{}],"a":1})")).empty());
}

TEST(JsonPatchBetween, TouchesOnlyTheMembersThatDiffer) {
  EXPECT_EQ(Between(R"({"a":1,"b":{"c":1,"d":2}})", R"({"b":{"c":1,"d":3,"e/f~":null}})"),
            R"([{"op":"remove","path":"/a"},{"op":"replace","path":"/b/d","value":3},)"
            R"({"op":"add","path":"/b/e~1f~0","value":null}])");
  EXPECT_EQ(Between(R"({"a":null})", R"({"a":{}})"), R"([{"op":"replace","path":"/a","value":{}}])");
  EXPECT_EQ(Between(R"({"a":null})", "{}"), R"([{"op":"remove","path":"/a"}])");
}

TEST(JsonPatchBetween, TouchesAsFewElementsAsPossible) {
  const struct {
    const char *from, *to, *patch;
  } cases[] = {
      {"[1,2,3]", "[0,1,2,3]", R"({"op":"add","path":"/l/0","value":0})"},
      {"[1,2,3]", "[1,2,3,4]", R"({"op":"add","path":"/l/3","value":4})"},
      {"[1,2,3]", "[1,3]", R"({"op":"remove","path":"/l/1"})"},
      {"[1,2,3,4,5]", "[2,3,4]", R"({"op":"remove","path":"/l/4"},{"op":"remove","path":"/l/0"})"},
      {"[]", "[1,2]", R"({"op":"add","path":"/l/0","value":2},{"op":"add","path":"/l/0","value":1})"},
      {R"([{"n":"a","x":1},{"n":"b"}])", R"([{"n":"z"},{"n":"a","x":2},{"n":"b"}])",
       R"({"op":"replace","path":"/l/0/x","value":2},{"op":"add","path":"/l/0","value":{"n":"z"}})"},
      {"[1,[2]]", "[1,2]", R"({"op":"replace","path":"/l/1","value":2})"},
  };
  for (const auto& [from, to, patch] : cases) {
    const std::string text = Between("{\"l\":" + std::string(from) + "}", "{\"l\":" + std::string(to) + "}");
    EXPECT_EQ(text, "[" + std::string(patch) + "]") << from << " to " << to;
  }
}

TEST(JsonPatchBetween, ReplacesLongListsThatDifferEverywhere) {
  boost::json::array before(200, Value(1)), after(200, Value(2));
  boost::json::object from, to;
  from["l"] = before;
  to["l"] = after;
  EXPECT_TRUE(JsonPatchBetween(from, to).text().starts_with(R"([{"op":"replace","path":"/l","value":[2,2,)"));
}

}  // namespace
}  // namespace capstan::json
