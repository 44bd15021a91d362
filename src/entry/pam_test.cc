#include "entry/pam.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::entry {
namespace {

// Behind it, "sufficient" rules of the included file let local users in before the module is asked.
constexpr std::string_view kRule = "account requisite pam_slurm_adopt.so a=deny\n";

std::string With(std::string_view text) { return WithSlurmAdopt(text, "a=deny").value(); }

// Behind it, "sufficient" rules of the included file let local users in before the module is asked.
TEST(WithSlurmAdopt, StandsInFrontOfTheFirstRuleThatMayLetSomebodyIn) {
  const std::string before = "@include common-auth\naccount required pam_nologin.so\n";
  for (const std::string rest :
       {"@include common-account\nsession y\n", "account    include      password-auth\n", "account substack x\n",
        "account sufficient pam_localuser.so\n", "account [success=done default=ignore] pam_x.so\n",
        "-account required pam_x.so\n", "ACCOUNT Optional pam_x.so", "account \\\n sufficient pam_localuser.so\n",
        "@include others\n", "@INCLUDE common-account\n", "-@include common-account\n", "[@include] common-account\n",
        "[account] sufficient pam_localuser.so\n", "[account][sufficient]pam_localuser.so\n",
        "account required [pam_x.so]\n"}) {
    EXPECT_EQ(With(before + rest), before + std::string(kRule) + rest);
  }
  EXPECT_EQ(With("account required pam_unix.so"), "account required pam_unix.so\n" + std::string(kRule));
}

TEST(WithSlurmAdopt, LeavesAFileAloneThatAsksItFirst) {
  for (const std::string text :
       {"account required pam_nologin.so\naccount required pam_slurm_adopt.so\n@include common-account\n",
        "account requisite /lib/security/pam_slurm_adopt.so x=y # mine\n"}) {
    EXPECT_EQ(With(text), text);
  }
}

// Everybody got in: the name stood in the file, and nothing asked the module.
TEST(WithSlurmAdopt, ANameThatIsNoRuleForAccountsCountsForNothing) {
  for (const std::string text :
       {"# account required pam_slurm_adopt.so\n", "  # account required pam_slurm_adopt.so\n",
        "session required pam_slurm_adopt.so\n", "account required pam_unix.so # pam_slurm_adopt.so\n",
        "account required pam_unix.so pam_slurm_adopt.so\n", "account required my_pam_slurm_adopt.so\n"}) {
    EXPECT_EQ(With(text + "@include common-account\n"), text + std::string(kRule) + "@include common-account\n");
  }
  for (const std::string rule :
       {"account sufficient pam_slurm_adopt.so\n", "account optional pam_slurm_adopt.so\n",
        "-account required pam_slurm_adopt.so\n", "account [default=ignore] pam_slurm_adopt.so\n",
        "account sufficient pam_localuser.so\naccount required pam_slurm_adopt.so\n"}) {
    EXPECT_EQ(With(rule), std::string(kRule) + rule) << "its refusal would not count, or it would not be asked";
  }
}

// Lines that one libpam joins and another does not, cuts in two, or takes for something else.
TEST(WithSlurmAdopt, NothingBehindALineThatMayBeReadOtherwiseCounts) {
  const std::string adopt = "account required pam_slurm_adopt.so\n";
  const std::vector<std::string> texts = {
      "account required pam_unix.so \\ \n" + adopt,
      "account required pam_unix.so \\ # x\n" + adopt,
      "account required pam_unix.so \\\t\n " + adopt,
      "session required pam_env.so \\\n" + adopt,
      std::string("account required pam_slurm_adopt.so \\"),
      "#" + std::string(1022, 'x') + "account sufficient pam_localuser.so\n" + adopt,
      "\raccount required pam_slurm_adopt.so\naccount required pam_unix.so\n",
      "account\rrequired pam_slurm_adopt.so\n",
      "account required pam_unix.so \v\n" + adopt};
  for (const std::string& rest : texts) {
    EXPECT_EQ(With("account required pam_nologin.so\n" + rest),
              "account required pam_nologin.so\n" + std::string(kRule) + rest);
  }
  const std::string commented = "# DOMAIN\\user \\\n" + adopt;
  EXPECT_EQ(With(commented), commented) << "a comment goes on nowhere";
}

// A rule that is required counts at the end, unless another one has made it forgotten.
TEST(WithSlurmAdopt, ARefusalIsNotTakenBack) {
  for (const std::string rest :
       {"account [success=reset default=ignore] pam_localuser.so\naccount required pam_unix.so\n",
        "account required pam_slurm_adopt.so\naccount [success=RESET default=ignore] pam_localuser.so\n"}) {
    const std::string once = With(rest);
    EXPECT_EQ(once, std::string(kRule) + rest);
    EXPECT_EQ(With(once), once) << "one rule, however often a container starts";
  }
}

TEST(WithSlurmAdopt, RefusesWhatItCannotGuard) {
  for (const char* text : {"auth x\n", "", "@include common-auth\n@include common-session\n"})
    EXPECT_EQ(WithSlurmAdopt(text, "").error().message(), "it has no rule that asks whether an account may be used");
  for (const std::string& options : {std::string("a\nauth sufficient pam_permit.so"), std::string("x=a\\b"),
                                     std::string("x #"), std::string(600, 'x')})
    EXPECT_EQ(WithSlurmAdopt("@include common-account\n", options).error().message(),
              "PAM_SLURM_ADOPT_OPTIONS must be words of one line, without backslashes and #");
}

}  // namespace
}  // namespace capstan::entry
