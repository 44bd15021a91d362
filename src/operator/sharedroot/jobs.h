// The objects that a SharedRoot turns into. Pure functions, given a SharedRoot whose spec has its defaults.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/sharedroot.h"
#include "base/result.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::sharedroot {

// Where Jobs have the volume, and pods of the cluster too.
inline constexpr std::string_view kVolumePath = "/capstan/root";

// Of the claim: the one that spec names, or <name>-root.
std::string ClaimName(const api::SharedRoot& root);
// Where spec.mounts are.
std::vector<std::string> MountPaths(const api::SharedRootSpec& spec);
// Of the generation that spec asks for: "g-1a2b3c4d5e", from its image and revision.
std::string GenerationName(const api::SharedRootSpec& spec);

// The Jobs: what each does for a volume (the uid of its claim) is in its name, so that a Job which has done something else is not taken for
// it. kInvalid: spec.template cannot be laid over it.
Result<plan::Child> FillJob(const api::SharedRoot& root, const std::string& claim_uid, const Settings& settings);
Result<plan::Child> SwitchJob(const api::SharedRoot& root, const std::string& generation, const std::string& claim_uid,
                              const Settings& settings);
// Of spec.files those whose texts are there, with the SHA-256 (hex) that each has to have.
struct KnownFile {
  api::RootFile file;
  std::string sha256;
};
Result<plan::Child> FilesJob(const api::SharedRoot& root, const std::string& generation,
                             const std::vector<KnownFile>& files, const std::string& claim_uid,
                             const Settings& settings);
// Of generations that none of `pods` (PodsWithClaim) has, while the current one is that of status.
Result<plan::Child> RemoveJob(const api::SharedRoot& root, const std::vector<std::string>& generations,
                              const std::vector<std::string>& pods, const std::string& claim_uid,
                              const Settings& settings);
// The switch that made the current root, as the volume has it.
std::string OrderOf(const api::SharedRoot& root, int64_t generation);
// Which metadata.generation a switch is of; nullopt: the Job is none.
std::optional<int64_t> SwitchedBy(const api::SharedRoot& root, std::string_view job);

// What follows the name of the SharedRoot in those of its Jobs.
inline constexpr std::string_view kFill = "-fill-", kSwitch = "-switch-", kRemove = "-remove-", kFiles = "-files-";
inline constexpr std::string_view kJobs[] = {kFill, kSwitch, kRemove, kFiles};

// How the names of Jobs begin that are to remove these generations after that switch, whatever the pods.
std::string RemovalPrefix(const api::SharedRoot& root, const std::vector<std::string>& generations);

// How long a Job of removals is there once it has ended: then what was in use is asked for anew.
inline constexpr Duration kRemovalsEvery = 1h;

// How the container of a switch to a generation ends that is not on the volume (entry/root/jobs.h).
inline constexpr int kNotOnVolume = 66;

// As canonical JSON. The claim has no owner.
std::string ClaimBody(const api::SharedRoot& root);

}  // namespace capstan::op::sharedroot
