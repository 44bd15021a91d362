#include "slurm/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "base/text.h"

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ExpandHostlist, ReadsWhatScontrolReads) {
  const struct {
    const char* text;
    const char* hosts;  // blank-separated
  } cases[] = {
      {"", ""},
      {"w-0", "w-0"},
      {"w-[0-3,7]", "w-0 w-1 w-2 w-3 w-7"},
      {"w-[0-1],x[08-10]", "w-0 w-1 x08 x09 x10"},
      {"a,b,a", "a b a"},
      {"n[9-11]", "n9 n10 n11"},
      {"n[098-101]", "n098 n099 n100 n101"},
      {"rack[0-1]n[00-01]", "rack0n00 rack0n01 rack1n00 rack1n01"},
      {"n[1-2]-ib", "n1-ib n2-ib"},
      {"n[5]", "n5"},
      {"[1-2]", "1 2"},
      {"a, b", "a b"},
      {"a,,b,", "a b"},
      {"n[3,1]", "n3 n1"},
  };
  for (const auto& c : cases) {
    const auto hosts = ExpandHostlist(c.text);
    ASSERT_TRUE(hosts) << c.text;
    EXPECT_EQ(Join(*hosts, " "), c.hosts) << c.text;
  }
}

TEST(ExpandHostlist, RefusesWithOneSentence) {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"n[1-3", "not closed"},
      {"n1]", "no '['"},
      {"n[]", "numbers"},
      {"n[a-b]", "numbers"},
      {"n[3-1]", "backwards"},
      {"n[1-]", "numbers"},
      {"n[-1]", "numbers"},
      {"n[1--2]", "numbers"},
      {"n[1-2,]", "numbers"},
      {"a b", "blank"},
      {"n[[1]]", "numbers"},
      {"n[0-999999999]", "too many"},
      {"n[0-999]m[0-999]", "too many"},
      {"n[99999999999999999999]", "numbers"},
      {"[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
       "brackets"},
  };
  for (const auto& c : cases) {
    const auto hosts = ExpandHostlist(c.text);
    ASSERT_FALSE(hosts) << c.text;
    EXPECT_EQ(hosts.error().code(), Code::kInvalid);
    EXPECT_THAT(hosts.error().message(), HasSubstr(c.says));
    EXPECT_THAT(hosts.error().message(), HasSubstr(std::string_view(c.text).substr(0, 60)));
    EXPECT_EQ(Hostlist::Parse(c.text).error().message(), hosts.error().message());
  }
}

TEST(ExpandHostlist, TheLimitIsExact) {
  EXPECT_EQ(ExpandHostlist("n[0-9]", 10)->size(), 10u);
  EXPECT_FALSE(ExpandHostlist("n[0-10]", 10));
  EXPECT_EQ(ExpandHostlist("a,n[0-8]", 10)->size(), 10u);
  EXPECT_FALSE(ExpandHostlist("a,n[0-9]", 10));
  EXPECT_FALSE(ExpandHostlist("a,b,c", 2));
  EXPECT_FALSE(ExpandHostlist("n[18446744073709551615]", 10));
  EXPECT_FALSE(ExpandHostlist("n[0-999999999999999999]", 10));
}

TEST(CompressHostlist, WritesRangesInOneOrder) {
  const struct {
    std::vector<std::string> names;
    const char* text;
  } cases[] = {
      {{}, ""},
      {{"login"}, "login"},
      {{"w-7", "w-0", "w-2", "w-1", "w-3"}, "w-[0-3,7]"},
      {{"w-3", "w-3"}, "w-3"},
      {{"n10", "n9"}, "n[9-10]"},
      {{"x08", "x09", "x10", "x8"}, "x[8,08-10]"},
      {{"b1", "a1", "a2"}, "a[1-2],b1"},
      {{"rack10n1", "rack2n1", "rack2n2"}, "rack2n[1-2],rack10n1"},
      {{"n1-ib", "n2-ib"}, "n1-ib,n2-ib"},
      {{"n", "n0"}, "n,n0"},
      {{"x1234567890123456789012345"}, "x1234567890123456789012345"},
  };
  for (const auto& c : cases) EXPECT_EQ(CompressHostlist(c.names), c.text);
}

std::vector<std::string> RandomNames(Random& random) {
  static constexpr const char* kStems[] = {"w-", "n", "rack1n", "rack02n", "gpu-a100-", "x"};
  std::vector<std::string> names(random.Below(40));
  for (std::string& name : names) {
    name = kStems[random.Below(std::size(kStems))];
    if (random.Percent(90)) {
      std::string number = std::to_string(random.Below(random.Percent(50) ? 12 : 1200));
      if (random.Percent(40) && number.size() < 3) number.insert(0, 3 - number.size(), '0');
      name += number;
    }
    if (random.Percent(10)) name += "-ib";
  }
  return names;
}

TEST(Hostlist, ExpandUndoesCompressForAnySet) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    const HostSet set(RandomNames(random));
    const auto back = ExpandHostlist(set.ToString());
    ASSERT_TRUE(back) << "seed " << seed << ": " << set.ToString();
    EXPECT_EQ(*back, set.names()) << "seed " << seed << ": " << set.ToString();
  }
}

TEST(Hostlist, TheTextDoesNotDependOnTheOrderOfTheNames) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    auto names = RandomNames(random);
    const std::string text = CompressHostlist(names);
    for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[random.Below(i)]);
    EXPECT_EQ(CompressHostlist(names), text) << "seed " << seed;
  }
}

TEST(Hostlist, HostLessIsATotalOrder) {
  Random random(7);
  std::vector<std::string> names;
  while (names.size() < 60) std::ranges::move(RandomNames(random), std::back_inserter(names));
  names.insert(names.end(), {"01", "1", "", "0", "00", "a01b1", "a1b01", "a1b1"});
  for (const auto& a : names)
    for (const auto& b : names) {
      EXPECT_EQ(HostLess(a, b) + HostLess(b, a), a == b ? 0 : 1) << a << " " << b;
      for (const auto& c : names)
        if (HostLess(a, b) && HostLess(b, c)) ASSERT_TRUE(HostLess(a, c)) << a << " " << b << " " << c;
    }
}

TEST(HostSet, KnowsItsNames) {
  const HostSet a = *HostSet::Parse("w-[0-4]");
  EXPECT_TRUE(a.Contains("w-4"));
  EXPECT_FALSE(a.Contains("w-04"));
  EXPECT_EQ(*HostSet::Parse("w-1,w-1"), *HostSet::Parse("w-1"));
}

TEST(Hostlist, TenThousandNodesStayShort) {
  std::vector<std::string> names;
  for (int i = 0; i < 10000; ++i) names.push_back("worker-" + std::to_string(i));
  EXPECT_EQ(CompressHostlist(names), "worker-[0-9999]");
}

// A text of some megabytes stood for terabytes of names.
TEST(ExpandHostlist, RefusesNamesThatAreTooLongTogether) {
  const std::string stem(1'000'000, 'x');
  for (const std::string& text : {stem + "[0-99999]", "n[0-99999]" + stem, "a," + stem + "[0-99]," + stem}) {
    const auto hosts = ExpandHostlist(text);
    ASSERT_FALSE(hosts);
    EXPECT_THAT(hosts.error().message(), HasSubstr("too long"));
    EXPECT_LT(hosts.error().message().size(), 200u);
  }
  EXPECT_TRUE(ExpandHostlist("node-of-a-cluster-with-long-names-[00000-99999].example.com"));
}

TEST(Hostlist, CountsItsNamesAndTakesNoMoreThanItsText) {
  EXPECT_EQ(Hostlist::Parse("")->size(), 0u);
  EXPECT_EQ(Hostlist::Parse("a,n[1-99999]")->size(), 100'000u);
  EXPECT_EQ(Hostlist::Parse("rack[0-1]n[00-03,2],a,a")->size(), 12u);
  EXPECT_FALSE(Hostlist::Parse("a,b,c", 2));
}

// --- HostIndex -------------------------------------------------------------------------------------------------------

std::vector<std::string> Missing(HostIndex& index, std::string_view list) {
  std::vector<std::string> names;
  const auto tell = [&](const std::string& name) {
    names.push_back(name);
    return true;
  };
  EXPECT_TRUE(index.ForEachMissing(*Hostlist::Parse(list), tell)) << list;
  return names;
}

std::vector<std::string> Twice(HostIndex& index, std::string_view list) {
  std::vector<std::string> names;
  const auto tell = [&](const std::string& name) {
    names.push_back(name);
    return true;
  };
  EXPECT_TRUE(index.Add(*Hostlist::Parse(list), tell)) << list;
  return names;
}

TEST(HostIndex, TellsNamesThatAreThereHoweverTheyAreWritten) {
  HostIndex index;
  EXPECT_THAT(Twice(index, "n[1-3],login,rack[1-2]n[08-10]-ib"), IsEmpty());
  EXPECT_THAT(Twice(index, "n[3-5],n2"), ElementsAre("n3", "n2"));
  EXPECT_THAT(Twice(index, "n[02-03]"), IsEmpty()) << "zeros count";
  EXPECT_THAT(Twice(index, "rack1n[9-10]-ib,login"), ElementsAre("rack1n10-ib", "login"));
  EXPECT_THAT(Twice(index, "x[1,1]"), ElementsAre("x1"));
  EXPECT_THAT(Missing(index, "n[0-6],n9,login,rack[2-3]n08-ib"), ElementsAre("n0", "n6", "n9", "rack3n08-ib"));
  index.AddName("n6");
  EXPECT_THAT(Missing(index, "n[4-7]"), ElementsAre("n7"));
}

TEST(HostIndex, DigitsMayStandOnBothSidesOfABracket) {
  HostIndex index;
  EXPECT_THAT(Twice(index, "n1[0-9]"), IsEmpty());
  EXPECT_THAT(Twice(index, "n[1-2]5"), ElementsAre("n15"));
  EXPECT_THAT(Twice(index, "n[1-2][0-5]"), ElementsAre("n10", "n11", "n12", "n13", "n14", "n15", "n25"));
  EXPECT_THAT(Missing(index, "n[9-30]"), ElementsAre("n9", "n26", "n27", "n28", "n29", "n30"));
  EXPECT_THAT(Twice(index, "n12345678901234567[89-91],n1234567890123456789"), ElementsAre("n1234567890123456789"));
  EXPECT_THAT(Twice(index, "m1[099999999999999998-100000000000000001]"), IsEmpty());
  EXPECT_THAT(Twice(index, "m1099999999999999999,m1100000000000000000,m1100000000000000002"),
              ElementsAre("m1099999999999999999", "m1100000000000000000"));
}

std::string RandomList(Random& random) {
  static constexpr const char* kTexts[] = {"n", "n1", "n0", "x-", "", "7"};
  static constexpr const char* kBrackets[] = {"[0-3]", "[08-12]", "[1,5,3]", "[7-11]", "[1-2]", "[001]"};
  std::string list;
  for (uint64_t elements = 1 + random.Below(3); elements > 0; --elements) {
    std::string name;
    for (uint64_t parts = 1 + random.Below(3); parts > 0; --parts) {
      name += kTexts[random.Below(std::size(kTexts))];
      if (random.Percent(70)) name += kBrackets[random.Below(std::size(kBrackets))];
    }
    if (random.Percent(20)) name += "-ib";
    list += (list.empty() ? "" : ",") + name;
  }
  return list;
}

TEST(HostIndex, AgreesWithTheNamesWrittenOut) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    HostIndex index;
    std::set<std::string> names;
    for (int i = 0; i < 4; ++i) {
      const std::string list = RandomList(random);
      const auto written_out = *ExpandHostlist(list);
      std::vector<std::string> missing, twice;
      for (const std::string& name : written_out)
        if (!names.contains(name)) missing.push_back(name);
      EXPECT_EQ(Missing(index, list), missing) << "seed " << seed << ": " << list;
      for (const std::string& name : written_out)
        if (!names.insert(name).second) twice.push_back(name);
      EXPECT_EQ(Twice(index, list), twice) << "seed " << seed << ": " << list;
      EXPECT_EQ(Hostlist::Parse(list)->size(), written_out.size()) << list;
    }
    EXPECT_EQ(index.Names(), std::vector<std::string>(names.begin(), names.end())) << "seed " << seed;
    EXPECT_EQ(index.Names(names.size() - 1), std::nullopt);
  }
}

// Eight lines of this kind took 46 seconds and 219 MB.
TEST(HostIndex, KeepsRangesAndNoNames) {
  HostIndex index;
  for (int rack = 0; rack < 10'000; ++rack)
    EXPECT_THAT(Twice(index, "node-number-of-rack-" + std::to_string(rack) + "-[1-99999]"), IsEmpty());
  EXPECT_EQ(index.ranges(), 10'000u);
  EXPECT_EQ(index.Names(), std::nullopt);
  EXPECT_THAT(Missing(index, "node-number-of-rack-9999-[99990-99999],node-number-of-rack-10000-7"),
              ElementsAre("node-number-of-rack-10000-7"));
  size_t told = 0;
  const auto enough = [&](const std::string&) { return ++told < 3; };
  EXPECT_TRUE(index.Add(*Hostlist::Parse("node-number-of-rack-0-[1-99999]"), enough));
  EXPECT_EQ(told, 3u);
}

TEST(HostIndex, WritesOutNoMoreThanItHasRoomFor) {
  const auto several = Hostlist::Parse("n[0-99]-ib[0-9],n[0-99]x");
  HostIndex roomy;
  EXPECT_TRUE(roomy.Add(*several));
  EXPECT_EQ(roomy.ranges(), 101u);
  HostIndex small(1000);
  EXPECT_FALSE(small.Add(*several));
  EXPECT_LT(small.ranges(), 20u);
  HostIndex rows(10'000);
  EXPECT_FALSE(rows.Add(*Hostlist::Parse("n[0-9]x[1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39]")))
      << "each range counts";
  const auto plain = Hostlist::Parse("n[0-99]");
  EXPECT_FALSE(small.Add(*plain)) << "it would not be all";
  EXPECT_FALSE(small.ForEachMissing(*plain, [](const std::string&) { return true; }));
  HostIndex each(1000);
  EXPECT_TRUE(each.Add(*plain)) << "a plain range needs no room";
  EXPECT_FALSE(each.ForEachMissing(*Hostlist::Parse("n[0-99]0"), [](const std::string&) { return true; }));
}

}  // namespace
}  // namespace capstan::slurm
