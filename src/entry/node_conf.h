// The value of slurmd's --conf: the items of a NodeName line of slurm.conf, such as
//
//   Features=gpu,fast Gres=gpu:4 Extra="two words"
//
// parsed, changed item by item and written again, instead of being glued together as text. Slurm's own
// grammar: items are separated by blanks, a value that starts with a double quote reaches to the next one,
// keys are case-insensitive. There is no escape character, so a value cannot hold both a blank and a double
// quote.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

class NodeConf {
 public:
  // Items with an empty value are dropped (`Topology=`, left by a variable that was not set), and those whose
  // value is literally $SLINKY_TOPOLOGY or $POD_TOPOLOGY; of a repeated key the last wins, in the first one's
  // place. A value wholly in single quotes, as other operators' arguments have it, is unquoted first.
  // kInvalid for an item without '=' and for a double quote that is not closed.
  static Result<NodeConf> Parse(std::string_view text);

  // The value of `key`; nullptr when there is none. Valid until the next Set.
  const std::string* Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  // Takes the item out; false when there is none.
  bool Remove(std::string_view key);

  // Replaces the item, or adds it at the end. An empty value changes nothing. REQUIRES: not both a blank and
  // a double quote in the value.
  void Set(std::string_view key, std::string_view value);

  bool empty() const { return items_.empty(); }

  // The items in order, quoted only where a value has blanks.
  std::string Text() const;

 private:
  std::vector<std::pair<std::string, std::string>> items_;
};

// Takes every `--conf X` and `--conf=X` out of `arguments` and returns them as one, later items winning. NodeName is left out,
// and that is said: the node's name is that of its pod.
// kInvalid when a value is missing or wrong; `arguments` is then unchanged.
Result<NodeConf> TakeNodeConf(std::vector<std::string>* arguments);

}  // namespace capstan::entry
