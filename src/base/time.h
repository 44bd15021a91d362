// Points in time and the two clocks. Only event loops and the engine read a clock; everything else is told
// the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;  // NOLINT: durations are written 30s, 20ms everywhere

// Wall-clock time (UTC), as API objects carry it. May jump.
using Time = std::chrono::sys_time<Duration>;

// Monotonic time, for deadlines and waits. Never stored or sent.
using Tick = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// "2026-11-21T02:45:59Z", as metav1.Time; whole seconds, rounded down.
std::string FormatRfc3339(Time time);

// "2026-11-21T02:45:59.123456Z", as metav1.MicroTime.
std::string FormatRfc3339Micro(Time time);

// Reads RFC 3339 with any number of fraction digits and `Z` or a numeric offset; nullopt for anything else.
// Years before 1900 and after 2189 give the nearest moment of these: between any two times that others said there are fewer nanoseconds than a
// Duration holds.
std::optional<Time> ParseRfc3339(std::string_view text);

// Seconds since 1970, rounded down.
int64_t UnixSeconds(Time time);

// What others say in whole seconds or minutes, whatever the number: more than a Duration holds (292 years) is as much as it holds.
Duration SecondsOf(int64_t count);
Duration MinutesOf(int64_t count);
// From 1900 to 2190, as ParseRfc3339.
Time FromUnixSeconds(int64_t seconds);
// Whatever the duration: more than a Time holds (1677 to 2262) is its end.
Time Later(Time time, Duration duration);

// "1m30s", "250ms": for messages, largest unit first, at most two units.
std::string FormatDuration(Duration duration);

}  // namespace capstan
