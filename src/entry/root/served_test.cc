#include "entry/root/served.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "entry/root/mounts_test.h"
#include "entry/root/reports.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

class ServedRootTest : public MountsTest {
 protected:
  void SetUp() override {
    MountsTest::SetUp();
    for (const char* generation : {"g1", "g2"}) {
      fs::create_directories(volume_ + "/roots/" + generation);
      Write(volume_ + "/roots/" + generation + "/MARK", generation);
    }
    fs::create_directories(volume_ + "/meta/pods");
    fs::create_directories(volume_ + "/keep" + home_);
    fs::create_directories(place_ + "/etc");
    Write(volume_ + "/keep" + home_ + "/file", "kept");
    Write(place_ + "/etc/hosts", "the pod's");
  }
  void TearDown() override {
    MountsTest::TearDown();
    fs::remove_all(home_);
  }
  void Switch(const std::string& generation) {
    const auto done = SetCurrent(volume_, {.generation = generation, .keep = {home_}, .node_local = {}}, {});
    ASSERT_TRUE(done) << done.error().message();
  }
  ServedRoot Begin() {
    auto served = ServedRoot::Begin({.volume = volume_, .pod = "uid-1", .links = links_, .pod_files = place_});
    if (!served) ADD_FAILURE() << served.error().message();
    return *std::move(served);
  }
  // Until the look that begins now has ended.
  void LookOnce(ServedRoot& root) {
    now_ += std::chrono::seconds(2);
    root.Serve(now_);
    Finish(root);
  }
  // The end of a mount namespace is told by the kernel a moment later.
  void AwaitReport(ServedRoot& root, const std::string& wanted) {
    for (int tries = 0; tries < 1'000 && Report() != wanted; ++tries) LookOnce(root);
  }
  void Finish(ServedRoot& root) {
    for (std::vector<pollfd> waiting;; waiting.clear()) {
      root.AddTo(&waiting);
      if (waiting.empty()) break;
      ASSERT_EQ(poll(waiting.data(), 1, 30'000), 1);
      root.Serve(now_);
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  std::string Report() const { return Read(volume_ + "/meta/pods/uid-1"); }
  // A session that begins now and goes on.
  struct Session {
    pid_t process;
    int end;
    void Leave() const {
      close(end);
      waitpid(process, nullptr, 0);
    }
  };
  Session Enter() {
    int ends[2], in[2];
    if (pipe2(ends, O_CLOEXEC) + pipe2(in, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      close(ends[1]);
      const int tree = open((links_ + "/current").c_str(), O_RDONLY | O_CLOEXEC);
      const bool joined = tree >= 0 && setns(tree, CLONE_NEWNS) == 0;
      close(tree);
      (void)!write(in[1], joined ? "+" : "-", 1);
      char end;
      (void)!read(ends[0], &end, 1);
      _exit(0);
    }
    close(ends[0]);
    close(in[1]);
    char joined = 0;
    EXPECT_EQ(read(in[0], &joined, 1), 1);
    EXPECT_EQ(joined, '+');
    close(in[0]);
    return {child, ends[1]};
  }
  // In a session that begins now.
  std::string InSession(const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      const int tree = open((links_ + "/current").c_str(), O_RDONLY);
      const std::string text = tree >= 0 && setns(tree, CLONE_NEWNS) == 0 ? Read(path) : "refused";
      (void)!write(ends[1], text.data(), text.size());
      _exit(0);
    }
    close(ends[1]);
    char text[256];
    const ssize_t size = read(ends[0], text, sizeof text);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return std::string(text, size_t(std::max<ssize_t>(0, size)));
  }

  const std::string volume_ = place_ + "/volume", links_ = place_ + "/run/capstan/root",
                    home_ = "/capstan-test-home-" + std::to_string(getpid());
  ServedRoot::Clock::time_point now_ = ServedRoot::Clock::now();
};

TEST_F(ServedRootTest, NoSessionBeginsBeforeARootCounts) {
  ServedRoot root = Begin();
  EXPECT_TRUE(fs::is_directory(links_)) << "without it the module takes no root for wanted";
  LookOnce(root);
  EXPECT_FALSE(root.stands());
  EXPECT_EQ(InSession("/MARK"), "refused");
}

TEST_F(ServedRootTest, SessionsAreInTheRootThatCounts) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  EXPECT_TRUE(root.ready());
  EXPECT_EQ(InSession("/MARK"), "g1");
  EXPECT_EQ(InSession(home_ + "/file"), "kept");
  EXPECT_EQ(Read(home_ + "/file"), "kept") << "sshd looks for keys there";
  EXPECT_EQ(Read(place_ + "/run/capstan/etc/hosts"), "the pod's");
  Switch("g2");
  LookOnce(root);
  EXPECT_EQ(InSession("/MARK"), "g2");
  Switch("g1");
  LookOnce(root);
  EXPECT_EQ(InSession("/MARK"), "g1");
}

TEST_F(ServedRootTest, TheImageKnowsThePeopleOfTheRoot) {
  const std::string etc = volume_ + "/roots/g1/etc", people = place_ + "/var/lib/extrausers";
  const std::string program = "root:x:0:0::/root:/bin/sh\n", ada = "ada:x:1000:1000::/home/ada:/bin/sh\n",
                    bob = "bob:x:1001:1001::/home/bob:/bin/sh\n";
  fs::create_directories(etc);
  Write(etc + "/passwd", program + ada);
  Write(etc + "/shadow", "ada:!:1::::::\n");
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  EXPECT_FALSE(fs::exists(people)) << "before there is a tree";
  LookOnce(root);
  EXPECT_EQ(Read(people + "/passwd"), ada);
  struct stat shadow;
  ASSERT_EQ(stat((people + "/shadow").c_str(), &shadow), 0);
  EXPECT_EQ(shadow.st_mode & 07777, 0600u);
  Write(etc + "/passwd", program + ada + bob);
  LookOnce(root);
  EXPECT_EQ(Read(people + "/passwd"), ada + bob) << "useradd in a session";
  fs::remove(etc + "/passwd");
  LookOnce(root);
  EXPECT_TRUE(root.ready());
  EXPECT_EQ(Read(people + "/passwd"), ada + bob) << "absence proves nothing";
  ASSERT_EQ(mkfifo((etc + "/passwd").c_str(), 0600), 0);
  LookOnce(root);
  EXPECT_TRUE(root.ready());
  EXPECT_NE(Read(people + "/unread").find("is not a plain file"), std::string::npos);
  EXPECT_EQ(Read(people + "/passwd"), ada + bob);
}

TEST_F(ServedRootTest, WhatCannotBeMadeChangesNothing) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  for (const char* text : {"capstan-root 1\ngeneration g9\nend\n", "capstan-root 1\ngeneration g2\n", "", "rubbish"}) {
    Write(volume_ + "/meta/current", text);
    LookOnce(root);
    EXPECT_TRUE(root.ready()) << text;
    EXPECT_EQ(InSession("/MARK"), "g1") << text;
  }
  fs::remove(volume_ + "/meta/current");
  LookOnce(root);
  EXPECT_EQ(InSession("/MARK"), "g1") << "absence proves nothing";
}

// Who removes roots reads it.
TEST_F(ServedRootTest, TheReportNamesWhatSessionsMayBeIn) {
  ServedRoot root = Begin();
  LookOnce(root);
  EXPECT_EQ(Report(), "") << "nothing is current yet";
  Switch("g1");
  LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1"}));
  const Session session = Enter();
  Switch("g2");
  LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1", "g2"}));
  now_ += std::chrono::minutes(2);
  LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1", "g2"})) << "the session goes on";
  session.Leave();
  AwaitReport(root, ReportText({"g2"}));
  EXPECT_EQ(Report(), ReportText({"g2"}));
}

// Who has read the link just now may join yet.
TEST_F(ServedRootTest, TheFormerRootIsReportedForAMoment) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  Switch("g2");
  LookOnce(root);
  LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1", "g2"}));
  now_ += std::chrono::seconds(10);
  AwaitReport(root, ReportText({"g2"}));
  EXPECT_EQ(Report(), ReportText({"g2"}));
}

// A report that names too few would have a root removed under a session: then it is better that there is none.
TEST_F(ServedRootTest, AReportThatCannotBeWrittenIsNone) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  Switch("g2");
  const std::string next = volume_ + "/meta/pods/uid-1.next";
  fs::create_directories(next + "/in-the-way");
  LookOnce(root);
  EXPECT_EQ(InSession("/MARK"), "g2") << "a full volume keeps nobody out";
  EXPECT_FALSE(fs::exists(volume_ + "/meta/pods/uid-1"));
  fs::remove_all(next);
  now_ += std::chrono::seconds(30);
  AwaitReport(root, ReportText({"g2"}));
  EXPECT_EQ(Report(), ReportText({"g2"}));
}

// One that names too many keeps what could go, and does no harm.
TEST_F(ServedRootTest, AReportThatCannotBeWrittenStaysWhereItNamesNoLess) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  Switch("g2");
  LookOnce(root);
  fs::create_directories(volume_ + "/meta/pods/uid-1.next/in-the-way");
  now_ += std::chrono::seconds(10);
  for (int looks = 0; looks < 20; ++looks) LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1", "g2"}));
}

// By its time others know that the pod is there; and whoever has removed it has done so by mistake.
TEST_F(ServedRootTest, TheReportIsWrittenAgain) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  const std::string report = volume_ + "/meta/pods/uid-1";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(report, long_ago);
  LookOnce(root);
  EXPECT_LT(fs::last_write_time(report), long_ago + std::chrono::minutes(1)) << "not at every look";
  now_ += kReportEvery;
  LookOnce(root);
  EXPECT_GT(fs::last_write_time(report), long_ago + std::chrono::minutes(1));
  fs::remove(report);
  now_ += kReportEvery;
  LookOnce(root);
  EXPECT_EQ(Report(), ReportText({"g1"}));
}

// It is kept by a file descriptor, and the one before it for a moment only.
TEST_F(ServedRootTest, ManySwitchesLeaveNothingOpen) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  for (int i = 0; i < 50; ++i) {
    Switch(i % 2 == 0 ? "g1" : "g2");
    LookOnce(root);
    ASSERT_EQ(InSession("/MARK"), i % 2 == 0 ? "g1" : "g2");
  }
  EXPECT_LE(open_files(), before + 1);
}

// A link that is not there means that nobody gets in: it is made as soon as it can be.
TEST_F(ServedRootTest, ALinkThatCannotBeMadeIsTriedAgain) {
  Switch("g1");
  ServedRoot root = Begin();
  fs::create_directories(links_ + "/current.next/in-the-way");
  LookOnce(root);
  EXPECT_FALSE(root.stands());
  fs::remove_all(links_ + "/current.next");
  LookOnce(root);
  EXPECT_TRUE(root.ready());
  EXPECT_EQ(InSession("/MARK"), "g1");
}

TEST_F(ServedRootTest, AVolumeThatAnswersWithAnErrorIsNotReady) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  fs::remove(volume_ + "/meta/current");
  fs::create_symlink("nowhere", volume_ + "/meta/current");  // O_NOFOLLOW: an error that is not ENOENT
  LookOnce(root);
  EXPECT_FALSE(root.ready());
  EXPECT_EQ(InSession("/MARK"), "g1");
  fs::remove(volume_ + "/meta/current");
  Switch("g2");
  LookOnce(root);
  EXPECT_TRUE(root.ready());
}

// A FIFO that nobody writes to stands for a volume that hangs.
TEST_F(ServedRootTest, AVolumeThatDoesNotAnswerIsNotReadyAndHoldsUpNobody) {
  Switch("g1");
  ServedRoot root = Begin();
  LookOnce(root);
  fs::rename(volume_ + "/meta/current", volume_ + "/meta/kept");
  ASSERT_EQ(mkfifo((volume_ + "/meta/current").c_str(), 0600), 0);
  now_ += std::chrono::seconds(2);
  root.Serve(now_);
  EXPECT_TRUE(root.ready());
  now_ += std::chrono::seconds(11);
  root.Serve(now_);
  EXPECT_FALSE(root.ready());
  EXPECT_EQ(InSession("/MARK"), "g1") << "what is mounted stays";
  std::vector<pollfd> waiting;
  root.AddTo(&waiting);
  ASSERT_EQ(waiting.size(), 1u);
  const int writer = open((volume_ + "/meta/current").c_str(), O_WRONLY);
  fs::rename(volume_ + "/meta/kept", volume_ + "/meta/current");
  close(writer);
  Finish(root);
  EXPECT_TRUE(root.ready());
}

}  // namespace
}  // namespace capstan::entry
