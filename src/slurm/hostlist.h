// Slurm's hostlist expressions: many host names in a short text, "w-[0-3,7],x[01-10],login".
//
// A hostlist is a comma-separated list; a bracket holds numbers and ranges, an element may have several
// brackets
// ("rack[0-1]n[00-03]", the rightmost counts fastest) and text between and after them. A number's leading
// zeros count: "x[08-10]" is x08, x09, x10, and "x8" is another host.
//
// These functions agree with `scontrol show hostnames`, except that they refuse what it lets pass half-read.
// Everything is bounded: a short text can stand for millions of hosts, so expansion takes a limit, and all names together
// may have kMaxHostBytes. Lists that others wrote are compared without their names: Hostlist, HostIndex.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

// More than any cluster has; Slurm itself refuses ranges over 64 k.
inline constexpr size_t kMaxHosts = 100'000;
inline constexpr size_t kMaxHostBytes = size_t{32} << 20;

// The names in the order written, duplicates kept. "" is no host at all. kInvalid, with what is wrong and
// where, for unbalanced or empty brackets, a range that runs backwards, a blank inside a name, more than
// `limit` names or kMaxHostBytes, or more than 32 brackets in one name.
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

// A hostlist that has been read, without its names: it takes the memory of its text, and reading it the time.
class Hostlist {
 public:
  // Errors as of ExpandHostlist.
  static Result<Hostlist> Parse(std::string_view text, size_t limit = kMaxHosts);

  const std::string& text() const { return text_; }
  size_t size() const { return size_; }  // names, duplicates counted

 private:
  Hostlist(std::string text, size_t size) : text_(std::move(text)), size_(size) {}

  std::string text_;
  size_t size_ = 0;
};

struct HostRow;  // hostlist.cc

// The names of many hostlists together, as ranges: for whether a list names one of them again, or one that is not among
// them. Work and memory are bounded by the bytes of the lists' texts, and by a room for what cannot be compared as it is
// written: of several brackets in a name all but the last are written out ("rack[0-1]n[00-03]" is two ranges), and all of
// them where digits follow on the last ("n[0-9]-ib0" is ten).
class HostIndex {
 public:
  // In bytes, of what all lists together have written out: some 25,000 ranges.
  static constexpr size_t kRoom = size_t{2} << 20;
  // Told a name; false: no further one is wanted, and what the call is for may be left undone.
  using Told = std::function<bool(const std::string& name)>;

  explicit HostIndex(size_t room = kRoom) : room_(room) {}
  HostIndex(HostIndex&&) = default;

  // Tells of each name of the list that was there already, or that the list has twice, in the list's order; nobody has
  // to be told. False: the room is used up, here or before, so that not all of it is there.
  [[nodiscard]] bool Add(const Hostlist& list, const Told& twice = {});

  // One name, of which nobody is told: it may have been there.
  void AddName(std::string_view name);

  // Tells of each name of the list that is not there, in the list's order. False as of Add.
  [[nodiscard]] bool ForEachMissing(const Hostlist& list, const Told& missing);

  // All of them, sorted; nullopt: they are more than `limit`.
  std::optional<std::vector<std::string>> Names(size_t limit = kMaxHosts) const;

  // Ranges that it keeps.
  size_t ranges() const { return spans_.size(); }

 private:
  std::optional<uint32_t> KeyOf(HostRow& row, bool make);
  bool ForEachRow(const Hostlist& list, const std::function<bool(HostRow&)>& visit);
  bool AddRow(HostRow& row, const Told& twice);

  size_t room_;
  std::unordered_map<std::string, uint32_t> keys_;  // by text around a number, and its digits
  std::vector<const std::string*> texts_;           // by key
  std::map<std::pair<uint32_t, uint64_t>, uint64_t>
      spans_;  // by key and lowest number: the highest; none overlap or touch
};

}  // namespace capstan::slurm
