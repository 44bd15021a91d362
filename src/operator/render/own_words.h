// Words by which a user would make another daemon of ours: another node in Slurm, another slurm.conf, an empty state. They are
// left out of what the user wrote, and told.
// Read where they are written: in args, in the variable that capstan-entry puts before them (entry/role.h), and as Slurm's own
// variable SLURM_CONF. What a variable has from elsewhere (valueFrom, envFrom) is not seen here.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/command_line.h"
#include "base/result.h"
#include "json/types.h"

namespace capstan::op::render {

struct OwnWords {
  std::string_view container;  // "slurmd"; as everywhere, its overrides are spec.slurmd
  const OptionSyntax& syntax;
  std::span<const std::string_view> options;  // "-N", "--conf-server"
  std::string_view variable;                  // "SLURMD_OPTIONS"
};

// slurmd is the node that its pod is known by, and has its configuration from its Controller.
extern const OwnWords kSlurmdOwnWords;
// slurmctld has the configuration that is published, and its state: -c would end all jobs at each start.
extern const OwnWords kSlurmctldOwnWords;
// slurmrestd is its Controller's: the operator would take another cluster's nodes for its own. (slurmdbd has no such option, and
// nothing of the operator's rests on a login's sackd.)
extern const OwnWords kSlurmrestdOwnWords;

// The container's overrides without them. kInvalid: it is no object.
Result<json::Raw> WithoutOwnWords(const json::Raw& container, const OwnWords& own);

// The user's spec.template.spec without them in the container of that name. kInvalid: it is no object.
Result<json::Raw> PodWithoutOwnWords(const json::Raw& pod_spec, const OwnWords& own);

// Those that are left out of both, as a user knows them: "spec.slurmd: -N, SLURM_CONF". "": none.
std::string OwnWordsIn(const json::Raw& container, const json::Raw& pod_spec, const OwnWords& own);

}  // namespace capstan::op::render
