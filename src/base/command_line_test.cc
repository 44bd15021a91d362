#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

// "-N=rack-0 --conf-server=a:1" of what was taken, and what is left.
std::pair<Words, Words> Take(Words words) {
  constexpr auto kWanted = std::to_array<std::string_view>({"-N", "-F", "-Z", "--conf-server"});
  Words taken;
  for (const TakenOption& one : TakeOptions(kSlurmdSyntax, kWanted, &words))
    taken.push_back(one.name + "=" + one.value);
  return {taken, words};
}

TEST(TakeOptions, WhereverTheyStand) {
  EXPECT_EQ(Take({"-N", "rack-0"}), std::pair(Words{"-N=rack-0"}, Words{}));
  EXPECT_EQ(Take({"-Nrack-0", "-v"}), std::pair(Words{"-N=rack-0"}, Words{"-v"}));
  EXPECT_EQ(Take({"-vN", "rack-0", "-D"}), std::pair(Words{"-N=rack-0"}, Words{"-v", "-D"}));
  EXPECT_EQ(Take({"-DZvNrack-0"}), std::pair(Words{"-Z=", "-N=rack-0"}, Words{"-Dv"}));
  EXPECT_EQ(Take({"-Fgpu", "-F", "x"}), std::pair(Words{"-F=gpu", "-F="}, Words{"x"}));
  EXPECT_EQ(Take({"--conf-server", "a:1", "--conf-server=b:2", "--conf-s", "c:3"}),
            std::pair(Words{"--conf-server=a:1", "--conf-server=b:2", "--conf-server=c:3"}, Words{}));
  EXPECT_EQ(Take({"-N"}), std::pair(Words{"-N="}, Words{}));
}

// What looks like one and is the value of another, or no option any more.
TEST(TakeOptions, AllElseStays) {
  for (const Words& words :
       {Words{"-L", "-N", "x"}, Words{"-LN"}, Words{"--conf", "-N", "x"}, Words{"--conf=-N"}, Words{"--", "-N", "x"},
        Words{"-", "N"}, Words{"--unknown", "-v"}, Words{"--conf", "a b"}, Words{"-f"}, Words{"--extra"}}) {
    const auto [taken, left] = Take(words);
    EXPECT_THAT(taken, IsEmpty()) << words[0];
    EXPECT_EQ(left, words);
  }
}

}  // namespace
}  // namespace capstan
