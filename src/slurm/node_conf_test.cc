#include "slurm/node_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

TEST(NodeConf, WritesItemsInOneOrderWithTopologyLast) {
  const struct {
    const char* extra_conf;
    std::vector<std::string> features;
    const char* topology;
    const char* conf;
  } cases[] = {
      {"", {}, "", ""},
      {"", {"slinky"}, "", "Features=slinky"},
      {"", {"slinky"}, "default:sw1", "Features=slinky Topology=default:sw1"},
      {"Weight=10 Feature=gpu Gres=gpu:4", {"a"}, "t:1", "Features=a,gpu Gres=gpu:4 Weight=10 Topology=t:1"},
      {"features=b,a Feature=c,a", {"d"}, "", "Features=a,b,c,d"},
      {"Gres=gpu:a:1 gres=gpu:b:2", {}, "", "Gres=gpu:a:1,gpu:b:2"},
      {"\n RealMemory=100\tCPUs=4 \n", {}, "", "CPUs=4 RealMemory=100"},
      {"Topology=own:x Weight=1", {}, "node:y", "Weight=1 Topology=own:x"},
      {"Gres=gpu:a100:4(S:0-1)", {}, "", "Gres=gpu:a100:4(S:0-1)"},
      {"Extra=a=b", {}, "", "Extra=a=b"},
  };
  for (const auto& c : cases) EXPECT_EQ(NodeConf(c.extra_conf, c.features, c.topology), Result<std::string>(c.conf));
}

TEST(NodeConf, RefusesAndNamesTheItem) {
  const struct {
    const char* extra_conf;
    const char* says;
  } cases[] = {
      {"Weight", "\"Weight\" has no '='"}, {"=5", "\"=5\" does not begin"}, {"Weight=", "\"Weight=\" has no value"},
      {"Gres='gpu:1'", "quote"},           {"Gres=\"gpu\"", "quote"},       {"A=1 NodeName=x", "named after its pod"},
      {"A=1 We#ight=3", "does not begin"},
  };
  for (const auto& c : cases) {
    const auto conf = NodeConf(c.extra_conf, {}, "");
    ASSERT_FALSE(conf) << c.extra_conf;
    EXPECT_EQ(conf.error().code(), Code::kInvalid);
    EXPECT_THAT(conf.error().message(), ::testing::HasSubstr(c.says));
  }
  EXPECT_FALSE(NodeConf("", {}, "a b"));
}

}  // namespace
}  // namespace capstan::slurm
