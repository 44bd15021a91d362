#include "slurm/job_resources.h"

#include "base/text.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestMask = 16 << 10;  // digits: 65,536 cores

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<std::vector<int64_t>> BitsOfMask(std::string_view mask) {
  std::string_view digits = mask;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  std::vector<int64_t> bits;
  for (size_t place = 0; place < digits.size() && place < kLongestMask; ++place) {
    const int digit = Digit(digits[digits.size() - 1 - place]);
    if (digit < 0) return Fail(Code::kInvalid, JsonQuoted(mask.substr(0, 80)) + " is no hexadecimal mask");
    for (int bit = 0; bit < 4; ++bit)
      if ((digit >> bit & 1) != 0) bits.push_back(int64_t(place * 4) + bit);
  }
  if (digits.size() > kLongestMask) return Fail(Code::kInvalid, "a mask is longer than that of any node");
  return bits;
}

}  // namespace capstan::slurm
