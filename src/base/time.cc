#include "base/time.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace capstan {
namespace {

using std::chrono::floor;

constexpr Time kFirst = std::chrono::sys_days(std::chrono::year(1900) / 1 / 1);
constexpr Time kLast = std::chrono::sys_days(std::chrono::year(2190) / 1 / 1);
static_assert(kLast - kFirst > Duration(0), "the difference fits");

std::string FormatSeconds(Time time) {
  const auto seconds = floor<std::chrono::seconds>(time);  // the day of the first Time begins before it
  const auto day = floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", int(date.year()), unsigned(date.month()),
                unsigned(date.day()), int(clock.hours().count()), int(clock.minutes().count()),
                int(clock.seconds().count()));
  return text;
}

// Takes exactly `digits` decimal digits off the front of `text`.
std::optional<int> TakeNumber(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || text.front() == '-') return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool Take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Duration> TakeFraction(std::string_view& text) {
  if (!Take(text, ".")) return Duration(0);
  int64_t nanoseconds = 0;
  int64_t unit = 100'000'000;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, unit /= 10) {
    nanoseconds += (text[digits] - '0') * unit;
  }
  text.remove_prefix(digits);
  return digits == 0 ? std::nullopt : std::optional(Duration(nanoseconds));
}

std::optional<Duration> TakeOffset(std::string_view& text) {
  if (Take(text, "Zz")) return Duration(0);
  const bool west = text.starts_with('-');
  if (!Take(text, "+-")) return std::nullopt;
  const auto hours = TakeNumber(text, 2);
  if (!hours || !Take(text, ":")) return std::nullopt;
  const auto minutes = TakeNumber(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const Duration offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return west ? -offset : offset;
}

}  // namespace

std::string FormatRfc3339(Time time) { return FormatSeconds(time) + "Z"; }

std::string FormatRfc3339Micro(Time time) {
  const auto micros = floor<std::chrono::microseconds>(time.time_since_epoch()).count() % 1'000'000;
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06dZ", int(micros < 0 ? micros + 1'000'000 : micros));
  return FormatSeconds(time) + fraction;
}

std::optional<Time> ParseRfc3339(std::string_view text) {
  const auto year = TakeNumber(text, 4);
  if (!year || !Take(text, "-")) return std::nullopt;
  const auto month = TakeNumber(text, 2);
  if (!month || !Take(text, "-")) return std::nullopt;
  const auto day = TakeNumber(text, 2);
  if (!day || !Take(text, "Tt ")) return std::nullopt;
  const auto hour = TakeNumber(text, 2);
  if (!hour || !Take(text, ":")) return std::nullopt;
  const auto minute = TakeNumber(text, 2);
  if (!minute || !Take(text, ":")) return std::nullopt;
  const auto second = TakeNumber(text, 2);
  if (!second) return std::nullopt;
  const auto fraction = TakeFraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = TakeOffset(text);
  const std::chrono::year_month_day date(std::chrono::year{*year}, std::chrono::month(*month), std::chrono::day(*day));
  if (!offset || !text.empty() || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  if (*year < 1899) return kFirst;
  if (*year > 2190) return kLast;
  return std::clamp(Time(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                        std::chrono::seconds(*second) + *fraction - *offset,
                    kFirst, kLast);
}

int64_t UnixSeconds(Time time) { return floor<std::chrono::seconds>(time.time_since_epoch()).count(); }

Duration SecondsOf(int64_t count) {
  constexpr int64_t kMost = Duration::max() / 1s;
  return std::chrono::seconds(std::clamp(count, -kMost, kMost));
}

Duration MinutesOf(int64_t count) {
  constexpr int64_t kMost = Duration::max() / 1min;
  return std::chrono::minutes(std::clamp(count, -kMost, kMost));
}

Time FromUnixSeconds(int64_t seconds) { return std::clamp(Time(SecondsOf(seconds)), kFirst, kLast); }

Time Later(Time time, Duration duration) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(time.time_since_epoch().count(), duration.count(), &sum)) return Time(Duration(sum));
  return duration > Duration::zero() ? Time::max() : Time::min();
}

std::string FormatDuration(Duration duration) {
  if (duration < Duration(0)) return "-" + FormatDuration(-std::max(duration, -Duration::max()));
  const int64_t millis = duration.count() / 1'000'000;
  if (millis < 1000) return std::to_string(millis) + "ms";
  static constexpr struct {
    int64_t millis;
    const char* name;
  } kUnits[] = {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}};
  std::string text;
  int64_t rest = millis;
  int units = 0;
  for (const auto& unit : kUnits) {
    if (rest < unit.millis || units == 2) continue;
    text += std::to_string(rest / unit.millis) + unit.name;
    rest %= unit.millis;
    ++units;
  }
  return text;
}

}  // namespace capstan
