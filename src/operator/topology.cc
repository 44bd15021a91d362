#include "operator/topology.h"

#include <algorithm>

#include "base/text.h"
#include "kube/resource.h"
#include "operator/names.h"

namespace capstan::op {
namespace {

constexpr std::string_view kFirstSwitch = "default:root/:";  // of the topology "default"
constexpr size_t kLongestName = 63;

bool IsLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// As the API server takes it.
bool IsLabelName(std::string_view text) {
  if (const size_t slash = text.find('/'); slash != text.npos) {
    if (!kube::IsDnsSubdomain(text.substr(0, slash))) return false;
    text.remove_prefix(slash + 1);
  }
  const auto fits = [](char c) { return IsLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, fits) &&
         IsLetterOrDigit(text.front()) && IsLetterOrDigit(text.back());
}

std::unexpected<Error> Unfit(const std::string& text) {
  return Fail(Code::kInvalid, "the annotation " + std::string(kAnnotationTopologyLabels) + " " + text);
}

}  // namespace

Result<std::vector<std::string>> TopologyLabels(const api::Controller& controller) {
  static const std::string key(kAnnotationTopologyLabels);
  std::vector<std::string> labels;
  if (controller.metadata.annotations.empty()) return labels;
  for (std::string_view one : Split(controller.metadata.Annotation(key), ',')) {
    one = Trim(one);
    if (one.empty()) continue;
    if (!IsLabelName(one)) {
      return Unfit("has " + JsonQuoted(OneLine(one, 100)) +
                   ", which is no name of a label; name labels of Kubernetes nodes from root to leaf, such as "
                   "example.org/spine,example.org/leaf");
    }
    labels.emplace_back(one);
  }
  if (labels.size() > kMostTopologyLabels) {
    return Unfit("names " + std::to_string(labels.size()) + " labels, and at most " +
                 std::to_string(kMostTopologyLabels) + " are followed");
  }
  return labels;
}

std::string TopologyOfOneSwitch() {
  return "- topology: default\n"
         "  cluster_default: true\n"
         "  tree:\n"
         "    switches:\n"
         "      - switch: root/\n";
}

std::string PlaceBelow(const std::vector<std::string>& values) {
  std::string place(kFirstSwitch), above;
  for (const std::string& value : values) {
    if (!above.empty()) {
      above += '/';
      place += above + ':';
    }
    above += value;
  }
  return place + above;
}

std::string UnknownPlace() { return std::string(kFirstSwitch) + "unknown"; }

bool IsInTree(std::string_view place) { return place.starts_with(kFirstSwitch) && !place.contains(','); }

}  // namespace capstan::op
