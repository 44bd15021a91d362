#include "bridge/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::bridge {
namespace {

using ::testing::HasSubstr;

TEST(BridgeConfig, TakesTheKeysOfSlinkysBridgeAndItsOwn) {
  const auto config = ReadConfig(R"(
schedulerName: slurm-bridge-scheduler
slurmRestApi: http://rest:6820
managedNamespaces: [a, b]
mcsLabel: kubernetes
sharing: any
partition: gpu
jobIds: 5-9
bindTimeout: 60
policyRequired: true
takeOver: true
ungate: true
somethingElse: {x: 1}
)",
                                 "config.yaml");
  ASSERT_TRUE(config) << config.error().message();
  const auto settings = SettingsFrom(*config, "slinky.slurm-bridge", "/token");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->slurm_rest_api, "http://rest:6820");
  EXPECT_EQ(settings->partition, "gpu");
  EXPECT_EQ(settings->shared, "");
  EXPECT_EQ(settings->first_id, 5);
  EXPECT_EQ(settings->ids, 5);
  EXPECT_EQ(settings->bind_timeout, Duration(60s));
  EXPECT_TRUE(settings->policy_required);
  EXPECT_FALSE(settings->allow_identity);
  EXPECT_TRUE(settings->take_over);
  EXPECT_TRUE(settings->ungate);
}

TEST(BridgeConfig, AnEmptyFileIsAllDefaults) {
  EXPECT_EQ(*ReadConfig("", "config.yaml"), Config());
  const auto settings = SettingsFrom(Config(), "b", "/token");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->first_id, 40'000'000);
  EXPECT_EQ(settings->ids, 27'043'328);
  EXPECT_EQ(settings->shared, "mcs");
  EXPECT_FALSE(SettingsFrom(Config{.sharing = "all"}, "b", "/token"));
}

TEST(BridgeConfig, WhatIsWrongIsOneSentenceWithTheFileAndTheKey) {
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"- a list", "must be a map"},
           {"partition: [x]", "partition must be a text"},
           {"partition: ''", "partition must be a text"},
           {"bindTimeout: soon", "bindTimeout must be a number of seconds"},
           {"bindTimeout: 0", "bindTimeout must be a number of seconds"},
           {"ungate: yes please", "ungate must be true or false"},
           {"a: [", "is not YAML"},
           {std::string(300 << 10, ' '), "larger than 256 KiB"}}) {
    const auto config = ReadConfig(text, "config.yaml");
    ASSERT_FALSE(config) << text.substr(0, 50);
    EXPECT_THAT(config.error().message(), ::testing::AllOf(HasSubstr("config.yaml"), HasSubstr(words)));
  }
  for (const char* ids : {"", "x", "5", "9-5", "0-5", "5-99999999999", "5-x"}) {
    const auto settings = SettingsFrom(Config{.job_ids = ids}, "b", "/token");
    ASSERT_FALSE(settings) << ids;
    EXPECT_THAT(settings.error().message(), HasSubstr("jobIds"));
  }
}

TEST(BridgeName, IsALabelsValueAndTellsBridgesApart) {
  EXPECT_EQ(BridgeName("slurm", "slurm-bridge"), "slurm.slurm-bridge");
  const std::string ns(60, 'n');
  const std::string one = BridgeName(ns, "a-bridge"), other = BridgeName(ns, "b-bridge");
  EXPECT_LE(one.size(), 63u);
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace capstan::bridge
