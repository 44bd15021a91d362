#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include "base/hash.h"
#include "base/log.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/time.h"

namespace capstan {
namespace {

TEST(Time, Rfc3339RoundTripsAndRejectsWhatIsNotATime) {
  const auto time = ParseRfc3339("2026-11-21T02:45:59Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(FormatRfc3339(*time), "2026-11-21T02:45:59Z");
  EXPECT_EQ(ParseRfc3339("2026-11-21T04:45:59+02:00"), time);
  EXPECT_EQ(FormatRfc3339Micro(*time + 1500us), "2026-11-21T02:45:59.001500Z");
  EXPECT_EQ(ParseRfc3339("2026-11-21T02:45:59.0015Z"), *time + 1500us);
  for (const char* bad :
       {"", "2026-11-21", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T02:45:59",
        "2026-11-21T02:45:59.Z", "2026-11-21T02:45:59Zx", "-026-11-21T02:45:59Z"}) {
    EXPECT_FALSE(ParseRfc3339(bad)) << bad;
  }
}

// Go's zero time, and the end of a certificate that has none: what is between them and now must fit.
TEST(Time, WhatOthersSayIsNearEnoughToBeSubtracted) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Time first = *ParseRfc3339("0001-01-01T00:00:00Z"), last = *ParseRfc3339("9999-12-31T23:59:59Z");
  EXPECT_EQ(FormatRfc3339(first), "1900-01-01T00:00:00Z");
  EXPECT_EQ(FormatRfc3339(last), "2190-01-01T00:00:00Z");
  EXPECT_GT(last - first, Duration(0));
  EXPECT_EQ(ParseRfc3339("1900-01-01T00:00:00+23:59"), first);
  EXPECT_EQ(ParseRfc3339("1899-12-31T23:59:59-01:00"), first + 3599s);
  EXPECT_EQ(ParseRfc3339("2189-12-31T23:59:59.5-23:59"), last);
  EXPECT_EQ(ParseRfc3339("2190-01-01T00:00:00+00:01"), last - 1min);
  EXPECT_EQ(FromUnixSeconds(kMost), last);
  EXPECT_EQ(FromUnixSeconds(-kMost - 1), first);
}

TEST(Time, WhatOthersSayIsAsMuchAsFits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(SecondsOf(-7), -7s);
  EXPECT_EQ(MinutesOf(7), 7min);
  EXPECT_EQ(FromUnixSeconds(7), Time(7s));
  EXPECT_GT(SecondsOf(kMost), 24h * 365 * 290);
  EXPECT_LT(MinutesOf(-kMost - 1), -24h * 365 * 290);
  EXPECT_EQ(Later(Time(1s), -3s), Time(-2s));
  EXPECT_EQ(Later(Time(1s), Duration::max()), Time::max());
  EXPECT_EQ(Later(Time(-3s), Duration::min()), Time::min());
  EXPECT_EQ(Later(FromUnixSeconds(kMost), MinutesOf(kMost)), Time::max());
  EXPECT_EQ(FormatRfc3339(Time::min()), "1677-09-21T00:12:43Z");
  EXPECT_EQ(FormatRfc3339(Time::max()), "2262-04-11T23:47:16Z");
  EXPECT_EQ(FormatDuration(Duration::min()), "-" + FormatDuration(Duration::max()));
}

TEST(Time, DurationsReadLargestUnitFirst) {
  EXPECT_EQ(FormatDuration(250ms), "250ms");
  EXPECT_EQ(FormatDuration(90s), "1m30s");
  EXPECT_EQ(FormatDuration(26h), "1d2h");
  EXPECT_EQ(FormatDuration(-5s), "-5s");
  EXPECT_EQ(FormatDuration(0s), "0ms");
}

TEST(Hash, KnownVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Fnv64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv32("a"), 0x050c5d7eu);
}

TEST(Hash, Base64RoundTripsEveryLength) {
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    EXPECT_EQ(FromBase64(Base64(bytes)), bytes) << length;
    bytes += static_cast<char>(length * 37 + 200);
  }
  EXPECT_EQ(Base64("\xfb\xff"), "+/8=");
  EXPECT_EQ(Base64Url("\xfb\xff"), "-_8");
  EXPECT_EQ(Base64Url(""), "");
  for (const char* bad : {"a", "ab=c", "====", "a b=", "ab==="}) EXPECT_FALSE(FromBase64(bad)) << bad;
}

TEST(Text, JsonQuotedEscapesAndReplacesBadUtf8) {
  EXPECT_EQ(JsonQuoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(JsonQuoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(JsonQuoted("\xff\xc3"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(JsonQuoted("\xed\xa0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate is not a character";
}

TEST(Text, SplitKeepsEmptyPiecesAndWordsDoesNot) {
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Words("  a\t b\n"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(Trim(" \t x y \n"), "x y");
  EXPECT_EQ(ParseInt("-12"), -12);
  EXPECT_FALSE(ParseInt("12x"));
  EXPECT_FALSE(ParseInt("99999999999999999999"));
}

TEST(Text, PercentCodingRoundTripsEveryByteAndRefusesHalfAnEscape) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += char(byte);
  EXPECT_EQ(PercentDecoded(PercentEncoded(bytes)), bytes);
  EXPECT_EQ(PercentEncoded("a/b é~"), "a%2Fb%20%C3%A9~");
  EXPECT_EQ(PercentEncoded("a/b~", "/"), "a/b%7E");
  EXPECT_EQ(PercentDecoded("%2f%2F+"), "//+");
  for (const char* bad : {"%", "a%2", "%zz", "%2x", "%-1", "%+1"}) EXPECT_FALSE(PercentDecoded(bad)) << bad;
}

Result<int> Half(int number) {
  if (number % 2 != 0) return Fail(Code::kInvalid, "7 is odd, must be even");
  return number / 2;
}

Result<int> Quarter(int number) {
  CAPSTAN_TRY(const int half, Half(number));
  CAPSTAN_TRY(const int quarter, Half(half));
  return quarter;
}

Result<void> Check(int number) {
  CAPSTAN_CHECK_OK(Half(number), "spec.number");
  return {};
}

TEST(Result, TryReturnsTheErrorAndCheckAddsContext) {
  EXPECT_EQ(Quarter(12), Result<int>(3));
  EXPECT_EQ(Quarter(14).error().code(), Code::kInvalid);
  EXPECT_EQ(Check(7).error().message(), "spec.number: 7 is odd, must be even");
  EXPECT_TRUE(Check(8));
}

TEST(Secret, DigestTellsEqualFromDifferentWithoutShowingBytes) {
  const Secret a("key"), b("key"), c("other");
  EXPECT_EQ(a.Digest(), b.Digest());
  EXPECT_NE(a.Digest(), c.Digest());
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  EXPECT_EQ(a.Digest().find("key"), std::string::npos);
  static_assert(!std::is_convertible_v<Secret, log::Value>);
  static_assert(!std::is_convertible_v<Secret, std::string_view>);
}

TEST(Random, SameSeedSameNumbersAndJitterStaysInside) {
  Random a(7), b(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.Next(), b.Next());
    const Duration jittered = a.Jittered(10s, 0.25);
    b.Jittered(10s, 0.25);
    EXPECT_GE(jittered, 7500ms);
    EXPECT_LE(jittered, 12500ms);
  }
}

TEST(Log, WritesOneLineOfJsonFromItsLevelOn) {
  log::SetLevel(log::Level::kInfo);
  testing::internal::CaptureStderr();
  log::Debug("too little to tell");
  log::Info("child \"applied\"", {{"key", "slurm/main"}, {"took_ms", 12}, {"again", false}});
  log::SetLevel(log::Level::kOff);
  log::Error("to nobody");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(written.starts_with("{\"ts\":\"")) << written;
  EXPECT_TRUE(
      written.ends_with("\"level\":\"info\",\"msg\":\"child \\\"applied\\\"\",\"key\":\"slurm/main\",\"took_ms\":12,"
                        "\"again\":false}\n"))
      << written;
  EXPECT_EQ(std::ranges::count(written, '\n'), 1);
}

TEST(Log, LinesOfSeveralThreadsStayWhole) {
  // Longer than what a pipe takes at once.
  const std::string message(size_t(200) << 10, 'x');
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const int before = dup(STDERR_FILENO);
  dup2(pipe_ends[1], STDERR_FILENO);
  close(pipe_ends[1]);
  log::SetLevel(log::Level::kInfo);
  std::string written;
  std::jthread reader([&] {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;)
      written.append(buffer.data(), size_t(got));
  });
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) writers.emplace_back([&] { log::Info(message); });
  }
  log::SetLevel(log::Level::kOff);
  dup2(before, STDERR_FILENO);
  close(before);
  reader.join();
  close(pipe_ends[0]);
  EXPECT_EQ(std::ranges::count(written, '\n'), 4);
  for (std::string_view rest = written; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    EXPECT_TRUE(line.starts_with("{\"ts\":")) << line.substr(0, 40);
    EXPECT_TRUE(line.ends_with(message + "\"}"));
  }
}

TEST(Log, KnowsItsLevelsByName) {
  EXPECT_EQ(log::LevelNamed("debug"), log::Level::kDebug);
  EXPECT_EQ(log::LevelNamed("off"), log::Level::kOff);
  EXPECT_EQ(log::LevelNamed("loud"), std::nullopt);
}

TEST(Text, OneLineIsOneAndOfThatLengthAtMost) {
  EXPECT_EQ(OneLine(" a\nb\tc\x1b[31m\r\n", 100), "a b c[31m");
  EXPECT_EQ(OneLine("abcdef", 3), "abc");
  EXPECT_EQ(OneLine("a\xc3\xa9", 2), "a") << "not within a character";
  EXPECT_EQ(OneLine("", 3), "");
}

}  // namespace
}  // namespace capstan
