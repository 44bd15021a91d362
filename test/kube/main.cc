// The API server of all tests of this program.
#include <gtest/gtest.h>

#include "apiserver.h"

namespace capstan::kube::testing {
namespace {

std::unique_ptr<RealApiserver> running;

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    auto server = RealApiserver::Start({.tools = CAPSTAN_SOURCE_DIR "/build/tools"});
    ASSERT_TRUE(server) << "no API server, so nothing can be tested: " << server.error().message();
    running = *std::move(server);
  }
  void TearDown() override { running.reset(); }
};

const auto* environment = ::testing::AddGlobalTestEnvironment(new Environment);

}  // namespace

RealApiserver& Apiserver() { return *running; }

}  // namespace capstan::kube::testing
