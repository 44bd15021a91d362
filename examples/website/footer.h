// A question: what a Decide needs to know and nobody watches. The ConfigMaps of a cluster are many, and all but a few are
// none of our business; only the one that a Website names is read.
#pragma once

#include <string>
#include <utility>

#include "kube/resource.h"
#include "plan/question.h"

namespace website {

struct Footer final : capstan::plan::Question {
  using Value = std::string;

  explicit Footer(capstan::kube::Key config_map) : key(std::move(config_map)) {}

  std::string id() const override { return "footer " + key.ToString(); }

  // The text under footer.html, "" when there is no such key. Absent: there is no such ConfigMap.
  capstan::async::Task<capstan::Result<std::optional<Fetched>>> Fetch(capstan::plan::Services& services,
                                                                      capstan::async::Deadline deadline) const override;

  capstan::kube::Key key;
};

}  // namespace website
