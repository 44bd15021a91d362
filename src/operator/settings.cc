#include "operator/settings.h"

#include "base/text.h"

namespace capstan::op {

std::string ClusterDomainOf(std::string_view resolv_conf) {
  constexpr std::string_view kServices = "svc.";
  for (const std::string_view line : Split(resolv_conf, '\n')) {
    const auto words = Words(line);
    if (words.empty() || words.front() != "search") continue;
    for (std::string_view word : words) {
      if (!word.starts_with(kServices)) continue;
      word.remove_prefix(kServices.size());
      if (word.ends_with('.')) word.remove_suffix(1);
      if (!word.empty()) return std::string(word);
    }
  }
  return Settings().cluster_domain;
}

}  // namespace capstan::op
