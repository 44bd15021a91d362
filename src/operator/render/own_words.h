// Words by which a user would make another daemon of ours: another node in Slurm, another slurm.conf, an empty state. They are
// left out of what the user wrote, and told.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/command_line.h"
#include "base/result.h"
#include "json/types.h"

namespace capstan::op::render {

struct OwnWords {
  const OptionSyntax& syntax;
  std::span<const std::string_view> options;  // "-N", "--conf-server"
};

// slurmd is the node that its pod is known by, and has its configuration from its Controller.
extern const OwnWords kSlurmdOwnWords;
// slurmctld has the configuration that is published, and its state: -c would end all jobs at each start.
extern const OwnWords kSlurmctldOwnWords;
// slurmrestd is its Controller's: the operator would take another cluster's nodes for its own. (slurmdbd has no such option, and
// nothing of the operator's rests on a login's sackd.)
extern const OwnWords kSlurmrestdOwnWords;

// A container's overrides (spec.slurmd) without them in `args`. kInvalid: it is no object.
Result<json::Raw> WithoutOwnWords(const json::Raw& user, const OwnWords& own, std::string_view where);

// Those that are left out, as a user knows them: "-N, --conf-server"; "": none.
std::string OwnWordsIn(const json::Raw& user, const OwnWords& own);

}  // namespace capstan::op::render
