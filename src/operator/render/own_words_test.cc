#include "operator/render/own_words.h"

#include <gtest/gtest.h>

namespace capstan::op::render {
namespace {

TEST(OwnWords, OfSlurmdAreLeftOutAndNamed) {
  const json::Raw user{R"x({"args":["-N","$(MACHINE)","-v","--conf-server=other:1","-Nx"],"image":"mine"})x"};
  EXPECT_EQ(OwnWordsIn(user, {}, kSlurmdOwnWords), "spec.slurmd: -N, --conf-server");
  EXPECT_EQ(WithoutOwnWords(user, kSlurmdOwnWords)->text, R"({"args":["-v"],"image":"mine"})");
}

TEST(OwnWords, OfSlurmctldAreLeftOutAndNamed) {
  const json::Raw user{R"({"args":["-cv","-f","/tmp/slurm.conf"]})"};
  EXPECT_EQ(OwnWordsIn(user, {}, kSlurmctldOwnWords), "spec.slurmctld: -c, -f");
  EXPECT_EQ(WithoutOwnWords(user, kSlurmctldOwnWords)->text, R"({"args":["-v"]})");
}

TEST(OwnWords, OfSlurmrestdAreLeftOutAndNamed) {
  const json::Raw slurmrestd{
      R"({"args":["-f","/tmp/slurm.conf","-s","slurmctld","--max-connections","9","0.0.0.0:1"]})"};
  EXPECT_EQ(OwnWordsIn(slurmrestd, {}, kSlurmrestdOwnWords), "spec.slurmrestd: -f");
  EXPECT_EQ(WithoutOwnWords(slurmrestd, kSlurmrestdOwnWords)->text,
            R"({"args":["-s","slurmctld","--max-connections","9","0.0.0.0:1"]})");
}

TEST(OwnWords, InVariablesAreLeftOutAndNamed) {
  const json::Raw user{R"({"env":[{"name":"SLURM_CONF","value":"/x"},{"name":"A","value":"-N b"},)"
                       R"({"name":"SLURMD_OPTIONS","value":"-v -N 'other node' --conf \"Features=a b\""}]})"};
  EXPECT_EQ(OwnWordsIn(user, {}, kSlurmdOwnWords), "spec.slurmd: SLURM_CONF, -N");
  EXPECT_EQ(WithoutOwnWords(user, kSlurmdOwnWords)->text,
            R"({"env":[{"name":"A","value":"-N b"},)"
            R"({"name":"SLURMD_OPTIONS","value":"-v --conf \"Features=a b\""}]})");
  const json::Raw others{
      R"({"env":[{"name":"SLURMCTLD_OPTIONS","value":"-N x"},{"name":"SLURMD_OPTIONS","valueFrom":{}},1,)"
      R"({"name":"SLURMD_OPTIONS","value":"-N 'x"}]})"};
  EXPECT_EQ(OwnWordsIn(others, {}, kSlurmdOwnWords), "");
}

TEST(OwnWords, InTheContainerOfATemplateAreLeftOutAndNamed) {
  const json::Raw pod{
      R"({"containers":[{"name":"slurmctld","args":["-c"],"env":[{"name":"SLURM_CONF"}]},{"name":"x","args":["-c"]}]})"};
  EXPECT_EQ(OwnWordsIn({R"({"args":["-f","/x"]})"}, pod, kSlurmctldOwnWords),
            "spec.slurmctld: -f; spec.template.spec: -c, SLURM_CONF");
  EXPECT_EQ(PodWithoutOwnWords(pod, kSlurmctldOwnWords)->text,
            R"({"containers":[{"name":"slurmctld","args":[],"env":[]},{"name":"x","args":["-c"]}]})");
}

TEST(OwnWords, AllElseStaysAsItWasWritten) {
  for (const char* text : {"", R"({"args": ["-vv", "-L", "-N"]})", R"({"args":"-N"})", R"({"args":["-N",1]})"}) {
    EXPECT_EQ(OwnWordsIn({text}, {text}, kSlurmdOwnWords), "") << text;
    EXPECT_EQ(WithoutOwnWords({text}, kSlurmdOwnWords)->text, text);
    EXPECT_EQ(PodWithoutOwnWords({text}, kSlurmdOwnWords)->text, text);
  }
  const auto refused = WithoutOwnWords({"[]"}, kSlurmdOwnWords);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().contains("spec.slurmd"));
}

}  // namespace
}  // namespace capstan::op::render
