// Label and field selectors, as the API server reads them. For the modelled server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace capstan::kube::testing {

// "app=slurmd,tier!=x,ready,!gone,zone in (a, b),zone notin (c)" for labels,
// "metadata.name=a,spec.nodeName!=" for fields.
class Selector {
 public:
  Selector() = default;  // matches everything
  static Result<Selector> Parse(std::string_view text);

  bool MatchesLabels(const json::Value& object) const;
  bool MatchesFields(const json::Value& object) const;

 private:
  enum class Operator : uint8_t { kIn, kNotIn, kExists, kAbsent };
  struct Requirement {
    std::string key;
    Operator op;
    std::vector<std::string> values;
  };
  static bool Holds(const Requirement& requirement, const std::string* value);

  std::vector<Requirement> requirements_;
};

}  // namespace capstan::kube::testing
