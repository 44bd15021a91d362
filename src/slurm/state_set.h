// What Slurm calls a state: one base state and any number of flags, which REST sends as an array of names in
// any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    for (const std::string& name : names) set.AddNamed(name);
    std::ranges::sort(set.unknown_);
    set.unknown_.erase(std::unique(set.unknown_.begin(), set.unknown_.end()), set.unknown_.end());
    return set;
  }

  bool Has(Name name) const { return bits_ & Bit(name); }
  bool HasAny(std::initializer_list<Name> names) const {
    return std::ranges::any_of(names, [this](Name name) { return Has(name); });
  }
  void Add(Name name) { bits_ |= Bit(name); }
  void Remove(Name name) { bits_ &= ~Bit(name); }

  // Names this version does not know, sorted.
  const std::vector<std::string>& unknown() const { return unknown_; }

  // Slurm's names: known ones in the order of the enum (base states first), then the unknown ones.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    const auto all = StateNames(Name{});
    for (size_t i = 0; i < all.size(); ++i)
      if (Has(Name(i))) names.emplace_back(all[i]);
    names.insert(names.end(), unknown_.begin(), unknown_.end());
    return names;
  }

  // "IDLE+DRAIN", as scontrol prints it.
  std::string ToString() const {
    std::string text;
    for (const std::string& name : Names()) text += (text.empty() ? "" : "+") + name;
    return text;
  }

  friend bool operator==(const StateSet&, const StateSet&) = default;

 private:
  static uint64_t Bit(Name name) { return uint64_t(1) << unsigned(name); }

  void AddNamed(const std::string& name) {
    const auto all = StateNames(Name{});
    const auto found = std::ranges::find(all, std::string_view(name));
    if (found != all.end())
      Add(Name(found - all.begin()));
    else
      unknown_.push_back(name);
  }

  uint64_t bits_ = 0;
  std::vector<std::string> unknown_;
};

}  // namespace capstan::slurm
