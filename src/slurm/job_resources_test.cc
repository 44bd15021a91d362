#include "slurm/job_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BitsOfMask, TheLastDigitHasTheLowestBits) {
  EXPECT_THAT(*BitsOfMask("0x3"), ElementsAre(0, 1));
  EXPECT_THAT(*BitsOfMask("0XA01"), ElementsAre(0, 9, 11));
  EXPECT_THAT(*BitsOfMask("80000000000000000000000000000000f"), ElementsAre(0, 1, 2, 3, 131));
  EXPECT_THAT(*BitsOfMask("0x0"), IsEmpty());
  EXPECT_THAT(*BitsOfMask(""), IsEmpty());
}

TEST(BitsOfMask, WhatIsNoMaskOfANodeIsRefused) {
  for (const std::string& wrong :
       {std::string("0x1g"), std::string("0-3"), std::string("-1"), std::string(20'000, 'f')}) {
    const auto bits = BitsOfMask(wrong);
    ASSERT_FALSE(bits) << wrong.substr(0, 10);
    EXPECT_EQ(bits.error().code(), Code::kInvalid);
    EXPECT_LT(bits.error().message().size(), 200u);
  }
}

}  // namespace
}  // namespace capstan::slurm
