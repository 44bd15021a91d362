#include "operator/ssh_files.h"

#include <gtest/gtest.h>

namespace capstan::op {
namespace {

TEST(SssdConf, WhatHasItsFormIsTaken) {
  for (const char* text :
       {"[sssd]\ndomains = a\n", "# by me\n; too\n\n[sssd]\n\n[domain/a]\r\nldap_uri=ldap://a,\n  ldap://b\n",
        "[sssd]\nempty =\n"}) {
    EXPECT_EQ(WrongWithSssdConf(text), "") << text;
  }
}

TEST(SssdConf, WhatDoesNotIsToldWithItsLineAndWithoutItsText) {
  EXPECT_EQ(WrongWithSssdConf(""), "has no section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("# nothing\n"), "has no section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("domains = a\n"), "has in line 1 something before the first section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("[sssd\ndomains = a"), "has a section in line 1 whose name is not closed by ]");
  EXPECT_EQ(WrongWithSssdConf("[sssd]\n\nldap_default_authtok hunter2\n"),
            "has in line 3 neither a section, nor a setting (name = value), nor a comment");
  EXPECT_EQ(WrongWithSssdConf(std::string("[sssd]\na=b\0c\n", 13)), "has a NUL byte in line 2");
}

}  // namespace
}  // namespace capstan::op
