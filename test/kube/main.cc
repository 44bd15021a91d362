#include <gtest/gtest.h>

#include <cstdio>

#include "apiserver.h"

namespace capstan::kube::testing {

static std::unique_ptr<RealApiserver> running;

RealApiserver& Apiserver() { return *running; }

static bool Start() {
  auto server = RealApiserver::Start({.tools = CAPSTAN_SOURCE_DIR "/build/tools"});
  if (!server) {
    std::fprintf(stderr, "no API server, so nothing can be tested: %s\n", server.error().message().c_str());
    return false;
  }
  running = *std::move(server);
  return true;
}

}  // namespace capstan::kube::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!capstan::kube::testing::Start()) return 1;
  const int result = RUN_ALL_TESTS();
  capstan::kube::testing::running.reset();
  return result;
}
