#include "entry/pam.h"

#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

// Behind it, "sufficient" rules of the included file let local users in before the module is asked.
TEST(WithSlurmAdopt, StandsInFrontOfTheCommonRules) {
  EXPECT_EQ(WithSlurmAdopt("auth x\n# @include common-account\n@include common-account\nsession y\n", "a=deny").value(),
            "auth x\n# @include common-account\naccount required pam_slurm_adopt.so a=deny\n@include "
            "common-account\nsession y\n");
  EXPECT_EQ(WithSlurmAdopt("account    include      password-auth\n", "").value(),
            "account required pam_slurm_adopt.so \naccount    include      password-auth\n");
}

TEST(WithSlurmAdopt, LeavesAFileAloneThatHasIt) {
  const std::string text = "account sufficient pam_slurm_adopt.so\n@include common-account\n";
  EXPECT_EQ(WithSlurmAdopt(text, "a=deny").value(), text);
}

TEST(WithSlurmAdopt, RefusesWhatItCannotGuard) {
  EXPECT_EQ(WithSlurmAdopt("auth x\n", "").error().message(), "it includes neither common-account nor password-auth");
  EXPECT_EQ(WithSlurmAdopt("@include common-account\n", "a\nauth sufficient pam_permit.so").error().message(),
            "PAM_SLURM_ADOPT_OPTIONS has more than one line");
}

}  // namespace
}  // namespace capstan::entry
