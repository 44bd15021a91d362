#include "exporter/exposition.h"

#include <charconv>

#include "base/text.h"
#include "net/metrics.h"

namespace capstan::exporter {
namespace {

constexpr size_t kLongestValue = 256;  // bytes of a label's

void Append(std::string& out, auto number) {
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

void Append(std::string& out, const Label& label) {
  out.append(label.name).append("=\"").append(net::EscapedLabel(OneLine(label.value, kLongestValue))).append("\"");
}

}  // namespace

Exposition::Exposition(std::string_view cluster) {
  if (!cluster.empty()) Append(cluster_, Label{"cluster", cluster});
}

void Exposition::Family(std::string_view name, std::string_view help, std::string_view type) {
  name_ = name;
  head_ = "# HELP ";
  head_.append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void Exposition::Begin(std::initializer_list<Label> labels) {
  text_.append(head_).append(name_);
  head_.clear();
  if (labels.size() > 0 || !cluster_.empty()) {
    text_.append("{").append(cluster_);
    bool first = cluster_.empty();
    for (const Label& label : labels) {
      if (!first) text_ += ',';
      first = false;
      Append(text_, label);
    }
    text_ += '}';
  }
  text_ += ' ';
}

void Exposition::Sample(std::initializer_list<Label> labels, int64_t value) {
  Begin(labels);
  Append(text_, value);
  text_ += '\n';
}

void Exposition::Sample(std::initializer_list<Label> labels, double value) {
  Begin(labels);
  Append(text_, value);
  text_ += '\n';
}

}  // namespace capstan::exporter
