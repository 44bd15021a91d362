#include "bridge/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/names.h"

namespace capstan::bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

Namespace With(const std::map<std::string, std::string>& annotations) {
  Namespace ns;
  ns.metadata.name = "ml";
  for (const auto& [name, value] : annotations) ns.metadata.annotations[std::string(kPolicyAnnotations) + name] = value;
  return ns;
}
std::string Refused(const std::map<std::string, std::string>& annotations) {
  const auto policy = Policy::Of(With(annotations));
  return policy ? "" : policy.error().message();
}

TEST(Policy, IsReadFromTheNamespace) {
  Namespace ns = With({{"user", "1000"}, {"group", "100"}, {"accounts", " a, b,"}, {"max-priority", "50"}});
  ns.metadata.annotations["else"] = "x";
  ns.metadata.annotations["capstan.dev/other"] = "x";
  const auto policy = Policy::Of(ns);
  ASSERT_TRUE(policy);
  EXPECT_TRUE(policy->there);
  EXPECT_EQ(policy->user, 1000);
  EXPECT_EQ(policy->group, 100);
  EXPECT_EQ(policy->max_priority, 50);
  EXPECT_THAT(policy->lists.at("accounts"), ElementsAre("a", "b"));
  EXPECT_FALSE(policy->lists.contains("qos"));
  EXPECT_FALSE(Policy::Of(With({}))->there);
}

TEST(Policy, WhatMakesNoSenseIsOneSentence) {
  EXPECT_EQ(Refused({{"user", "ada"}, {"group", "1"}}),
            "annotation capstan.dev/policy-user of namespace ml is \"ada\", and must be a number from 1 to 4294967293");
  EXPECT_THAT(Refused({{"user", "0"}, {"group", "1"}}), StartsWith("annotation capstan.dev/policy-user"));
  EXPECT_THAT(Refused({{"user", "401"}, {"group", "1"}}), ::testing::HasSubstr("neither root nor Slurm's own user"));
  EXPECT_EQ(Refused({{"user", "1000"}}),
            "namespace ml has one of the annotations capstan.dev/policy-user and capstan.dev/policy-group; a job needs "
            "both, or none");
  EXPECT_THAT(Refused({{"qos", " , "}}), StartsWith("annotation capstan.dev/policy-qos of namespace ml is"));
  EXPECT_THAT(Refused({{"max-priority", "-1"}}), StartsWith("annotation capstan.dev/policy-max-priority"));
  for (const char* unknown : {"account", "QOS", "partition", ""})
    EXPECT_THAT(Refused({{unknown, "a"}}), ::testing::HasSubstr("is none that a policy has; it has user, group"))
        << "nobody is limited by it: " << unknown;
}

TEST(Policy, ChoosesTheFirstWhereNothingIsNamedAndRefusesOthers) {
  const Policy policy = *Policy::Of(With({{"accounts", "a,b"}}));
  EXPECT_EQ(policy.Choose("accounts", "account", "").value(), "a");
  EXPECT_EQ(policy.Choose("accounts", "account", "b").value(), "b");
  EXPECT_EQ(policy.Choose("qos", "QOS", "high").value(), "high") << "not limited";
  EXPECT_EQ(policy.Choose("qos", "QOS", "").value(), "");
  for (const char* named : {"c", "A", "a,c", "a,", "a, b"})
    EXPECT_THAT(policy.Choose("accounts", "account", named).error().message(),
                StartsWith("namespace ml may not use account \""))
        << named;
  const Policy lists = *Policy::Of(With({{"partitions", "gpu,cpu"}, {"reservations", "course"}}));
  EXPECT_EQ(lists.Choose("partitions", "partition", "cpu,gpu").value(), "cpu,gpu");
  EXPECT_FALSE(lists.Choose("partitions", "partition", "cpu,big"));
  EXPECT_EQ(lists.Choose("reservations", "reservation", "").value(), "") << "named or not";
  EXPECT_NE(lists.Hash(), policy.Hash());
  EXPECT_EQ(policy.Choose("accounts", "account", "c").error().message(),
            "namespace ml may not use account \"c\"; it may use a, b (annotation capstan.dev/policy-accounts of the "
            "Namespace)");
}

}  // namespace
}  // namespace capstan::bridge
