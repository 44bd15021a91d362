#include "base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(SplitWords, SplitsAsAShellDoesButExpandsNothing) {
  struct Case {
    const char* text;
    std::vector<std::string> words;
  };
  const Case cases[] = {
      {"", {}},
      {" \t\n ", {}},
      {"-vv", {"-vv"}},
      {"  -v   -L /x  ", {"-v", "-L", "/x"}},
      {"--conf 'a=1 b=2'", {"--conf", "a=1 b=2"}},
      {"--conf=\"a=1 b=2\"", {"--conf=a=1 b=2"}},
      {"a'b c'd", {"ab cd"}},
      {"''", {""}},
      {"a '' b", {"a", "", "b"}},
      {"\"say \\\"hi\\\"\"", {"say \"hi\""}},
      {"\"keep \\n\"", {"keep \\n"}},
      {"'no \\ escape'", {"no \\ escape"}},
      {"a\\ b", {"a b"}},
      {"\\'", {"'"}},
      {"$HOME `ls` %(ENV_X)s *", {"$HOME", "`ls`", "%(ENV_X)s", "*"}},
      {"end\\", {"end\\"}},
  };
  for (const Case& c : cases) {
    const auto words = SplitWords(c.text);
    ASSERT_TRUE(words) << c.text;
    EXPECT_EQ(*words, c.words) << c.text;
  }
}

TEST(JoinWords, IsWhatSplitWordsSplits) {
  const std::vector<std::vector<std::string>> cases = {
      {}, {"-vv"}, {"a", "", "b"}, {"--conf", "a=1 b=2"}, {"it's", "say \"hi\"", "\\", "$(HOME) `x`"}, {" \t\n"}};
  for (const auto& words : cases) {
    const auto split = SplitWords(JoinWords(words));
    ASSERT_TRUE(split) << JoinWords(words);
    EXPECT_EQ(*split, words);
  }
  EXPECT_EQ(JoinWords({"-v", "--conf", "a=1"}), "-v --conf a=1");
}

TEST(SplitWords, RefusesAQuoteThatIsNeverClosed) {
  for (const char* text : {"'", "a \"b", "'a' \"", "\"\\\""}) {
    const auto words = SplitWords(text);
    ASSERT_FALSE(words) << text;
    EXPECT_EQ(words.error().code(), Code::kInvalid);
    EXPECT_THAT(words.error().message(), ::testing::HasSubstr(text));
  }
}

}  // namespace
}  // namespace capstan
