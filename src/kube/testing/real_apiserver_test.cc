#include "kube/testing/real_apiserver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace capstan::kube::testing {
namespace {

using ::testing::HasSubstr;

TEST(RealApiserver, WhatIsMissingIsSoughtWhereTheVariableSaysAndTheErrorNamesBoth) {
  const char* const before = std::getenv(RealApiserver::kToolsVariable);
  const std::string restored = before ? before : "";
  setenv(RealApiserver::kToolsVariable, "/nowhere/of/the/variable", 1);
  const auto there = RealApiserver::Start({.tools = "/nowhere/of/the/program"});
  unsetenv(RealApiserver::kToolsVariable);
  const auto default_place = RealApiserver::Start({.tools = "/nowhere/of/the/program"});
  if (before) setenv(RealApiserver::kToolsVariable, restored.c_str(), 1);

  ASSERT_FALSE(there);
  EXPECT_THAT(there.error().message(), HasSubstr("/nowhere/of/the/variable/etcd is missing"));
  EXPECT_THAT(there.error().message(), HasSubstr("CAPSTAN_TOOLS"));
  ASSERT_FALSE(default_place);
  EXPECT_THAT(default_place.error().message(), HasSubstr("/nowhere/of/the/program/etcd is missing"));
}

}  // namespace
}  // namespace capstan::kube::testing
