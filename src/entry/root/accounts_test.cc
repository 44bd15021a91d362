#include "entry/root/accounts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "entry/descriptor.h"
#include "entry/root/mounts_test.h"

namespace capstan::entry {
namespace {

const Accounts kThere = {.passwd =
                             "root:x:0:0::/root:/bin/bash\ndaemon:x:1:1::/:/bin/false\nada:x:1000:1000:Ada:/home/ada:/"
                             "bin/zsh\nnobody:x:65534:65534::/:/bin/false\n"
                             "eve:x:1002:100::/home/eve:/bin/sh\n",
                         .shadow = "root:*:1::::::\nada:$6$new:1::::::\neve:!:1::::::\n",
                         .group = "root:x:0:\nsudo:x:27:ada,daemon\nada:x:1000:\nhpc:x:2000:ada,eve\nvideo:x:44:\n",
                         .gshadow = "sudo:*::ada\nhpc:!:ada:ada,eve\n",
                         .subuid = "ada:100000:65536\nada:300000:1000\n",
                         .subgid = "ada:100000:65536\n"};

std::string Failure(const Accounts& from, const Accounts& to) {
  const auto carried = CarryPeople(from, to);
  return carried ? "" : carried.error().message();
}

TEST(Accounts, PeopleAreThoseFrom1000On) {
  const Accounts people = PeopleOf(kThere);
  EXPECT_EQ(people.passwd, "ada:x:1000:1000:Ada:/home/ada:/bin/zsh\neve:x:1002:100::/home/eve:/bin/sh\n");
  EXPECT_EQ(people.shadow, "ada:$6$new:1::::::\neve:!:1::::::\n");
  EXPECT_EQ(people.group, "ada:x:1000:\nhpc:x:2000:ada,eve\n");
}

// libnss-extrausers gives up at a line that it does not understand, and all behind it are unknown.
TEST(Accounts, ALineThatIsNotWellFormedCountsAsNone) {
  using namespace std::string_literals;
  Accounts accounts;
  for (const std::string& strange :
       {""s, "\n"s, ":"s, "x"s, "a:x:1500"s, "a:x:1500:1500:::/bin/sh:"s, "a:x:1e9:1:::/bin/sh"s,
        "a:x:99999999999999999999:1:::"s, "a:x:-1000:1:::"s, "a:x:4294967295:1:::"s, "#a:x:1500:1500:::"s,
        "+a:x:1500:1500:::"s, "-a:x:1500:1500:::"s, ":x:1500:1500:::"s, "a b:x:1500:1500:::"s, "a\0:x:1500:1500:::"s,
        "a:x:1500:1500:\r::"s, std::string(300, 'a') + ":x:1500:1500:::", "a:x:1500:many:::"s}) {
    accounts.passwd = strange + "\nada:x:1000:1000::/home/ada:/bin/sh";
    EXPECT_EQ(PeopleOf(accounts).passwd, "ada:x:1000:1000::/home/ada:/bin/sh\n") << strange;
  }
  accounts.passwd = "ada:x:1000:1000:::\nada:x:0:0:::\nada:x:1001:1001:::\n";
  EXPECT_EQ(PeopleOf(accounts).passwd, "ada:x:1000:1000:::\n") << "a name means what its first line says";
  accounts.passwd = "ada:x:0:0:::\nada:x:1000:1000:::\n";
  EXPECT_EQ(PeopleOf(accounts).passwd, "");
}

TEST(Accounts, WhoHasNoPasswordLineHasNone) {
  Accounts accounts;
  accounts.passwd = "ada:x:1000:1000:::\n";
  accounts.shadow = "ada:half\n";
  EXPECT_EQ(PeopleOf(accounts).shadow, "ada:*:::::::\n");
}

TEST(Accounts, ANewRootGetsPeopleAndKeepsItsPrograms) {
  const Accounts fresh = {.passwd = "root:x:0:0::/root:/bin/sh\nmunge:x:990:990::/:/bin/false\n",
                          .shadow = "root:*:1::::::",
                          .group = "root:x:0:\nsudo:x:28:\nvideo:x:44:\n",
                          .gshadow = {},
                          .subuid = {},
                          .subgid = {}};
  const auto carried = CarryPeople(kThere, fresh);
  ASSERT_TRUE(carried) << carried.error().message();
  EXPECT_EQ(carried->passwd,
            "root:x:0:0::/root:/bin/sh\nmunge:x:990:990::/:/bin/false\nada:x:1000:1000:Ada:/home/ada:/bin/zsh\n"
            "eve:x:1002:100::/home/eve:/bin/sh\n");
  EXPECT_EQ(carried->shadow, "root:*:1::::::\nada:$6$new:1::::::\neve:!:1::::::\n");
  EXPECT_EQ(carried->group, "root:x:0:\nsudo:x:28:ada\nvideo:x:44:\nada:x:1000:\nhpc:x:2000:ada,eve\n");
  EXPECT_EQ(carried->subuid, kThere.subuid);
  const auto again = CarryPeople(kThere, *carried);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *carried) << "a Job that is run again";
}

// The way back: who has changed since is as he is now, and who is no longer in sudo does not come back to it.
TEST(Accounts, AnOlderRootHasPeopleAsTheyAreNow) {
  Accounts old = kThere;
  old.passwd =
      "root:x:0:0::/root:/bin/bash\nada:x:1000:1000:Ada:/home/ada:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
  old.shadow = "ada:$6$old:1::::::\n";
  old.group = "sudo:x:27:bob,eve,ada\nada:x:1000:\nvideo:x:44:eve\nkvm:x:108:eve\n";
  old.subuid = "ada:200000:1\nbob:1:1\nada:400000:1\n";
  const auto carried = CarryPeople(kThere, old);
  ASSERT_TRUE(carried);
  EXPECT_EQ(carried->passwd,
            "root:x:0:0::/root:/bin/bash\nada:x:1000:1000:Ada:/home/ada:/bin/zsh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
            "eve:x:1002:100::/home/eve:/bin/sh\n");
  EXPECT_EQ(carried->shadow, "ada:$6$new:1::::::\neve:!:1::::::\n");
  EXPECT_EQ(carried->group, "sudo:x:27:ada\nada:x:1000:\nvideo:x:44:\nkvm:x:108:eve\nhpc:x:2000:ada,eve\n");
  EXPECT_EQ(carried->subuid, "ada:100000:65536\nada:300000:1000\nbob:1:1\n");
}

TEST(Accounts, NoNameAndNoIdGetsTwoMeanings) {
  Accounts other;
  other.passwd = "ada:x:1005:1005::/:/bin/sh\n";
  EXPECT_EQ(Failure(kThere, other), "account ada has id 1000 in the current root, and 1005 in this one");
  other.passwd = "ubuntu:x:1000:1000::/:/bin/sh\n";
  EXPECT_EQ(Failure(kThere, other), "id 1000 is of account ada in the current root, and of ubuntu in this one");
  other.passwd = "ada:x:500:500::/:/bin/sh\n";
  EXPECT_NE(Failure(kThere, other), "") << "a program of that name";
  other.passwd = "";
  other.group = "hpc:x:3000:\n";
  EXPECT_EQ(Failure(kThere, other), "group hpc has id 2000 in the current root, and 3000 in this one");
  other.group = "mail:x:100:\n";
  EXPECT_EQ(Failure(kThere, other), "") << "the current root has no name for eve's group";
  Accounts there = kThere;
  there.group += "users:x:100:\n";
  EXPECT_EQ(Failure(there, other),
            "account eve has group 100, which is users in the current root, and mail in this one");
  other.group = "";
  other.subuid = "bob:150000:65536\n";
  EXPECT_EQ(Failure(kThere, other), "ids from 150000 on would be of both ada and bob in /etc/subuid");
}

TEST(Accounts, OtherNamesOfAnIdAreNoClash) {
  Accounts there;
  there.passwd = "ada:x:1000:1000::/:/bin/sh\ntoo:x:1000:1000::/:/bin/sh\n";
  const auto carried = CarryPeople(there, {});
  ASSERT_TRUE(carried);
  EXPECT_EQ(Failure(there, *carried), "");
  EXPECT_EQ(Failure(there, kThere), "") << "ada is in both";
}

class AccountFilesTest : public MountsTest {
 protected:
  void SetUp() override {
    MountsTest::SetUp();
    for (const std::string& root : {from_, to_}) fs::create_directories(root + "/etc");
    Write(from_ + "/etc/passwd", kThere.passwd);
    Write(from_ + "/etc/shadow", kThere.shadow);
    Write(to_ + "/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    Write(to_ + "/etc/shadow", "root:*:1::::::\n");
    chmod((to_ + "/etc/shadow").c_str(), 0640);
  }
  std::string Carry() {
    const Descriptor from(open(from_.c_str(), O_PATH | O_DIRECTORY)), to(open(to_.c_str(), O_PATH | O_DIRECTORY));
    const auto carried = CarryAccounts(from.fd(), to.fd());
    return carried ? "" : carried.error().message();
  }
  const std::string from_ = place_ + "/from", to_ = place_ + "/to";
};

TEST_F(AccountFilesTest, AreReplacedWithTheirModes) {
  EXPECT_EQ(Carry(), "");
  EXPECT_NE(Read(to_ + "/etc/passwd").find("ada:x:1000"), std::string::npos);
  EXPECT_EQ(Read(to_ + "/etc/shadow"), "root:*:1::::::\nada:$6$new:1::::::\neve:!:1::::::\n");
  struct stat shadow;
  ASSERT_EQ(stat((to_ + "/etc/shadow").c_str(), &shadow), 0);
  EXPECT_EQ(shadow.st_mode & 07777, 0640u);
  EXPECT_FALSE(fs::exists(to_ + "/etc/subuid"));
}

TEST_F(AccountFilesTest, NothingIsCarriedFromARootWithoutAccounts) {
  fs::remove(from_ + "/etc/passwd");
  EXPECT_EQ(Carry(), "");
  fs::remove_all(from_ + "/etc");
  EXPECT_EQ(Carry(), "");
  EXPECT_EQ(Read(to_ + "/etc/passwd"), "root:x:0:0::/root:/bin/sh\n");
}

// Whoever is root in a root may put there what he likes; that keeps nobody from going back to another.
TEST_F(AccountFilesTest, ARootThatCannotBeReadIsLeftWithoutItsPeople) {
  Write(place_ + "/elsewhere", kThere.passwd);
  const auto replace = [&](const std::string& file, const auto& put) {
    fs::remove_all(file);
    put();
    EXPECT_EQ(Carry(), "") << file;
    EXPECT_EQ(Read(to_ + "/etc/passwd"), "root:x:0:0::/root:/bin/sh\n") << file;
  };
  const std::string passwd = from_ + "/etc/passwd";
  replace(passwd, [&] { fs::create_symlink(place_ + "/elsewhere", passwd); });
  replace(passwd, [&] { fs::create_directories(passwd); });
  replace(passwd, [&] { ASSERT_EQ(mkfifo(passwd.c_str(), 0600), 0); });
  replace(passwd, [&] { Write(passwd, std::string(17 << 20, '\n')); });
  replace(from_ + "/etc/.pwd.lock", [&] { fs::create_symlink(place_ + "/elsewhere", from_ + "/etc/.pwd.lock"); });
}

TEST_F(AccountFilesTest, NothingIsWrittenThroughALink) {
  Write(place_ + "/elsewhere", kThere.passwd);
  fs::remove(to_ + "/etc/shadow");
  fs::create_symlink(place_ + "/elsewhere", to_ + "/etc/shadow");
  EXPECT_EQ(Carry(), "/etc/shadow is not a plain file of at most 16 MiB");
  EXPECT_EQ(Read(place_ + "/elsewhere"), kThere.passwd);
}

TEST_F(AccountFilesTest, WhoChangesAccountsIsNotDisturbed) {
  const pid_t useradd = fork();
  if (useradd == 0) {
    const int lock = open((to_ + "/etc/.pwd.lock").c_str(), O_RDWR | O_CREAT, 0600);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    fcntl(lock, F_SETLK, &whole);
    raise(SIGSTOP);
    _exit(0);
  }
  int status;
  waitpid(useradd, &status, WUNTRACED);
  EXPECT_EQ(Carry(), "somebody changes accounts just now");
  kill(useradd, SIGCONT);
  waitpid(useradd, &status, 0);
  EXPECT_EQ(Carry(), "");
}

}  // namespace
}  // namespace capstan::entry
