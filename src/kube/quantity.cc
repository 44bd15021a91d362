#include "kube/quantity.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/text.h"

namespace capstan::kube {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMost = Wide(~UnsignedWide{0} >> 1);
constexpr std::string_view kDecimalSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr std::string_view kBinarySuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

template <class List>
std::optional<int> IndexOf(const List& list, std::string_view suffix) {
  const auto found = std::ranges::find(list, suffix);
  if (found == std::end(list)) return std::nullopt;
  return int(found - std::begin(list));
}

std::unexpected<Error> Invalid(std::string_view text, std::string_view why) {
  return Fail(Code::kInvalid, JsonQuoted(text.substr(0, 60)) + " is not a quantity" + std::string(why) +
                                  ", must be like \"2\", \"500m\", \"4Gi\" or \"1e3\"");
}

// value * factor, or nullopt when it does not fit.
std::optional<Wide> Times(Wide value, Wide factor) {
  Wide result;
  if (__builtin_mul_overflow(value, factor, &result)) return std::nullopt;
  return result;
}

std::string Digits(Wide value) {
  const bool negative = value < 0;
  UnsignedWide rest = negative ? -UnsignedWide(value) : UnsignedWide(value);
  std::string digits;
  do digits += char('0' + int(rest % 10));
  while ((rest /= 10) != 0);
  if (negative) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

// Towards the next larger multiple, as Kubernetes rounds.
Wide CeilingOf(Wide value, Wide unit) { return value / unit + (value % unit > 0 ? 1 : 0); }

int64_t Clamped(Wide value) {
  return int64_t(std::clamp<Wide>(value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

// "-12.50" apart: the digits as one number, and how many of them stand behind the point.
struct Mantissa {
  Wide digits = 0;
  int fraction = 0;
  bool negative = false;
};

std::optional<Mantissa> TakeMantissa(std::string_view& text) {
  Mantissa mantissa;
  if (text.starts_with('-') || text.starts_with('+')) {
    mantissa.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  int seen = 0;
  while (!text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'))) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '.') {
      if (point) return std::nullopt;
      point = true;
      continue;
    }
    ++seen;
    const auto shifted = Times(mantissa.digits, 10);
    if (!shifted || *shifted > kMost - (c - '0')) return std::nullopt;
    mantissa.digits = *shifted + (c - '0');
    if (point) ++mantissa.fraction;
  }
  if (seen == 0) return std::nullopt;
  return mantissa;
}

// digits * factor * 10^exponent, away from zero where digits are lost.
std::optional<Wide> Scaled(Wide digits, Wide factor, int exponent) {
  std::optional<Wide> value = Times(digits, factor);
  if (!value || *value == 0) return value;
  for (; exponent > 0; --exponent) {
    value = Times(*value, 10);
    if (!value) return value;
  }
  bool lost = false;
  for (; exponent < 0 && *value != 0; ++exponent) {
    lost = lost || *value % 10 != 0;
    *value /= 10;
  }
  return *value + (lost ? 1 : 0);
}

}  // namespace

Result<Quantity> Quantity::Parse(std::string_view text) {
  std::string_view rest = text;
  const std::optional<Mantissa> mantissa = TakeMantissa(rest);
  if (!mantissa) return Invalid(text, "");
  Quantity quantity;
  Wide factor = 1;
  int exponent = 9 - mantissa->fraction;
  if (const auto decimal = IndexOf(kDecimalSuffixes, rest)) {
    exponent += 3 * (*decimal - 3);
  } else if (const auto binary = IndexOf(kBinarySuffixes, rest)) {
    quantity.form_ = Form::kBinary;
    factor = Wide(1) << (10 * *binary);
  } else if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('+')) rest.remove_prefix(1);
    const auto power = ParseInt(rest);
    if (!power || *power < -100 || *power > 100) return Invalid(text, "");
    quantity.form_ = Form::kExponent;
    exponent += int(*power);
  } else {
    return Invalid(text, "");
  }
  const std::optional<Wide> nano = Scaled(mantissa->digits, factor, exponent);
  if (!nano) return Invalid(text, " that fits");
  quantity.nano_ = mantissa->negative ? -*nano : *nano;
  return quantity;
}

Quantity Quantity::OfInteger(int64_t value) {
  Quantity quantity;
  quantity.nano_ = Wide(value) * kNano;
  return quantity;
}

Quantity Quantity::OfMilli(int64_t value) {
  Quantity quantity;
  quantity.nano_ = Wide(value) * (kNano / 1000);
  return quantity;
}

std::string Quantity::ToString() const {
  if (nano_ == 0) return "0";
  // A binary form cannot say fractions; Kubernetes falls back to the decimal one below 1024 too.
  if (form_ == Form::kBinary && nano_ % kNano == 0 && (nano_ / kNano >= 1024 || nano_ / kNano <= -1024)) {
    Wide value = nano_ / kNano;
    size_t suffix = 0;
    for (; suffix + 1 < std::size(kBinarySuffixes) && value % 1024 == 0; ++suffix) value /= 1024;
    return Digits(value) + std::string(kBinarySuffixes[suffix]);
  }
  Wide value = nano_;
  size_t suffix = 0;
  for (; suffix + 1 < std::size(kDecimalSuffixes) && value % 1000 == 0; ++suffix) value /= 1000;
  if (form_ != Form::kExponent) return Digits(value) + std::string(kDecimalSuffixes[suffix]);
  const int exponent = 3 * (int(suffix) - 3);
  return exponent == 0 ? Digits(value) : Digits(value) + "e" + std::to_string(exponent);
}

int64_t Quantity::Ceiling() const { return Clamped(CeilingOf(nano_, kNano)); }
int64_t Quantity::MilliCeiling() const { return Clamped(CeilingOf(nano_, kNano / 1000)); }

Quantity::Wide Quantity::Sum(Wide a, Wide b) {
  Wide sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kMost : -kMost;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nano_ == 0) form_ = other.form_;
  nano_ = Sum(nano_, other.nano_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nano_ == 0) form_ = other.form_;
  nano_ = Sum(nano_, -other.nano_);
  return *this;
}

}  // namespace capstan::kube
