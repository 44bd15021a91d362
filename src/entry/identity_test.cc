#include "entry/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

using Words = std::vector<std::string>;

struct NameCase {
  const char* what;
  std::string wanted;
  Words given;
  std::string name;
  Words left;
};

TEST(SettleNodeName, IsWhatThePodIsKnownBy) {
  const NameCase cases[] = {
      {"that of the host", "", {"-Z"}, "rack-0", {"-Z"}},
      {"a user's", "", {"-Z", "-N", "node1", "-v"}, "node1", {"-Z", "-v", "-N", "node1"}},
      {"the last of several", "", {"-Na", "-Nb"}, "b", {"-N", "b"}},
      {"the operator's, over a user's", "rack-0", {"-Z", "-N", "node1"}, "rack-0", {"-Z"}},
      {"the operator's, on the machine's network", "rack-7", {"-N", "rack-7"}, "rack-7", {"-N", "rack-7"}},
      {"over one in a cluster of flags", "rack-0", {"-vNnode1"}, "rack-0", {"-v"}},
  };
  for (const NameCase& one : cases) {
    ::testing::internal::CaptureStderr();
    Words words = one.given;
    EXPECT_EQ(SettleNodeName(one.wanted, "rack-0.slurm.example", &words), one.name) << one.what;
    EXPECT_EQ(words, one.left) << one.what;
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.contains("left out"), one.given.back().ends_with("node1") && one.wanted == "rack-0") << said;
  }
}

TEST(IdentityText, IsJson) {
  EXPECT_EQ(IdentityText("rack-0", true), "{\"node\": \"rack-0\", \"steps\": true}\n");
  EXPECT_EQ(IdentityText("a\"b", false), "{\"node\": \"a\\\"b\", \"steps\": false}\n");
}

}  // namespace
}  // namespace capstan::entry
