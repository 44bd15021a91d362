// Whatever a user writes as a duration or a time, and Slurm as a number: sums stay within what a Time holds, and a time that is written
// is read as the same second.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/common.h"
#include "base/time.h"

using namespace capstan;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(text.find('\n'), size);
  const Duration duration = api::ParseGoDuration(text.substr(0, line)).value_or(MinutesOf(int64_t(size) << 56));
  const Time time = ParseRfc3339(text.substr(std::min(line + 1, size))).value_or(FromUnixSeconds(int64_t(size) << 58));
  const Time sum = Later(time, duration);
  if (duration >= Duration::zero() ? sum < time : sum > time) abort();
  const Time first = *ParseRfc3339("0001-01-01T00:00:00Z"), last = *ParseRfc3339("9999-01-01T00:00:00Z");
  for (const Time one : {time, sum}) {
    const auto again = ParseRfc3339(FormatRfc3339(one));
    const bool can_be_read = first <= one && one <= last;
    if (!again || (can_be_read && UnixSeconds(*again) != UnixSeconds(one))) abort();
  }
  if (time < first || time > last || FormatDuration(time - first).empty() || FormatDuration(duration).empty()) abort();
  return 0;
}
