// What the library reads of a slurmdbd. Run by accounting_test.py, which has made a job of that id and ended it.
#include <gmock/gmock.h>

#include "base/text.h"
#include "real_slurm.h"

namespace capstan::slurm {
namespace {

class RealAccounting : public RealSlurm {
 protected:
  void SetUp() override {}
};

TEST_F(RealAccounting, AJobThatIsOverIsReadAsSlurmdbdHasIt) {
  const int64_t id = ParseInt(Env("JOB")).value();
  const auto jobs = Await(client.BookedJobs(id, Soon()));
  ASSERT_TRUE(jobs) << jobs.error().message();
  ASSERT_EQ(jobs->size(), 1u);
  const BookedJob& job = jobs->front();
  EXPECT_EQ(job.id, id);
  EXPECT_EQ(job.name, "booked");
  EXPECT_EQ(job.user, "root");
  EXPECT_EQ(job.account, "physics");
  EXPECT_EQ(job.partition, "all");
  EXPECT_EQ(job.cluster, "trial");
  EXPECT_EQ(job.nodes, "");
  EXPECT_TRUE(job.state.Has(JobFlag::kCancelled)) << job.state.ToString();
  ASSERT_TRUE(job.submit_time && job.end_time);
  EXPECT_LE(*job.submit_time, *job.end_time);
  const auto none = Await(client.BookedJobs(4711, Soon()));
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->empty());
}

TEST_F(RealAccounting, SharesAreThoseOfAccountsAndTheirUsers) {
  const auto shares = Await(client.Shares(Soon()));
  ASSERT_TRUE(shares) << shares.error().message();
  const auto find = [&](std::string_view account, std::string_view user) {
    const auto at =
        std::ranges::find_if(shares->records, [&](const Share& s) { return s.account == account && s.user == user; });
    return at == shares->records.end() ? nullptr : &*at;
  };
  const Share* account = find("physics", "");
  const Share* user = find("physics", "root");
  ASSERT_TRUE(find("root", "") && account && user);
  EXPECT_EQ(account->parent, "root");
  EXPECT_EQ(account->shares, std::optional<int64_t>(30));
  EXPECT_NEAR(account->shares_ratio.value_or(-1), 30.0 / 31, 0.01) << "beside root's own user, who has one share";
  EXPECT_FALSE(account->fair_share);
  EXPECT_TRUE(user->fair_share);
  EXPECT_EQ(user->usage, 0);
}

}  // namespace
}  // namespace capstan::slurm
