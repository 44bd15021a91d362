// What doctor says: for people, and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "doctor/causes.h"
#include "doctor/shared_volume.h"

namespace capstan::doctor {

// A paragraph for each finding, most serious first, then what could not be looked at.
std::string TextReport(const std::vector<Finding>& findings, const Cluster& cluster, bool colours);

// {"healthy": false, "findings": [{"severity", "cause", "object", "what", "todo"}], "notSeen": ["..."]}
std::string JsonReport(const std::vector<Finding>& findings, const Cluster& cluster);

// The same of a volume: {"healthy", "claim", "nodes", "filesPerSecond", "seenAfterMs", "findings", "left"}.
std::string TextReport(const VolumeReport& report, bool colours);
std::string JsonReport(const VolumeReport& report);

}  // namespace capstan::doctor
