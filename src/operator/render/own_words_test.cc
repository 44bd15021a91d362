#include "operator/render/own_words.h"

#include <gtest/gtest.h>

namespace capstan::op::render {
namespace {

TEST(OwnWords, OfSlurmdAreLeftOutAndNamed) {
  const json::Raw user{R"x({"args":["-N","$(MACHINE)","-v","--conf-server=other:1","-Nx"],"image":"mine"})x"};
  EXPECT_EQ(OwnWordsIn(user, kSlurmdOwnWords), "-N, --conf-server");
  EXPECT_EQ(WithoutOwnWords(user, kSlurmdOwnWords, "spec.slurmd")->text, R"({"args":["-v"],"image":"mine"})");
}

TEST(OwnWords, OfSlurmctldAreLeftOutAndNamed) {
  const json::Raw user{R"({"args":["-cv","-f","/tmp/slurm.conf"]})"};
  EXPECT_EQ(OwnWordsIn(user, kSlurmctldOwnWords), "-c, -f");
  EXPECT_EQ(WithoutOwnWords(user, kSlurmctldOwnWords, "spec.slurmctld")->text, R"({"args":["-v"]})");
}

TEST(OwnWords, OfSlurmrestdAreLeftOutAndNamed) {
  const json::Raw slurmrestd{
      R"({"args":["-f","/tmp/slurm.conf","-s","slurmctld","--max-connections","9","0.0.0.0:1"]})"};
  EXPECT_EQ(OwnWordsIn(slurmrestd, kSlurmrestdOwnWords), "-f");
  EXPECT_EQ(WithoutOwnWords(slurmrestd, kSlurmrestdOwnWords, "spec.slurmrestd")->text,
            R"({"args":["-s","slurmctld","--max-connections","9","0.0.0.0:1"]})");
}

TEST(OwnWords, AllElseStaysAsItWasWritten) {
  for (const char* text : {"", R"({"args": ["-vv", "-L", "-N"]})", R"({"args":"-N"})", R"({"args":["-N",1]})"}) {
    EXPECT_EQ(OwnWordsIn({text}, kSlurmdOwnWords), "") << text;
    EXPECT_EQ(WithoutOwnWords({text}, kSlurmdOwnWords, "spec.slurmd")->text, text);
  }
  const auto refused = WithoutOwnWords({"[]"}, kSlurmdOwnWords, "spec.slurmd");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().contains("spec.slurmd"));
}

}  // namespace
}  // namespace capstan::op::render
