#include "plan/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/testing/captured_log.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    std::filesystem::create_directories(folder_);
    std::ofstream(kubeconfig_) << R"({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]})";
  }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }

  // What it says when it does not even begin.
  std::string Refusal(ProgramOptions options) {
    options.name = "test";
    options.set_up = [](Engine&) {};
    capstan::testing::CapturedLog log;
    EXPECT_EQ(RunProgram(std::move(options)), 1);
    return log.Text();
  }

  const std::string folder_ = ::testing::TempDir() + "/capstan-program-" + std::to_string(::getpid());
  const std::string kubeconfig_ = folder_ + "/config";
};

TEST_F(ProgramTest, SaysWhichConfigurationIsMissing) {
  EXPECT_THAT(Refusal({.kubeconfig = folder_ + "/none"}), HasSubstr(folder_ + "/none"));
}

TEST_F(ProgramTest, SaysWhichAddressIsWrong) {
  for (const char* wrong : {"8081", ":x", ":65536", "localhost"}) {
    EXPECT_THAT(Refusal({.kubeconfig = kubeconfig_, .health_address = wrong}),
                HasSubstr("the address for health is \\\"" + std::string(wrong) + "\\\", must be [address]:port or 0"));
    EXPECT_THAT(Refusal({.kubeconfig = kubeconfig_, .health_address = "0", .metrics_address = wrong}),
                HasSubstr("the address for metrics is"));
  }
}

}  // namespace
}  // namespace capstan::plan
