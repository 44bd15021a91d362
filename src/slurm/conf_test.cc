#include "slurm/conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace capstan::slurm {
namespace {

using ::testing::HasSubstr;

TEST(ConfValue, EscapesOrRefuses) {
  EXPECT_EQ(ConfValue("plain,a=b[1-3]"), Result<std::string>("plain,a=b[1-3]"));
  EXPECT_EQ(ConfValue("two words"), Result<std::string>("\"two words\""));
  EXPECT_EQ(ConfValue("a#b\\c"), Result<std::string>("a\\#b\\\\c"));
  EXPECT_EQ(ConfValue("a #b"), Result<std::string>("\"a \\#b\""));
  for (const char* bad : {"", "a\nPartitionName=evil", "a\rb", "say \"hi\"", "bell\a"})
    EXPECT_EQ(ConfValue(bad).error().code(), Code::kInvalid) << bad;
}

TEST(ConfText, WritesSectionsAndLinesAsGiven) {
  const ConfItem partition[] = {{"PartitionName", "p"}, {"Nodes", "w-[0-2]"}, {"State", "UP"}};
  const auto text = ConfText()
                        .Section("GENERAL")
                        .Set("ClusterName", "c")
                        .Set("SlurmctldPort", 6817)
                        .Add("SlurmctldHost", "a(1.2.3.4)")
                        .Add("SlurmctldHost", "b(1.2.3.5)")
                        .Section("NODESET & PARTITION")
                        .Line(partition)
                        .Verbatim("A=1\r\n  # mine\n\n", "spec.extraConf")
                        .Build();
  EXPECT_EQ(text, Result<std::string>("#\n### GENERAL ###\nClusterName=c\nSlurmctldPort=6817\n"
                                      "SlurmctldHost=a(1.2.3.4)\nSlurmctldHost=b(1.2.3.5)\n"
                                      "#\n### NODESET & PARTITION ###\nPartitionName=p Nodes=w-[0-2] State=UP\n"
                                      "A=1\n  # mine\n"));
}

TEST(ConfText, BuildSaysWhatWasWrongFirst) {
  const auto error = [](const ConfText& text) { return text.Build().error().message(); };
  EXPECT_THAT(error(ConfText().Set("A", "x\ny").Set("B", "")),
              HasSubstr("configuration value A: \"x\\ny\" holds a line break"));
  EXPECT_THAT(error(ConfText().Set("ClusterName", "a").Set("clustername", "b")), HasSubstr("clustername is set twice"));
  EXPECT_THAT(error(ConfText().Set("Bad Key", "a")), HasSubstr("\"Bad Key\" is not a name"));
  EXPECT_THAT(error(ConfText().Section("a\nB=c")), HasSubstr("section title"));
  EXPECT_THAT(error(ConfText().Verbatim("A=1 \\", "spec.extraConf")), HasSubstr("spec.extraConf ends in a '\\'"));
  EXPECT_THAT(error(ConfText().Verbatim(std::string("A=\0", 3), "spec.extraConf")), HasSubstr("control character"));
  EXPECT_THAT(error(ConfText().Set("A", std::string(1'000'000, 'x'))), HasSubstr("1000003 bytes"));
}

TEST(ConfText, VerbatimMayEndInAnEscapedBackslashOrAComment) {
  EXPECT_TRUE(ConfText().Verbatim("A=x\\\\", "extraConf").Build());
  EXPECT_TRUE(ConfText().Verbatim("A=x # y\\", "extraConf").Build());
  EXPECT_EQ(ConfText().Verbatim("\n\n", "extraConf").Build(), Result<std::string>(""));
}

TEST(ParseConf, ALineOfEscapedBlanksSaysNothing) {
  for (const char* text : {" \\ \\ \\", "\\ ", "\\ \\\n"}) {
    const auto lines = ParseConf(text);
    ASSERT_TRUE(lines) << text;
    EXPECT_TRUE(lines->empty()) << text;
  }
}

TEST(ParseConf, SeesWhatSlurmSees) {
  const auto lines = ParseConf(
      "# comment\n"
      "A=1  # more\r\n"
      "\n"
      "NodeName=n[1-2] CPUs=4 \\\n"
      "   Comment=\"two words\"\n"
      "P=/a\\#b\\\\c\n"
      "Include other.conf\n"
      "K = v\n");
  ASSERT_TRUE(lines) << lines.error().message();
  EXPECT_EQ(*lines, (std::vector<ConfLine>{
                        {2, {{"A", "1"}}},
                        {4, {{"NodeName", "n[1-2]"}, {"CPUs", "4"}, {"Comment", "two words"}}},
                        {6, {{"P", "/a#b\\c"}}},
                        {7, {{"Include", "other.conf"}}},
                        {8, {{"K", "v"}}},
                    }));
}

TEST(ParseConf, NamesTheLineThatSlurmWouldRefuse) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"A=1\nnonsense\n", "line 2: \"nonsense\" is not of the form Key=Value"},
      {"A=", "line 1: \"A\" has no value"},
      {"\n\nA=\"open", "line 3: \"A\" has a value whose '\"' is not closed"},
      {"A=\"x\"y", "line 1: \"A\" has text directly after"},
      {"=x", "line 1: \"=x\" is not of the form"},
  };
  for (const auto& c : cases) {
    const auto lines = ParseConf(c.text);
    ASSERT_FALSE(lines) << c.text;
    EXPECT_THAT(lines.error().message(), HasSubstr(c.says));
  }
}

TEST(ParseConfItems, KeepsAPartitionConfigOnItsOwnLine) {
  EXPECT_EQ(*ParseConfItems(" State=UP Default=YES\n", "partition.config"),
            (std::vector<ConfItem>{{"State", "UP"}, {"Default", "YES"}}));
  EXPECT_TRUE(ParseConfItems("", "partition.config")->empty());
  EXPECT_THAT(ParseConfItems("State=UP\nSlurmUser=root", "partition.config").error().message(),
              HasSubstr("partition.config holds a line break"));
  EXPECT_FALSE(ParseConfItems("State", "partition.config"));
}

TEST(ParseConf, ReadsBackWhatConfTextWrote) {
  static constexpr char kBytes[] = "ab #\\=,[]()'/:* -.";
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::vector<ConfItem> items(1 + random.Below(4));
    for (ConfItem& item : items) {
      item.key = "Key" + std::to_string(random.Below(100));
      for (uint64_t left = 1 + random.Below(12); left > 0; --left)
        item.value += kBytes[random.Below(sizeof(kBytes) - 1)];
    }
    const auto text = ConfText().Section("X").Line(items).Set("After", "x").Build();
    ASSERT_TRUE(text) << "seed " << seed;
    const auto lines = ParseConf(*text);
    ASSERT_TRUE(lines) << "seed " << seed << ": " << *text << lines.error().message();
    ASSERT_EQ(lines->size(), 2u) << "seed " << seed << ": " << *text;
    EXPECT_EQ(lines->front().items, items) << "seed " << seed << ": " << *text;
  }
}

TEST(MergedOptions, KeepsRequiredOptionsAndTheUsersCase) {
  const ConfItem required[] = {
      {"SlurmctldParameters", "enable_configless,reconfig_on_restart"},
      {"AuthInfo", "use_client_ids"},
      {"AuthAltParameters", "jwt_key=/etc/slurm/jwt.key"},
  };
  // A peer of ours lower-cases the user's options and so breaks paths.
  EXPECT_EQ(
      MergedOptions(required,
                    "authaltparameters=JWKS=/Path/Keys.json,JWT_KEY=/mine\n# AuthInfo=x\n"
                    "SlurmctldParameters=idle_on_node_suspend\nSlurmctldParameters=Enable_Configless,cloud_dns\n"),
      (std::vector<ConfItem>{{"AuthAltParameters", "JWKS=/Path/Keys.json,jwt_key=/etc/slurm/jwt.key"},
                             {"SlurmctldParameters", "cloud_dns,enable_configless,reconfig_on_restart"}}));
  EXPECT_TRUE(MergedOptions(required, "DebugFlags=NO_CONF_HASH\n").empty());
  EXPECT_TRUE(MergedOptions(required, "AuthInfo\nAuthInfo=\n").empty());
}

TEST(ConfHash, ChangesOnlyWithWhatSlurmSees) {
  const std::string hash = ConfHash("A=1\nB=2\n");
  EXPECT_EQ(ConfHash("# c\nA=1   \r\n\nB=\\\n2"), hash);
  EXPECT_NE(ConfHash("A=1\nB=3\n"), hash);
  EXPECT_NE(ConfHash("B=2\nA=1\n"), hash);
}

}  // namespace
}  // namespace capstan::slurm
