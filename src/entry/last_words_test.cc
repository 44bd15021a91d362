#include "entry/last_words.h"

#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

std::string QuoteOf(std::string_view said, size_t limit = 200, const std::string& conf = "") {
  LastWords words;
  for (size_t at = 0; at < said.size(); at += 7) words.Hear(said.substr(at, 7));
  return words.Quote({.files = {{"slurm.conf", conf}}}, limit);
}

TEST(LastWords, QuoteTheFatalLineAndTheErrorBeforeIt) {
  EXPECT_EQ(QuoteOf("slurmctld: slurmctld version 26.05 started\n"
                    "slurmctld: error: Configured MailProg is invalid\n"
                    "[2026-11-27T07:00:00.000] slurmctld: error: unrecognized key: Nonsense\n"
                    "slurmctld: debug: no matter\n"
                    "slurmctld: fatal: Unable to process configuration file\n"),
            "error: unrecognized key: Nonsense; fatal: Unable to process configuration file");
  EXPECT_EQ(QuoteOf("error: long enough to be left out\nfatal: no\n", 20), "fatal: no");
  EXPECT_LE(QuoteOf("fatal: longer than it may be\n", 12).size(), 12U);
}

TEST(LastWords, AreTheLastErrorOrLineOfWhoDoesNotSayFatal) {
  EXPECT_EQ(QuoteOf("error: one\nsegmentation fault\n"), "error: one");
  EXPECT_EQ(QuoteOf("hello\nbye\n\n"), "bye");
  EXPECT_EQ(QuoteOf(""), "");
}

TEST(LastWords, HoldNoPassword) {
  const std::string conf =
      "ClusterName=a\nJobCompPass=two words\\#x\nStoragePass = \\\n  next\\\nStorageUser=me "
      "AccountingStoragePass=\"third one\"\n";
  for (const char* said :
       {"Parse error in line 2: \" words\\#x\"", "Parse error: two words#x", "at next", "third", "\"third one\""}) {
    const std::string quote = QuoteOf("fatal: " + std::string(said) + "\n", 200, conf);
    for (const char* secret : {"two", "words", "next", "third", "one"}) EXPECT_FALSE(quote.contains(secret)) << quote;
    EXPECT_TRUE(quote.contains("***")) << quote;
  }
  EXPECT_EQ(QuoteOf("fatal: bad line: UserPassword=never seen before\n"), "fatal: bad line: UserPassword=***");
  EXPECT_EQ(QuoteOf("fatal: ClusterName=a is wrong\n", 200, conf), "fatal: ClusterName=a is wrong");
}

}  // namespace
}  // namespace capstan::entry
