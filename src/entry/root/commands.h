// Slurm's commands in a root that has none: those of the pod's image, which are always of its daemons' version, in any distribution.
//
// The image's /usr is at kImageUsr in every tree of mounts, and links in the root's /usr/bin lead to kCommandsFolder, where each is
// capstan-entry. Under a command's name it starts the image's program by the image's own loader, with the image's libraries. Its plugins
// are mounted where they were built to be.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "entry/root/tree.h"

namespace capstan::entry {

inline constexpr std::string_view kCommandsFolder = "/run/capstan/slurm";
inline constexpr std::string_view kImageUsr = "/run/capstan/image-usr";

inline constexpr auto kSlurmCommands = std::to_array<std::string_view>(
    {"sacct", "sacctmgr", "salloc", "sattach", "sbatch", "sbcast", "scancel", "scontrol", "scrontab", "sdiag", "sinfo",
     "sprio", "squeue", "sreport", "srun", "sshare", "sstat", "strigger"});

// Makes both folders, in the container's own view. kNotFound: this image has no commands, or no capstan-entry in its /usr.
// REQUIRES: CAP_SYS_ADMIN.
Result<void> OfferCommands();

// Slurm's plugins for a root whose commands are the image's; nullopt: it has its own, or the image has none.
std::optional<BindMount> PluginsFor(const std::string& root);

// The command of Slurm that a program is started as; "": it is none. Of argv[0].
std::string_view CommandOf(std::string_view program);

// Becomes that command. Returns only an Error.
Result<int> RunCommand(std::string_view command, const std::vector<std::string>& arguments);

}  // namespace capstan::entry
