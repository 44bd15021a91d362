#include "slurm/hostlist.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "base/text.h"

namespace capstan::slurm {
namespace {

// Longer runs of digits are names, not numbers: they would not fit.
constexpr size_t kMaxDigits = 18;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<Error> Bad(std::string_view text, std::string_view why) {
  // An expression may be long; its beginning is enough to find it.
  std::string shown(text.substr(0, 60));
  if (text.size() > 60) shown += "...";
  return Fail(Code::kInvalid, "hostlist " + JsonQuoted(shown) + ": " + std::string(why));
}

struct Number {
  uint64_t value = 0;
  size_t width = 0;  // digits written, so leading zeros survive
};

std::optional<Number> ParseNumber(std::string_view digits) {
  if (digits.empty() || digits.size() > kMaxDigits || !std::ranges::all_of(digits, IsDigit)) return std::nullopt;
  Number number{.width = digits.size()};
  for (char c : digits) number.value = number.value * 10 + uint64_t(c - '0');
  return number;
}

std::string Padded(uint64_t value, size_t width) {
  std::string digits = std::to_string(value);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Appends what one "4" or "01-10" of a bracket stands for. An empty answer means success.
std::string_view AddRange(std::string_view range, size_t limit, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const auto low = ParseNumber(range.substr(0, dash));
  const auto high = dash == range.npos ? low : ParseNumber(range.substr(dash + 1));
  if (!low || !high) return "a bracket holds numbers and ranges of numbers only, as in [0-3,7]";
  if (high->value < low->value) return "a range runs backwards";
  if (high->value - low->value >= limit || out.size() + (high->value - low->value) >= limit)
    return "it stands for too many hosts";
  for (uint64_t value = low->value; value <= high->value; ++value) out.push_back(Padded(value, low->width));
  return {};
}

// One element between top-level commas: text and brackets in turn.
// `bytes`: of all names so far.
Result<void> AddElement(std::string_view element, std::string_view whole, size_t limit, std::vector<std::string>& names,
                        size_t& bytes) {
  std::vector<std::string> made{""};
  while (!element.empty()) {
    const size_t open = element.find('[');
    const std::string_view literal = element.substr(0, open);
    if (literal.find(']') != literal.npos) return Bad(whole, "a ']' has no '[' before it");
    if (literal.find_first_of(" \t\r\n") != literal.npos) return Bad(whole, "a host name holds a blank");
    if (made.size() * (made.back().size() + literal.size()) > kMaxHostBytes - bytes)
      return Bad(whole, "its hosts' names are too long");
    for (std::string& name : made) name += literal;
    if (open == element.npos) break;
    const size_t close = element.find(']', open);
    if (close == element.npos) return Bad(whole, "a '[' is not closed");

    std::vector<std::string> numbers;
    for (std::string_view range : Split(element.substr(open + 1, close - open - 1), ','))
      if (auto why = AddRange(range, limit, numbers); !why.empty()) return Bad(whole, why);
    if (names.size() + made.size() * numbers.size() > limit) return Bad(whole, "it stands for too many hosts");

    const size_t longest = made.back().size() + kMaxDigits;
    if (made.size() * numbers.size() * longest > kMaxHostBytes - bytes)
      return Bad(whole, "its hosts' names are too long");
    std::vector<std::string> longer;
    longer.reserve(made.size() * numbers.size());
    for (const std::string& name : made)
      for (const std::string& number : numbers) longer.push_back(name + number);
    made = std::move(longer);
    element.remove_prefix(close + 1);
  }
  if (names.size() + made.size() > limit) return Bad(whole, "it stands for too many hosts");
  bytes += made.size() * made.back().size();
  std::ranges::move(made, std::back_inserter(names));
  return {};
}

// The end of the element that begins `text`: the first comma outside brackets.
size_t ElementEnd(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

// A name as stem and the number it ends in.
struct Parts {
  std::string_view stem;
  std::optional<Number> number;
};

Parts Take(std::string_view name) {
  size_t stem = name.size();
  while (stem > 0 && IsDigit(name[stem - 1])) --stem;
  if (name.size() - stem > kMaxDigits) stem = name.size();
  return {name.substr(0, stem), ParseNumber(name.substr(stem))};
}

// Runs of digits compare as numbers, everything else byte by byte.
int CompareNaturally(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!IsDigit(a[0]) || !IsDigit(b[0])) {
      if (a[0] != b[0]) return uint8_t(a[0]) < uint8_t(b[0]) ? -1 : 1;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const size_t zeros_a = std::min(a.find_first_not_of('0'), a.size());
    const size_t zeros_b = std::min(b.find_first_not_of('0'), b.size());
    a.remove_prefix(zeros_a);
    b.remove_prefix(zeros_b);
    const size_t digits_a = size_t(std::ranges::find_if_not(a, IsDigit) - a.begin());
    const size_t digits_b = size_t(std::ranges::find_if_not(b, IsDigit) - b.begin());
    if (digits_a != digits_b) return digits_a < digits_b ? -1 : 1;
    if (const int order = a.substr(0, digits_a).compare(b.substr(0, digits_b))) return order;
    a.remove_prefix(digits_a);
    b.remove_prefix(digits_b);
  }
  return int(b.empty()) - int(a.empty());
}

// Consecutive numbers that one range can write.
struct Range {
  Number low;
  uint64_t high;

  bool Extend(const Number& next) {
    // The range writes `next` with at least the width of `low`; that must be how the name has it.
    if (next.value != high + 1 || Padded(next.value, low.width).size() != next.width) return false;
    high = next.value;
    return true;
  }
};

std::string Render(std::string_view stem, const std::vector<Range>& ranges) {
  std::string inside;
  for (const Range& range : ranges) {
    if (!inside.empty()) inside += ',';
    inside += Padded(range.low.value, range.low.width);
    if (range.high != range.low.value) inside += '-' + Padded(range.high, range.low.width);
  }
  const bool single = ranges.size() == 1 && ranges[0].high == ranges[0].low.value;
  return std::string(stem) + (single ? inside : '[' + inside + ']');
}

}  // namespace

Result<std::vector<std::string>> ExpandHostlist(std::string_view text, size_t limit) {
  std::vector<std::string> names;
  size_t bytes = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = ElementEnd(rest);
    const std::string_view element = Trim(rest.substr(0, end));
    if (!element.empty()) CAPSTAN_CHECK_OK(AddElement(element, text, limit, names, bytes));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

bool HostLess(std::string_view a, std::string_view b) {
  const Parts x = Take(a), y = Take(b);
  if (const int order = CompareNaturally(x.stem, y.stem)) return order < 0;
  if (x.stem != y.stem) return x.stem < y.stem;
  if (x.number.has_value() != y.number.has_value()) return !x.number;
  if (!x.number) return false;
  if (x.number->value != y.number->value) return x.number->value < y.number->value;
  return x.number->width < y.number->width;
}

std::string CompressHostlist(std::span<const std::string> names) {
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted, HostLess);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());

  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    if (!text.empty()) text += ',';
    const Parts first = Take(sorted[i]);
    if (!first.number) {
      text += sorted[i++];
      continue;
    }
    std::vector<Range> ranges;
    for (; i < sorted.size(); ++i) {
      const Parts next = Take(sorted[i]);
      if (next.stem != first.stem || !next.number) break;
      if (ranges.empty() || !ranges.back().Extend(*next.number)) ranges.push_back({*next.number, next.number->value});
    }
    text += Render(first.stem, ranges);
  }
  return text;
}

HostSet::HostSet(std::vector<std::string> names) : names_(std::move(names)) {
  std::ranges::sort(names_, HostLess);
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

Result<HostSet> HostSet::Parse(std::string_view hostlist, size_t limit) {
  CAPSTAN_TRY(auto names, ExpandHostlist(hostlist, limit));
  return HostSet(std::move(names));
}

bool HostSet::Contains(std::string_view name) const { return std::ranges::binary_search(names_, name, HostLess); }

}  // namespace capstan::slurm
