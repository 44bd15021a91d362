// Member types of field tables that the standard library does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"

namespace capstan::json {

// Any JSON value, kept as the text it came in: user templates, defaults, patches. Empty text means absent.
// Two Raws are equal when their texts are; compare what canonical.h makes of them where spacing and key order
// must not count.
struct Raw {
  std::string text;

  bool empty() const { return text.empty(); }
  friend bool operator==(const Raw&, const Raw&) = default;
};

// Any JSON value, of which only a 64-bit digest of its text is kept. Decoded, never encoded. For noticing
// that something big changed (fieldsV1 of managedFields) without holding it.
struct Digest {
  uint64_t value = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
};

// An integer, or text such as "25%" (intstr.IntOrString). A default-made one is the integer 0; wrap it into
// std::optional where absent differs.
class IntOrString {
 public:
  IntOrString() = default;
  IntOrString(int64_t number) : value_(number) {}               // NOLINT: converts like the JSON it stands for
  IntOrString(std::string text) : value_(std::move(text)) {}    // NOLINT
  IntOrString(const char* text) : value_(std::string(text)) {}  // NOLINT

  bool is_number() const { return value_.index() == 0; }
  int64_t number() const { return is_number() ? std::get<0>(value_) : 0; }
  // Empty for a number.
  std::string_view text() const { return is_number() ? std::string_view() : std::get<1>(value_); }
  // "3", "25%".
  std::string ToString() const { return is_number() ? std::to_string(number()) : std::get<1>(value_); }

  // The number, or that percentage of `total`, rounded up or down as Kubernetes does for maxSurge (up) and
  // maxUnavailable (down). kInvalid: text that is not a number followed by '%'.
  Result<int64_t> Of(int64_t total, bool round_up) const;

  friend bool operator==(const IntOrString&, const IntOrString&) = default;

 private:
  std::variant<int64_t, std::string> value_;
};

}  // namespace capstan::json
