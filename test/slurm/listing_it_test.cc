// What `capstan slurm` shows of real daemons.
#include <gmock/gmock.h>

#include <filesystem>

#include "json/value.h"
#include "listing/listing.h"
#include "real_slurm.h"

namespace capstan::slurm {
namespace {

using listing::Kind;
using ::testing::HasSubstr;
using ::testing::Not;

class RealListing : public RealSlurm {
 protected:
  json::Value Json(Kind kind, const std::vector<std::string>& names = {}) {
    auto reader = listing::Reader::Make(client, kind, listing::Format::kJson, names);
    if (!reader) return ADD_FAILURE() << reader.error().message(), json::Value();
    std::string text;
    listing::Options options;
    options.out = [&text](const std::string& more) { return text += more, true; };
    const auto listed = Await(listing::List(loop, *std::move(reader), std::move(options)));
    EXPECT_TRUE(listed) << listed.error().message();
    const auto parsed = json::Parse(text);
    return parsed ? *parsed : (ADD_FAILURE() << text, json::Value());
  }
};

TEST_F(RealListing, ShowsEachKindOfRecord) {
  const std::string id = RunJob("w-0", "-n1 -t 90");
  const json::Value node = Json(Kind::kNodes, {"w-[0-0]"}).at(0);
  EXPECT_EQ(node.at("name"), "w-0");
  EXPECT_GT(node.at("cpus").to_number<int>(), 0);
  EXPECT_THAT(json::FindText(node, {"version"}), HasSubstr("."));

  const json::Value job = Json(Kind::kJobs, {id}).at(0);
  EXPECT_EQ(std::to_string(job.at("job_id").as_int64()), id);
  EXPECT_EQ(job.at("job_state").at(0), "RUNNING");
  EXPECT_EQ(job.at("time_limit"), 90);
  EXPECT_EQ(job.at("nodes"), "w-0");

  const json::Value partition = Json(Kind::kPartitions, {"all"}).at(0);
  EXPECT_EQ(partition.at("state"), "UP");
  EXPECT_EQ(partition.at("nodes"), 2);
  EXPECT_GT(partition.at("cpus").to_number<int>(), 0);
  EXPECT_EQ(partition.at("time_limit"), "infinite");

  EXPECT_TRUE(Json(Kind::kReservations).as_array().empty());
  EXPECT_EQ(Json(Kind::kControllers).at(0).at("responding"), true);
  EXPECT_GT(Json(Kind::kStatistics).as_array().size(), 50u);
}

// The program beside this one, as its users call it.
class RealCommand : public RealSlurm {
 protected:
  int Run(const std::string& arguments) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "capstan";
    int status = -1;
    output = Shell("SLURM_JWT=SLURM_JWT=" + token + " " + program + " slurm " + arguments + " 2>&1", &status);
    return status;
  }

  const std::string token{Sign(10min)->Reveal()};
  std::string output;
};

TEST_F(RealCommand, ShowsTablesAndSaysWhatIsWrong) {
  const std::string server = " --server $SLURMRESTD_URL";
  EXPECT_EQ(Run("nodes" + server + " 'w-[0-1]'"), 0) << output;
  EXPECT_THAT(output, HasSubstr("\nw-1   IDLE+DYNAMIC_NORM "));
  EXPECT_EQ(Run(server + " ping"), 0) << output;
  EXPECT_THAT(output, HasSubstr("primary     yes"));
  EXPECT_EQ(Run("diag -o json" + server), 0) << output;
  EXPECT_THAT(output, HasSubstr("{\"name\":\"jobs_submitted\",\"value\":"));

  EXPECT_EQ(Run("nodes" + server + " w-7"), 1);
  EXPECT_THAT(output, HasSubstr("capstan: Slurm does not know w-7"));
  EXPECT_EQ(Run("jobs --server http://192.0.2.1:1"), 1);
  EXPECT_THAT(output, HasSubstr("capstan: Slurm cannot be asked: "));
  for (const char* wrong : {"", "nodes -o xml", "ping more", "jobs seven", "nodes --every 1ms",
                            "nodes --ca-file /nowhere", "nodes --token-file /nowhere"})
    EXPECT_EQ(Run(wrong + server), std::string(wrong).ends_with("token-file /nowhere") ? 1 : 2)
        << wrong << ": " << output;
  EXPECT_THAT(output, Not(HasSubstr(token)));
}

}  // namespace
}  // namespace capstan::slurm
