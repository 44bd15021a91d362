// Who of several slurmctld has written the state they share, as the one in charge notes in the file "heartbeat" beside it
// every quarter of SlurmctldTimeout (slurm/src/slurmctld/heartbeat.c). Slurm itself lets none take over while it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "entry/configuration.h"

namespace capstan::entry {

struct Heartbeat {
  uint64_t server = 0;  // its place among the lines SlurmctldHost, from 0
  Time at{};            // by that one's clock, in seconds

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// Beside the state of this configuration. nullopt: there is none, or it cannot be read now.
std::optional<Heartbeat> ReadHeartbeat(const Configuration& configuration);

// Whether another slurmctld than that of `host` wrote last, of several that the configuration names.
bool StandsBy(const Configuration& configuration, const std::string& host);

}  // namespace capstan::entry
