#include "slurm/hostlist.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/text.h"

namespace capstan::slurm {
namespace {

// Longer runs of digits are names, not numbers: they would not fit.
constexpr size_t kMaxDigits = 18;

constexpr size_t kMaxBrackets = 32;  // of one element: Slurm itself knows five dimensions

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

// Numbers that a bracket holds: "4" or "01-10", each written with at least `width` digits.
struct Numbers {
  uint64_t low = 0, high = 0;
  size_t width = 0;
};

// Text, and the bracket behind it; none behind the last.
struct Part {
  std::string_view text;
  std::vector<Numbers> numbers;
};

size_t DigitsOf(uint64_t value) {
  size_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

// Of a bracket with `limit` numbers at most. An answer in `why` when it is none.
std::vector<Numbers> NumbersOf(std::string_view bracket, size_t limit, size_t& count, std::string_view& why) {
  std::vector<Numbers> all;
  count = 0;
  for (bool more = true; more;) {
    const size_t comma = bracket.find(',');
    const std::string_view range = bracket.substr(0, comma);
    more = comma != bracket.npos;
    bracket.remove_prefix(more ? comma + 1 : bracket.size());
    const size_t dash = range.find('-');
    const auto low = ParseNumber(range.substr(0, dash));
    const auto high = dash == range.npos ? low : ParseNumber(range.substr(dash + 1));
    if (!low || !high)
      why = "a bracket holds numbers and ranges of numbers only, as in [0-3,7]";
    else if (high->value < low->value)
      why = "a range runs backwards";
    else if (high->value - low->value >= limit || count + (high->value - low->value) >= limit)
      why = "it stands for too many hosts";
    if (!why.empty()) return {};
    count += size_t(high->value - low->value) + 1;
    all.push_back({low->value, high->value, low->width});
  }
  return all;
}

// How much a list may still stand for.
struct Left {
  size_t names = kMaxHosts, bytes = kMaxHostBytes;
};

// Reads one element between top-level commas, text and brackets in turn, and takes its names off `left`.
Result<std::vector<Part>> ReadElement(std::string_view element, std::string_view whole, Left& left) {
  std::vector<Part> parts;
  size_t names = 1, longest = 0;
  while (!element.empty()) {
    const size_t open = element.find('[');
    Part part{element.substr(0, open), {}};
    if (part.text.find(']') != part.text.npos) return Bad(whole, "a ']' has no '[' before it");
    if (part.text.find_first_of(" \t\r\n") != part.text.npos) return Bad(whole, "a host name holds a blank");
    longest += part.text.size();
    if (names * longest > left.bytes) return Bad(whole, "its hosts' names are too long");
    element.remove_prefix(std::min(open, element.size()));
    if (!element.empty()) {
      if (parts.size() == kMaxBrackets) return Bad(whole, "a host name has more than 32 brackets");
      const size_t close = element.find(']');
      if (close == element.npos) return Bad(whole, "a '[' is not closed");
      std::string_view why;
      size_t count = 0;
      part.numbers = NumbersOf(element.substr(1, close - 1), left.names, count, why);
      if (!why.empty()) return Bad(whole, why);
      if (names * count > left.names) return Bad(whole, "it stands for too many hosts");
      names *= count;
      size_t digits = 0;
      for (const Numbers& range : part.numbers) digits = std::max({digits, range.width, DigitsOf(range.high)});
      longest += digits;
      if (names * longest > left.bytes) return Bad(whole, "its hosts' names are too long");
      element.remove_prefix(close + 1);
    }
    parts.push_back(std::move(part));
  }
  if (names > left.names) return Bad(whole, "it stands for too many hosts");
  left.names -= names;
  left.bytes -= names * longest;
  return parts;
}

// The parts of an element that has been read before.
std::vector<Part> PartsOf(std::string_view element) {
  Left left{.names = SIZE_MAX};
  return ReadElement(element, element, left).value();
}

// Takes the first element off `rest`, up to the first comma outside brackets.
std::string_view TakeElement(std::string_view& rest) {
  bool inside = false;
  size_t end = 0;
  for (; end < rest.size() && (rest[end] != ',' || inside); ++end) {
    if (rest[end] == '[') inside = true;
    if (rest[end] == ']') inside = false;
  }
  const std::string_view element = Trim(rest.substr(0, end));
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return element;
}

void AppendPadded(std::string& text, uint64_t value, size_t width) {
  char digits[20];
  size_t at = sizeof(digits);
  for (; value > 0 || at == sizeof(digits); value /= 10) digits[--at] = char('0' + value % 10);
  const size_t count = sizeof(digits) - at;
  if (count < width) text.append(width - count, '0');
  text.append(digits + at, count);
}

// The names of `parts` one after the other, the rightmost bracket counting fastest. Each costs what of it changes.
class Odometer {
 public:
  explicit Odometer(std::span<const Part> parts) : parts_(parts) { Fill(); }

  const std::string& name() const { return name_; }

  // False: that was the last.
  bool Next() {
    while (!wheels_.empty()) {
      Wheel& wheel = wheels_.back();
      const std::vector<Numbers>& numbers = parts_[wheels_.size() - 1].numbers;
      if (!numbers.empty() && Turn(wheel, numbers)) {
        name_.resize(wheel.begin);
        AppendPadded(name_, wheel.value, numbers[wheel.range].width);
        Fill();
        return true;
      }
      wheels_.pop_back();
    }
    return false;
  }

 private:
  struct Wheel {
    size_t begin;  // in the name, of the number
    size_t range;
    uint64_t value;
  };

  static bool Turn(Wheel& wheel, const std::vector<Numbers>& numbers) {
    if (wheel.value < numbers[wheel.range].high) return ++wheel.value, true;
    if (wheel.range + 1 == numbers.size()) return false;
    wheel.value = numbers[++wheel.range].low;
    return true;
  }

  // The parts behind those whose number stands.
  void Fill() {
    while (wheels_.size() < parts_.size()) {
      const Part& part = parts_[wheels_.size()];
      name_ += part.text;
      wheels_.push_back({name_.size(), 0, part.numbers.empty() ? 0 : part.numbers[0].low});
      if (!part.numbers.empty()) AppendPadded(name_, part.numbers[0].low, part.numbers[0].width);
    }
  }

  const std::span<const Part> parts_;
  std::string name_;
  std::vector<Wheel> wheels_;
};

// How many digits `text` ends in, `most` at most.
size_t DigitsAtEnd(std::string_view text, size_t most) {
  size_t count = 0;
  while (count < most && count < text.size() && IsDigit(text[text.size() - 1 - count])) ++count;
  return count;
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
    if (next.value != high + 1 || std::max(low.width, DigitsOf(next.value)) != next.width) return false;
    high = next.value;
    return true;
  }
};

std::string Render(std::string_view stem, const std::vector<Range>& ranges) {
  std::string inside;
  for (const Range& range : ranges) {
    if (!inside.empty()) inside += ',';
    AppendPadded(inside, range.low.value, range.low.width);
    if (range.high == range.low.value) continue;
    inside += '-';
    AppendPadded(inside, range.high, range.low.width);
  }
  const bool single = ranges.size() == 1 && ranges[0].high == ranges[0].low.value;
  return std::string(stem) + (single ? inside : '[' + inside + ']');
}

}  // namespace

Result<std::vector<std::string>> ExpandHostlist(std::string_view text, size_t limit) {
  std::vector<std::string> names;
  Left left{.names = limit};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view element = TakeElement(rest);
    if (element.empty()) continue;
    CAPSTAN_TRY(const std::vector<Part> parts, ReadElement(element, text, left));
    Odometer odometer(parts);
    do {
      names.push_back(odometer.name());
    } while (odometer.Next());
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

// --- Hostlist and HostIndex ------------------------------------------------------------------------------------------

Result<Hostlist> Hostlist::Parse(std::string_view text, size_t limit) {
  Left left{.names = limit};
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view element = TakeElement(rest);
    if (!element.empty()) CAPSTAN_CHECK_OK(ReadElement(element, text, left));
  }
  return Hostlist(std::string(text), limit - left.names);
}

// Names of one list that differ in their last number alone, and in that by one each.
struct HostRow {
  std::string_view stem, suffix;
  size_t width =
      0;  // of a number that begins with zeros, with these; 1: one that does not; 0: none, the name is `stem`
  uint64_t low = 0, high = 0;
  bool looked_up = false;
  std::optional<uint32_t> key = {};  // once it was looked up; nullopt: no name of its key is there

  std::string Name(uint64_t value) const {
    std::string name(stem);
    if (width > 0) AppendPadded(name, value, width);
    return name.append(suffix);
  }
};

namespace {

using Visit = std::function<bool(HostRow&)>;  // false: enough

// Of one name: text that holds no bracket.
HostRow RowOf(std::string_view name) {
  const size_t last = name.find_last_of("0123456789");
  if (last == name.npos) return {.stem = name, .suffix = {}};
  const size_t digits = DigitsAtEnd(name.substr(0, last + 1), kMaxDigits), begin = last + 1 - digits;
  const uint64_t value = ParseNumber(name.substr(begin, digits))->value;
  return {.stem = name.substr(0, begin),
          .suffix = name.substr(last + 1),
          .width = DigitsOf(value) < digits ? digits : 1,
          .low = value,
          .high = value};
}

uint64_t PowerOfTen(size_t exponent) {
  uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

// The rows of a bracket behind `head`, whose last digits are those of the rows' numbers, too.
bool ForEachRowBehind(std::string_view head, const std::vector<Numbers>& numbers, std::string_view suffix,
                      const Visit& visit) {
  // By digits of the bracket's number, 0 where none stands before it and it begins with no zero: each is looked up once.
  std::array<std::optional<HostRow>, kMaxDigits + 1> rows;
  for (const Numbers& range : numbers) {
    for (uint64_t low = range.low; low <= range.high;) {
      const size_t digits = std::max(range.width, DigitsOf(low));
      const size_t before = DigitsAtEnd(head, kMaxDigits - digits);
      const bool is_plain = before == 0 && DigitsOf(low) == digits;
      // As far as all have as many digits, or, where none stand before them, begin with zeros, or with none.
      uint64_t high = range.high;
      if (before > 0) high = std::min(high, PowerOfTen(digits) - 1);
      if (before == 0 && !is_plain) high = std::min(high, PowerOfTen(digits - 1) - 1);
      const uint64_t base =
          before == 0 ? 0 : ParseNumber(head.substr(head.size() - before))->value * PowerOfTen(digits);
      std::optional<HostRow>& row = rows[is_plain ? 0 : digits];
      if (!row) {
        const bool has_zeros = DigitsOf(base + low) < before + digits;  // so have all of the row
        row = HostRow{
            .stem = head.substr(0, head.size() - before), .suffix = suffix, .width = has_zeros ? before + digits : 1};
      }
      row->low = base + low;
      row->high = base + high;
      if (!visit(*row)) return false;
      low = high + 1;
    }
  }
  return true;
}

// The rows of one element. What stands before its last bracket is written out, and all of it where digits follow on that:
// each such text but the first is taken off `room`, with its rows. False: it is used up, or `visit` had enough.
bool ForEachRowOf(std::string_view element, size_t& room, const Visit& visit) {
  constexpr size_t kRowBytes = 64;
  std::vector<Part> parts = PartsOf(element);
  std::string_view suffix;
  std::vector<Numbers> last;
  const bool ends_in_text = parts.back().numbers.empty();
  const bool is_number_last = !ends_in_text || std::ranges::none_of(parts.back().text, IsDigit);
  const bool as_rows = is_number_last && parts.size() > (ends_in_text ? 1u : 0u);
  if (as_rows && ends_in_text) {
    suffix = parts.back().text;
    parts.pop_back();
  }
  if (as_rows) last = std::exchange(parts.back().numbers, {});
  Odometer odometer(parts);
  while (true) {
    const std::string& text = odometer.name();
    if (as_rows && !ForEachRowBehind(text, last, suffix, visit)) return false;
    if (!as_rows) {
      HostRow row = RowOf(text);
      if (!visit(row)) return false;
    }
    if (!odometer.Next()) return true;
    const size_t bytes = odometer.name().size() + kRowBytes * std::max<size_t>(last.size(), 1);
    if (room < bytes) return room = 0, false;
    room -= bytes;
  }
}

}  // namespace

// Names with the same text before and behind their last number, which begins with no zero or has as many digits, have one
// key. No name holds a line break.
std::optional<uint32_t> HostIndex::KeyOf(HostRow& row, bool make) {
  if (row.looked_up) return row.key;
  row.looked_up = true;
  std::string text(row.stem);
  if (row.width > 0) text.append("\n").append(row.suffix).append(1, char('a' + row.width));
  auto found = keys_.find(text);
  if (found == keys_.end() && make) {
    found = keys_.emplace(std::move(text), uint32_t(keys_.size())).first;
    texts_.push_back(&found->first);
  }
  if (found != keys_.end()) row.key = found->second;
  return row.key;
}

// False: the room is used up.
bool HostIndex::ForEachRow(const Hostlist& list, const std::function<bool(HostRow&)>& visit) {
  if (room_ == 0) return false;
  for (std::string_view rest = list.text(); !rest.empty();) {
    const std::string_view element = TakeElement(rest);
    if (!element.empty() && !ForEachRowOf(element, room_, visit)) return room_ > 0;
  }
  return true;
}

// Those of `row` that were there already are told to `twice`, until it has had enough.
bool HostIndex::AddRow(HostRow& row, const std::function<bool(const std::string&)>& twice) {
  const uint32_t key = *KeyOf(row, true);
  uint64_t low = row.low, high = row.high;
  bool goes_on = true;
  auto span = spans_.upper_bound({key, row.low});
  if (span != spans_.begin()) {
    const auto before = std::prev(span);
    if (before->first.first == key && before->second + 1 >= row.low) span = before;
  }
  while (span != spans_.end() && span->first.first == key && span->first.second <= row.high + 1) {
    const uint64_t end = std::min(span->second, row.high);
    for (uint64_t value = std::max(span->first.second, row.low); twice && goes_on && value <= end; ++value)
      goes_on = twice(row.Name(value));
    low = std::min(low, span->first.second);
    high = std::max(high, span->second);
    span = spans_.erase(span);
  }
  spans_.emplace_hint(span, std::pair(key, low), high);
  return goes_on;
}

bool HostIndex::Add(const Hostlist& list, const std::function<bool(const std::string&)>& twice) {
  return ForEachRow(list, [&](HostRow& row) { return AddRow(row, twice); });
}

void HostIndex::AddName(std::string_view name) {
  HostRow row = RowOf(name);
  AddRow(row, {});
}

bool HostIndex::ForEachMissing(const Hostlist& list, const std::function<bool(const std::string&)>& missing) {
  return ForEachRow(list, [&](HostRow& row) {
    const auto key = KeyOf(row, false);
    auto span = key ? spans_.upper_bound({*key, row.low}) : spans_.end();
    if (key && span != spans_.begin()) --span;
    for (uint64_t value = row.low; value <= row.high;) {
      while (span != spans_.end() && key && (span->first.first < *key || span->second < value)) ++span;
      if (span != spans_.end() && key && span->first.first == *key && span->first.second <= value) {
        value = span->second + 1;
        continue;
      }
      if (!missing(row.Name(value))) return false;
      ++value;
    }
    return true;
  });
}

std::optional<std::vector<std::string>> HostIndex::Names(size_t limit) const {
  std::vector<std::string> names;
  for (const auto& [from, high] : spans_) {
    const std::string_view text = *texts_[from.first];
    const size_t end = text.find('\n');
    if (high - from.second >= limit - names.size()) return std::nullopt;
    for (uint64_t value = from.second; value <= high; ++value) {
      std::string name(text.substr(0, end));
      if (end != text.npos) {
        AppendPadded(name, value, size_t(text.back() - 'a'));
        name += text.substr(end + 1, text.size() - end - 2);
      }
      names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace capstan::slurm
