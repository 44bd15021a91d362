#include "slurm/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace capstan::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TokenFile : public ::testing::Test {
 protected:
  TokenFile() { path = (std::filesystem::temp_directory_path() / ("token-" + std::to_string(getpid()))).string(); }
  ~TokenFile() override { std::filesystem::remove(path); }
  Result<Secret> Read(const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return TokenFrom(path);
  }
  std::string path;
};

TEST_F(TokenFile, IsReadAsScontrolAndPeopleWriteIt) {
  for (const char* text : {"ey.ab-c_.d==", "ey.ab-c_.d==\n", "  SLURM_JWT=ey.ab-c_.d==\n", "SLURM_JWT= ey.ab-c_.d=="}) {
    const auto token = Read(text);
    ASSERT_TRUE(token) << text;
    EXPECT_EQ(token->Reveal(), "ey.ab-c_.d==") << text;
  }
}

TEST_F(TokenFile, SaysWhatIsWrongWithTheFileAndNeverWhatIsInIt) {
  for (const char* text : {"", " \n", "SLURM_JWT=\n", "secret one", "secret\r\nX-SLURM-USER-NAME: root"}) {
    const auto token = Read(text);
    ASSERT_FALSE(token) << text;
    EXPECT_EQ(token.error().code(), Code::kUnauthenticated);
    EXPECT_THAT(token.error().message(), HasSubstr(path));
    EXPECT_THAT(token.error().message(), Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(Read(std::string(17 << 10, 'a')));
  EXPECT_THAT(TokenFrom("/nowhere/token").error().message(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace capstan::slurm
