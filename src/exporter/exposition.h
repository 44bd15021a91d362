// Series in the text format of Prometheus (0.0.4), family by family.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace capstan::exporter {

// A label's value: any text; what Prometheus would not take is written so that it does.
struct Label {
  std::string_view name;
  std::string_view value;
};

class Exposition {
 public:
  // `cluster`: the value of a label "cluster" of every series; empty: they have none.
  explicit Exposition(std::string_view cluster);

  // REQUIRES: each family is begun once; its samples come before the next one's. A family without samples is not shown.
  void Family(std::string_view name, std::string_view help, std::string_view type = "gauge");
  void Sample(std::initializer_list<Label> labels, int64_t value);
  void Sample(std::initializer_list<Label> labels, double value);

  std::string Take() { return std::move(text_); }

 private:
  void Begin(std::initializer_list<Label> labels);

  std::string text_, cluster_;
  std::string_view name_;
  std::string head_;  // of the family, until its first sample
};

}  // namespace capstan::exporter
