// The files below /etc/slurm, as they are mounted: which there are, and their digests.
//
// Keys (*.key, *.jwks) are no part of it: whoever changes one restarts the daemon. jwks.json is, as its digest is compared,
// and still a key: it is never kept.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

struct Configuration {
  std::map<std::string, std::string> files;            // name: text
  std::map<std::string, std::string> digests() const;  // name: SHA-256 in hex

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// What is in `folder` now. A volume changes all at once, by its link ..data: nullopt when that happened meanwhile, or when
// something cannot be read.
std::optional<Configuration> ReadFiles(const std::string& folder);
// The same; nullopt without a slurm.conf, too.
std::optional<Configuration> ReadConfiguration(const std::string& folder);

// Whether a file of this name holds keys: it always comes from the mount, so that one that was taken back stays so.
bool IsKeyFile(std::string_view name);

Configuration WithoutKeys(Configuration configuration);

// Makes `folder` hold these files and no others, for their owner alone to read and to run, and links to the keys that are in
// `keys`. A file that is there is replaced at once.
Result<void> WriteConfiguration(const Configuration& configuration, const std::string& keys, const std::string& folder);

// Of its slurm.conf; "" when it does not say. Of one that is there twice the last counts.
std::string OptionOf(const Configuration& configuration, std::string_view key);

// The names of its slurmctld, in the order in which they take over; of several, one is in charge.
std::vector<std::string> SlurmctldHosts(const Configuration& configuration);

}  // namespace capstan::entry
