// The configuration that slurmctld ran with last, kept in the file "capstan-kept" beside its state.
//
// It holds no keys (IsKeyFile). Whoever may write there may write slurmctld's state as well, so the file is believed as that
// is; what is cut off or damaged is found by its digest, and counts as none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "entry/configuration.h"

namespace capstan::entry {

struct Kept {
  Configuration configuration;  // without keys
  Time since{};                 // when it became live; whole seconds

  friend bool operator==(const Kept&, const Kept&) = default;
};

// The text of the file. The same value gives the same bytes.
std::string KeptText(const Kept& kept);
// kInvalid: it is cut off, damaged, or written by a release that does it otherwise.
Result<Kept> ParseKept(std::string_view text);

// Where it is for this configuration; "" when that names no StateSaveLocation.
std::string KeptPath(const Configuration& configuration);

// nullopt: there is none. kUnavailable: it cannot be read; kInvalid as above.
Result<std::optional<Kept>> ReadKept(const std::string& path);
// All at once, 0600, Slurm's user's. kInvalid: it has more than 8 MiB. What was there stays when it fails.
Result<void> WriteKept(const std::string& path, const Kept& kept);

// Why slurmctld may not be started with `kept` where `mounted` is wanted, in a few words; nullopt: it may. Both must agree on who
// the cluster is and how its daemons find and trust each other: ClusterName, SlurmctldHost, StateSaveLocation, SlurmUser, the
// ports, and all that begins with Auth. Lines that cannot be read are passed over, and files of `Include` are followed.
std::optional<std::string> WhyNotInsteadOf(const Configuration& mounted, const Configuration& kept);

// `kept`, with those partitions of `mounted` that it lacks: slurmctld ends the jobs of a partition that is missing, and which ones
// jobs name is not known before it runs. They are closed (State=DRAIN) and have no nodes, as their own line may be what
// slurmctld refuses: their jobs run on, or wait.
Configuration WithPartitionsOf(const Configuration& mounted, Configuration kept);

// The first file that is included and not there: slurmctld would wait for it for a minute, and answer nobody. Only a name
// without a folder is looked for.
std::optional<std::string> MissingInclude(const Configuration& configuration);

}  // namespace capstan::entry
