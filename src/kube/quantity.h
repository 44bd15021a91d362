// Kubernetes quantities: "1500m", "4Gi", "1e3". Exact, without floating point.
//
// The range is that of 128-bit integers in units of 10^-9: from about -1.7e29 to 1.7e29. Digits below 10^-9
// are rounded away from zero, as Kubernetes does. Plain values; nothing throws.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::kube {

class Quantity {
 public:
  Quantity() = default;  // 0

  // An optional sign, digits with an optional point, and one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an
  // exponent
  // ("e3", "E-2"). kInvalid for anything else, or out of range.
  static Result<Quantity> Parse(std::string_view text);
  static Quantity OfInteger(int64_t value);
  static Quantity OfMilli(int64_t value);

  // The canonical text: the largest suffix of the form it was written in that needs no fraction. "0.5" is
  // "500m", "1024Mi" is "1Gi", "1e3" stays "1e3".
  std::string ToString() const;

  // Rounded up to whole units, or thousandths, as Kubernetes' Value() and MilliValue() are; clamped to the
  // range.
  int64_t Ceiling() const;
  int64_t MilliCeiling() const;

  bool is_zero() const { return nano_ == 0; }
  bool is_negative() const { return nano_ < 0; }

  // Keeps the left side's form, unless that is zero. Clamped to the range.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }

  // By value; "1Gi" equals "1024Mi".
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.nano_ <=> b.nano_; }

 private:
  enum class Form : uint8_t { kDecimal, kBinary, kExponent };
  __extension__ using Wide = __int128;

  static Wide Sum(Wide a, Wide b);

  Wide nano_ = 0;
  Form form_ = Form::kDecimal;
};

}  // namespace capstan::kube
