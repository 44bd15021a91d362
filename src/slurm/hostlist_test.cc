#include "slurm/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace capstan::slurm {
namespace {

using ::testing::HasSubstr;

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
  };
  for (const auto& c : cases) {
    const auto hosts = ExpandHostlist(c.text);
    ASSERT_FALSE(hosts) << c.text;
    EXPECT_EQ(hosts.error().code(), Code::kInvalid);
    EXPECT_THAT(hosts.error().message(), HasSubstr(c.says));
    EXPECT_THAT(hosts.error().message(), HasSubstr(c.text));
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

}  // namespace
}  // namespace capstan::slurm
