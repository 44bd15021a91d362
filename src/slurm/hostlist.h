// Slurm's hostlist expressions: many host names in a short text, "w-[0-3,7],x[01-10],login".
//
// A hostlist is a comma-separated list; a bracket holds numbers and ranges, an element may have several
// brackets
// ("rack[0-1]n[00-03]", the rightmost counts fastest) and text between and after them. A number's leading
// zeros count: "x[08-10]" is x08, x09, x10, and "x8" is another host.
//
// These functions agree with `scontrol show hostnames`, except that they refuse what it lets pass half-read.
// Everything is bounded: a short text can stand for millions of hosts, so expansion takes a limit, and all names together
// may have kMaxHostBytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

// More than any cluster has; Slurm itself refuses ranges over 64 k.
inline constexpr size_t kMaxHosts = 100'000;
inline constexpr size_t kMaxHostBytes = size_t{32} << 20;

// The names in the order written, duplicates kept. "" is no host at all. kInvalid, with what is wrong and
// where, for unbalanced or empty brackets, a range that runs backwards, a blank inside a name, more than
// `limit` names or kMaxHostBytes.
Result<std::vector<std::string>> ExpandHostlist(std::string_view text, size_t limit = kMaxHosts);

// The shortest text this file knows for the set of names: sorted, without duplicates, ranges over the last
// number of each name. Equal sets give equal texts. Expanding it gives back the set. REQUIRES: names hold no
// comma, bracket or blank.
std::string CompressHostlist(std::span<const std::string> names);

// The order people expect: n2 before n10, n10 before n10-ib. Total, so that equal sets are listed equally.
bool HostLess(std::string_view a, std::string_view b);

// A set of host names in HostLess order.
class HostSet {
 public:
  HostSet() = default;
  explicit HostSet(std::vector<std::string> names);

  // As ExpandHostlist.
  static Result<HostSet> Parse(std::string_view hostlist, size_t limit = kMaxHosts);

  const std::vector<std::string>& names() const { return names_; }
  size_t size() const { return names_.size(); }
  bool empty() const { return names_.empty(); }
  bool Contains(std::string_view name) const;

  // As CompressHostlist.
  std::string ToString() const { return CompressHostlist(names_); }

  friend bool operator==(const HostSet&, const HostSet&) = default;

 private:
  std::vector<std::string> names_;  // sorted, unique
};

}  // namespace capstan::slurm
