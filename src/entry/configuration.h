// The files below /etc/slurm, as they are mounted: which there are, and their digests.
//
// Keys (*.key, *.jwks) are no part of it: whoever changes one restarts the daemon.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::entry {

struct Configuration {
  std::map<std::string, std::string> files;            // name: text
  std::map<std::string, std::string> digests() const;  // name: SHA-256 in hex

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

// What is in `folder` now. A volume changes all at once, by its link ..data: nullopt when that happened meanwhile, when
// something cannot be read, or without a slurm.conf.
std::optional<Configuration> ReadConfiguration(const std::string& folder);

// Of its slurm.conf; "" when it does not say. Of one that is there twice the last counts.
std::string OptionOf(const Configuration& configuration, std::string_view key);

// The names of its slurmctld, in the order in which they take over; of several, one is in charge.
std::vector<std::string> SlurmctldHosts(const Configuration& configuration);

}  // namespace capstan::entry
