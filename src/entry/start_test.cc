#include "entry/start.h"

#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

constexpr const char* kGood = "ClusterName=a\nPartitionName=p\n";

Configuration Of(const std::string& text) { return {.files = {{"slurm.conf", text}}}; }

Kept KeptOf(const std::string& text) {
  return {.configuration = Of(text), .since = *ParseRfc3339("2026-11-23T05:00:00Z")};
}

// The rows of the table in start.h, in its order.
TEST(DecideStart, StartsWithWhatRanBeforeOrWaits) {
  const Configuration bad = Of("ClusterName=a\nNonsense=1\n");
  const std::string told = "slurmctld does not start with it: fatal: no", since = "2026-11-23T05:00:00Z";
  struct Case {
    const char* what;
    StartSeen seen;
    StartDecision expected;
  };
  const Case cases[] = {
      {"not tried yet", {.mounted = bad, .kept = KeptOf(kGood)}, {StartWith::kMounted, ""}},
      {"nothing ran before",
       {.mounted = bad, .mounted_said = "fatal: no"},
       {StartWith::kNone, told + " (there is none that ran before)"}},
      {"what is kept is cut off",
       {.mounted = bad, .kept = Fail(Code::kInvalid, "it is cut off"), .mounted_said = "fatal: no"},
       {StartWith::kNone, told + " (the one that ran before is not used: it is cut off)"}},
      {"what is kept is another cluster's",
       {.mounted = bad, .kept = KeptOf("ClusterName=b\n"), .mounted_said = "fatal: no"},
       {StartWith::kNone, told + " (the one that ran before is not used: it has another ClusterName)"}},
      {"it ran before, and something else is wrong now",
       {.mounted = bad, .kept = Kept{.configuration = bad}, .mounted_said = "fatal: no"},
       {StartWith::kNone, told + " (it is the one that ran before)"}},
      {"it stands by",
       {.mounted = bad, .kept = KeptOf(kGood), .another_writes = true, .mounted_said = "fatal: no"},
       {StartWith::kNone, told + " (the one that ran before is not used: another slurmctld is in charge)"}},
      {"what ran before is not tried yet",
       {.mounted = bad, .kept = KeptOf(kGood), .mounted_said = "fatal: no"},
       {StartWith::kKept, told + "; it was started with the one that is live since " + since}},
      {"neither starts",
       {.mounted = bad, .kept = KeptOf(kGood), .mounted_said = "fatal: no", .kept_said = "fatal: nor that"},
       {StartWith::kNone, told + "; nor with the one that was live since " + since + ": fatal: nor that"}},
  };
  for (const Case& c : cases) {
    const StartDecision decision = DecideStart(c.seen);
    EXPECT_EQ(decision.with, c.expected.with) << c.what;
    EXPECT_EQ(decision.told, c.expected.told) << c.what;
  }
}

// slurmctld waited for a minute for the file, answered nobody, and was killed by its startup probe.
TEST(DecideStart, DoesNotTryWhatIncludesAFileThatIsNotThere) {
  StartSeen seen{.mounted = Of("ClusterName=a\nInclude more.conf\n"), .kept = KeptOf(kGood)};
  EXPECT_EQ(DecideStart(seen).with, StartWith::kKept);
  EXPECT_TRUE(DecideStart(seen).told.contains("it includes more.conf, which is not there"));
  seen.kept = std::nullopt;
  EXPECT_EQ(DecideStart(seen).with, StartWith::kNone);
  seen.mounted.files["more.conf"] = "";
  EXPECT_EQ(DecideStart(seen).with, StartWith::kMounted);
}

// jwks.json is mounted and never kept.
TEST(DecideStart, KeysMakeNoOtherConfiguration) {
  StartSeen seen{.mounted = Of(kGood), .kept = KeptOf(kGood), .mounted_said = "fatal: no"};
  seen.mounted.files["jwks.json"] = "{}";
  EXPECT_EQ(DecideStart(seen).with, StartWith::kNone);
}

}  // namespace
}  // namespace capstan::entry
