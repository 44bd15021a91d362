#include "entry/node_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

using ::testing::HasSubstr;

TEST(NodeConf, ReadsItemsAndWritesThemCleanly) {
  struct Case {
    const char* text;
    const char* written;
  };
  const Case cases[] = {
      {"", ""},
      {"Features=a,b Weight=3", "Features=a,b Weight=3"},
      {"  Features=a \t Weight=3\n", "Features=a Weight=3"},
      {"Gres=\"gpu:a100:4\"", "Gres=gpu:a100:4"},  // quoted without need
      {"Extra=\"two words\" Weight=1", "Extra=\"two words\" Weight=1"},
      {"Extra={\"a\":1}", "Extra={\"a\":1}"},  // quotes inside a value are its own
      {"Comment=a=b", "Comment=a=b"},
      {"Topology= Weight=2", "Weight=2"},  // left by a variable that is not set
      {"Topology=\"\" Weight=2", "Weight=2"},
      {"Weight=1 weight=2", "Weight=2"},                               // Slurm's keys know no case
      {"'Features=a Topology='\"$SLINKY_TOPOLOGY\"''", "Features=a"},  // written for a shell
      {"'Features=a Weight=2'", "Features=a Weight=2"},
      {"Topology=$POD_TOPOLOGY", ""},
  };
  for (const Case& c : cases) {
    const auto conf = NodeConf::Parse(c.text);
    ASSERT_TRUE(conf) << c.text << ": " << conf.error().message();
    EXPECT_EQ(conf->Text(), c.written) << c.text;
    EXPECT_EQ(NodeConf::Parse(conf->Text())->Text(), c.written) << "not stable: " << c.text;
  }
}

TEST(NodeConf, RefusesWhatSlurmCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"Weight", "'Weight' in --conf is not of the form Key=Value"},
      {"Features=a Weight", "'Weight'"},
      {"=3", "'=3'"},
      {"Weight = 3", "'Weight'"},
      {"Extra=\"never closed", "the double quote after Extra= in --conf is never closed"},
      {"'Features=a", "never closed"},
  };
  for (const auto& [text, complaint] : cases) {
    const auto conf = NodeConf::Parse(text);
    ASSERT_FALSE(conf) << text;
    EXPECT_EQ(conf.error().code(), Code::kInvalid);
    EXPECT_THAT(conf.error().message(), HasSubstr(complaint));
  }
}

TEST(TakeNodeConf, FindsBothFormsAndMergesThem) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> others;
    const char* conf;
  };
  const Case cases[] = {
      {{"-Z", "--conf-server", "c:6817"}, {"-Z", "--conf-server", "c:6817"}, ""},
      {{"-Z", "--conf", "A=1 B=2", "-v"}, {"-Z", "-v"}, "A=1 B=2"},
      {{"--conf=A=1"}, {}, "A=1"},
      {{"--conf="}, {}, ""},
      {{"--conf", ""}, {}, ""},
      {{"--conf=A=1 B=2", "-v", "--conf", "B=3 C=4"}, {"-v"}, "A=1 B=3 C=4"},
      {{"--conf", "Extra=\"x y\""}, {}, "Extra=\"x y\""},
      {{"--conf", "nodename=node1 A=1"}, {}, "A=1"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.arguments;
    const auto conf = TakeNodeConf(&arguments);
    ASSERT_TRUE(conf) << conf.error().message();
    EXPECT_EQ(conf->Text(), c.conf);
    EXPECT_EQ(arguments, c.others);
  }
}

TEST(TakeNodeConf, LeavesArgumentsAloneWhenAValueIsMissingOrWrong) {
  const std::vector<std::string> cases[] = {{"-Z", "--conf"}, {"--conf=A=1", "--conf", "rubbish"}};
  for (const auto& before : cases) {
    std::vector<std::string> arguments = before;
    EXPECT_FALSE(TakeNodeConf(&arguments));
    EXPECT_EQ(arguments, before);
  }
}

}  // namespace
}  // namespace capstan::entry
