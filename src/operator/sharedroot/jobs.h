// The objects that a SharedRoot turns into. Pure functions, given a SharedRoot whose spec has its defaults.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/sharedroot.h"
#include "base/result.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::sharedroot {

// Where Jobs have the volume, and pods of the cluster too.
inline constexpr std::string_view kVolumePath = "/capstan/root";

// Of the claim: the one that spec names, or <name>-root.
std::string ClaimName(const api::SharedRoot& root);
// Of the generation that spec asks for: "g-1a2b3c4d5e", from its image and revision.
std::string GenerationName(const api::SharedRootSpec& spec);

// The Jobs: what each does for a volume (the uid of its claim) is in its name, so that a Job which has done something else is not taken for
// it. kInvalid: spec.template cannot be laid over it.
Result<plan::Child> FillJob(const api::SharedRoot& root, const std::string& claim_uid, const Settings& settings);
Result<plan::Child> SwitchJob(const api::SharedRoot& root, const std::string& claim_uid, const Settings& settings);
// Which metadata.generation a switch is of; nullopt: the Job is none.
std::optional<int64_t> SwitchedBy(const api::SharedRoot& root, std::string_view job);

// How the container of a switch to a generation ends that is not on the volume (entry/root/jobs.h).
inline constexpr int kNotOnVolume = 66;

// As canonical JSON. The claim has no owner.
std::string ClaimBody(const api::SharedRoot& root);

}  // namespace capstan::op::sharedroot
