// What Slurm calls a state: one base state and any number of flags, which REST sends as an array of names in
// any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "json/text.h"

namespace capstan::slurm {

// A set of the values of `Name`, an enum from 0 upwards that has `StateNames(Name)` returning Slurm's
// spelling of all its values in order. Names that this version of Capstan does not know are kept, so that
// nothing a newer Slurm says is dropped and whoever decides can see that there is something it does not
// understand.
template <class Name>
class StateSet {
 public:
  StateSet() = default;
  StateSet(std::initializer_list<Name> names) {
    for (Name name : names) Add(name);
  }

  static StateSet FromNames(std::span<const std::string> names) {
    StateSet set;
    std::vector<std::string> unknown;
    for (const std::string& name : names)
      if (!set.AddNamed(name)) unknown.push_back(name);
    std::ranges::sort(unknown);
    unknown.erase(std::ranges::unique(unknown).begin(), unknown.end());
    if (!unknown.empty()) set.unknown_ = json::SharedText(Join(unknown, "+"));
    return set;
  }

  bool Has(Name name) const { return bits_ & Bit(name); }
  bool HasAny(std::initializer_list<Name> names) const {
    return std::ranges::any_of(names, [this](Name name) { return Has(name); });
  }
  void Add(Name name) { bits_ |= Bit(name); }
  void Remove(Name name) { bits_ &= ~Bit(name); }

  // Names this version does not know, sorted, with '+' between them.
  std::string_view unknown() const { return unknown_; }

  // Slurm's names: known ones in the order of the enum (base states first), then the unknown ones.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto all = StateNames(Name{});
    for (size_t i = 0; i < all.size(); ++i)
      if (Has(Name(i))) names.emplace_back(all[i]);
    if (unknown_.empty()) return names;
    for (const std::string_view name : Split(unknown_, '+')) names.emplace_back(name);
    return names;
  }

  // "IDLE+DRAIN", as scontrol prints it.
  std::string ToString() const { return Join(Names(), "+"); }

  friend bool operator==(const StateSet&, const StateSet&) = default;

 private:
  static uint64_t Bit(Name name) { return uint64_t(1) << unsigned(name); }

  bool AddNamed(std::string_view name) {
    const auto all = StateNames(Name{});
    const auto found = std::ranges::find(all, name);
    if (found == all.end()) return false;
    Add(Name(found - all.begin()));
    return true;
  }

  uint64_t bits_ = 0;
  json::SharedText unknown_;  // a pointer: snapshots hold thousands of sets
};

}  // namespace capstan::slurm
