// One real API server for all tests of a program: started before the first of them, ended after the last.
//
//   // in one .cc file of the program
//   const auto* environment =
//       ::testing::AddGlobalTestEnvironment(new ApiserverEnvironment({.tools = "build/tools"}));
//
//   // in its tests
//   Config admin = Apiserver().Admin();
//
// When it does not start, no test runs and the program fails with what was wrong. Tests share the server: each works in a
// namespace of its own, since nothing empties one that is deleted.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "kube/testing/real_apiserver.h"

namespace capstan::kube::testing {

// GoogleTest owns it. REQUIRES: one in a program.
class ApiserverEnvironment final : public ::testing::Environment {
 public:
  explicit ApiserverEnvironment(RealApiserver::Options options);
  void SetUp() override;
  void TearDown() override;

 private:
  RealApiserver::Options options_;
  std::unique_ptr<RealApiserver> server_;
};

// The environment's server. REQUIRES: a test is running, in a program that has the environment.
RealApiserver& Apiserver();

}  // namespace capstan::kube::testing
