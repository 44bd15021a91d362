#include "entry/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace capstan::entry {
namespace {

using Words = std::vector<std::string>;

TEST(FindRole, KnowsEveryRoleAndNamesThemOtherwise) {
  for (const char* name : {"slurmctld", "slurmd", "slurmrestd", "slurmdbd", "sackd", "login", "sshd", "sssd"}) {
    EXPECT_EQ((*FindRole(name))->name, name);
  }
  EXPECT_EQ(FindRole("slurm").error().message(),
            "unknown role 'slurm'; known roles: slurmctld, slurmd, slurmrestd, slurmdbd, sackd, login, sshd, sssd");
}

TEST(DaemonArguments, PutsTheVariableInFrontAndRunsUnderSystemdsProtocol) {
  struct Case {
    const char* role;
    const char* variable;
    Words arguments;
    Words expected;
  };
  const Case cases[] = {
      {"slurmctld", "", {}, {"--systemd"}},
      {"slurmctld", "-v -f '/a b'", {"-i"}, {"--systemd", "-v", "-f", "/a b", "-i"}},
      {"slurmd", "", {"-Z", "--conf", "A=1 B=2"}, {"--systemd", "-Z", "--conf", "A=1 B=2"}},
      {"slurmd", "-D", {"-Dvv", "--systemd"}, {"--systemd", "-vv"}},
      {"slurmd", "", {"-Dfoo"}, {"--systemd", "-Dfoo"}},  // not a cluster of flags we know
      {"slurmrestd", "-vv", {"0.0.0.0:6820"}, {"-vv", "0.0.0.0:6820"}},
      {"slurmdbd", "", {"-D", "-v"}, {"-D", "-v"}},
      {"login", "--conf-server c:6817", {}, {"--systemd", "--conf-server", "c:6817"}},
      {"sshd", "-p 2222", {}, {"-D", "-e", "-p", "2222"}},
  };
  for (const Case& c : cases) {
    const Role& role = **FindRole(c.role);
    setenv(role.options_variable, c.variable, 1);
    EXPECT_EQ(DaemonArguments(role, c.arguments).value(), c.expected);
    unsetenv(role.options_variable);
  }
}

TEST(DaemonArguments, NamesTheVariableThatCannotBeRead) {
  setenv("SLURMD_OPTIONS", "--conf 'A=1", 1);
  const auto arguments = DaemonArguments(**FindRole("slurmd"), {});
  unsetenv("SLURMD_OPTIONS");
  ASSERT_FALSE(arguments);
  EXPECT_THAT(arguments.error().message(), ::testing::StartsWith("SLURMD_OPTIONS: the quote ' is never closed"));
}

std::vector<std::string_view> NamesBeside(const char* role, const char* variable) {
  setenv("CAPSTAN_BESIDE", variable, 1);
  const auto beside = RolesBeside(**FindRole(role));
  unsetenv("CAPSTAN_BESIDE");
  std::vector<std::string_view> names;
  for (const Role* found : beside.value()) names.push_back(found->name);
  return names;
}

TEST(RolesBeside, AreALoginsOwnAndThoseThatAWorkerIsGiven) {
  EXPECT_THAT(NamesBeside("login", ""), ::testing::ElementsAre("sssd", "sshd"));
  EXPECT_THAT(NamesBeside("slurmd", ""), ::testing::IsEmpty());
  EXPECT_THAT(NamesBeside("slurmd", "sshd sssd  sshd"), ::testing::ElementsAre("sshd", "sssd"));
  EXPECT_THAT(NamesBeside("slurmctld", "sshd"), ::testing::IsEmpty());
}

TEST(RolesBeside, RefuseWhatCannotStandBesideAWorker) {
  setenv("CAPSTAN_BESIDE", "slurmctld", 1);
  const auto beside = RolesBeside(**FindRole("slurmd"));
  unsetenv("CAPSTAN_BESIDE");
  EXPECT_EQ(beside.error().message(), "CAPSTAN_BESIDE names 'slurmctld', must be of: sssd sshd");
}

}  // namespace
}  // namespace capstan::entry
