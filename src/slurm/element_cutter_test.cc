#include "slurm/element_cutter.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace capstan::slurm {
namespace {

struct Cut {
  std::vector<std::string> elements;
  std::string rest;
  bool complete = false;
  std::string error;

  bool operator==(const Cut&) const = default;
};

Cut CutUp(std::string_view text, size_t piece, ElementCutter::Limits limits = {}, std::string array = "nodes") {
  Cut cut;
  ElementCutter cutter(
      std::move(array),
      [&](std::string_view e) {
        cut.elements.emplace_back(e);
        return Result<void>();
      },
      limits);
  for (size_t at = 0; at < text.size() && cut.error.empty(); at += piece)
    if (auto fed = cutter.Feed(text.substr(at, piece)); !fed) cut.error = fed.error().message();
  cut.rest = cutter.rest();
  cut.complete = cutter.complete();
  return cut;
}

TEST(ElementCutter, TakesElementsOutAndLeavesTheRest) {
  const std::string text =
      R"({"a":{"nodes":[1]},"nodes": [ {"x":"]},{[\""} , {"y":[1,{"z":2}]},3,"four" ],"last":[{"nodes":[5]}],"e":[]} )";
  const Cut expected{.elements = {R"({"x":"]},{[\""} )", R"({"y":[1,{"z":2}]})", "3", R"("four" )"},
                     .rest = R"({"a":{"nodes":[1]},"nodes": [],"last":[{"nodes":[5]}],"e":[]})",
                     .complete = true,
                     .error = ""};
  for (size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(CutUp(text, piece), expected) << piece;
}

TEST(ElementCutter, AnArrayWithinAnObjectIsNamedByItsPath) {
  const std::string text =
      R"({"s":[{"s":[7]}],"x":{"s":{"s":[8]}},"s":{"t":{"s":[9]},"s": [{"s":[1]}, 2 ],"u":[3]},"s2":{"s":[4]},"e":[5]})";
  const Cut expected{
      .elements = {R"({"s":[1]})", "2 "},
      .rest = R"({"s":[{"s":[7]}],"x":{"s":{"s":[8]}},"s":{"t":{"s":[9]},"s": [],"u":[3]},"s2":{"s":[4]},"e":[5]})",
      .complete = true,
      .error = ""};
  for (size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(CutUp(text, piece, {}, "s/s"), expected) << piece;
  EXPECT_TRUE(CutUp(R"({"s":[1],"t":{"s":[2]}})", 3, {}, "s/s").elements.empty());
}

TEST(ElementCutter, EmptyAndMissingListsAreNoElements) {
  EXPECT_EQ(CutUp(R"({"nodes":[]})", 3).rest, R"({"nodes":[]})");
  EXPECT_EQ(CutUp(R"({"errors":[{"e":1}]})", 3).rest, R"({"errors":[{"e":1}]})");
  EXPECT_TRUE(CutUp("{}", 1).complete);
  EXPECT_EQ(CutUp(R"({"x":"nodes","y":["nodes"],"z":[1]})", 1).elements.size(), 0u);
}

TEST(ElementCutter, ACutOffAnswerIsNeverComplete) {
  const std::string text = R"({"nodes":[{"a":1},{"b":"x"}],"errors":[]})";
  for (size_t end = 0; end < text.size(); ++end) EXPECT_FALSE(CutUp(text.substr(0, end), 7).complete) << end;
}

TEST(ElementCutter, RefusesWhatIsNoObjectOrTooLarge) {
  EXPECT_EQ(CutUp("Authentication failure", 5).error, "the answer is not a JSON object");
  EXPECT_EQ(CutUp("[]", 5).error, "the answer is not a JSON object");
  EXPECT_EQ(CutUp("{} x", 5).error, "the answer goes on after its end");
  EXPECT_EQ(CutUp(R"({"nodes":[}]})", 5).error, "the answer's brackets do not match");
  EXPECT_EQ(CutUp(R"({"nodes":["0123456789"]})", 5, {.element_bytes = 8, .rest_bytes = 100}).error,
            "one element of the answer's list is too large");
  const std::string element = "\"" + std::string(98, 'a') + "\"", text = R"({"nodes":[)" + element + "]}";
  for (const size_t piece : {size_t{5}, size_t{64}, text.size()}) {
    EXPECT_EQ(CutUp(text, piece, {.element_bytes = 99, .rest_bytes = 100}).error,
              "one element of the answer's list is too large");
    EXPECT_EQ(CutUp(text, piece, {.element_bytes = 100, .rest_bytes = 100}).elements, std::vector{element});
  }
  EXPECT_EQ(CutUp(R"({"x":"0123456789"})", 5, {.element_bytes = 8, .rest_bytes = 10}).error,
            "the answer around its list is too large");
}

TEST(ElementCutter, AnErrorOfTheReceiverEndsIt) {
  ElementCutter cutter("nodes", [](std::string_view) { return Fail(Code::kInvalid, "no"); });
  EXPECT_EQ(cutter.Feed(R"({"nodes":[1,2]})").error().message(), "no");
}

TEST(ElementCutter, PiecesNeverMatterForAnyText) {
  static constexpr char kBytes[] = "{}[]\",:\\ 1nnnnnnnnnn";
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    Random random(seed);
    std::string text = R"({"nodes":[)";
    for (uint64_t left = random.Below(300); left > 0; --left) text += kBytes[random.Below(sizeof(kBytes) - 1)];
    const Cut whole = CutUp(text, text.size()), pieces = CutUp(text, 1 + random.Below(5));
    EXPECT_EQ(whole, pieces) << "seed " << seed << ": " << text;
  }
}

// JSON of any depth, with brackets, quotes and backslashes within its strings.
std::string AnyValue(Random& random, int depth) {
  static constexpr std::string_view kInside[] = {"a",       "b",     "{",    "}",    "[",
                                                 "]",       ",",     ":",    " ",    R"(\")",
                                                 R"(\\)",   R"(\n)", "name", "0123", "longer text of a string",
                                                 "\xc3\xa4"};
  const uint64_t kind = random.Below(depth > 0 ? 4 : 2);
  const uint64_t count = random.Below(6);
  std::string text;
  if (kind == 0) return std::to_string(random.Below(1'000'000));
  for (uint64_t i = 0; i < count; ++i) {
    if (kind == 1) {
      text += kInside[random.Below(std::size(kInside))];
      continue;
    }
    if (i > 0) text += ",";
    text += std::string(random.Below(12), ' ');
    if (kind == 2) text += "\"key\": ";
    text += AnyValue(random, depth - 1);
  }
  return kind == 1 ? "\"" + text + "\"" : kind == 2 ? "{" + text + "}" : "[" + text + "]";
}

TEST(ElementCutter, PiecesNeverMatterForProperLists) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::vector<std::string> values;
    std::string text = R"({"nodes":[)";
    for (uint64_t left = 1 + random.Below(8); left > 0; --left) {
      values.push_back(AnyValue(random, 4));
      text += (values.size() > 1 ? "," : "") + values.back();
    }
    text += "]}";
    const Cut expected{.elements = values, .rest = R"({"nodes":[]})", .complete = true, .error = ""};
    EXPECT_EQ(CutUp(text, text.size()), expected) << "seed " << seed << ": " << text;
    EXPECT_EQ(CutUp(text, 1 + random.Below(63)), expected) << "seed " << seed << ": " << text;
    EXPECT_EQ(CutUp(text, 64 + random.Below(200)), expected) << "seed " << seed << ": " << text;
  }
}

}  // namespace
}  // namespace capstan::slurm
