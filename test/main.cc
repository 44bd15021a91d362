// main() of every test program: gtest's, with the log off, so that a test that passes prints nothing. To see what a
// test logs: CAPSTAN_LOG=debug build/release/bin/kube_test --gtest_filter=...
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

int main(int argc, char** argv) {
  using namespace capstan;
  ::testing::InitGoogleTest(&argc, argv);
  const char* wanted = std::getenv("CAPSTAN_LOG");
  const auto level = log::LevelNamed(wanted == nullptr ? "off" : wanted);
  if (!level) {
    std::fprintf(stderr, "CAPSTAN_LOG is \"%s\", must be debug, info, warn, error or off\n", wanted);
    return 2;
  }
  log::SetLevel(*level);
  return RUN_ALL_TESTS();
}
