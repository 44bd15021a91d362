// What doctor says: for people, and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "doctor/causes.h"

namespace capstan::doctor {

// A paragraph for each finding, most serious first, then what could not be looked at.
std::string TextReport(const std::vector<Finding>& findings, const Cluster& cluster, bool colours);

// {"healthy": false, "findings": [{"severity", "cause", "object", "what", "todo"}], "notSeen": ["..."]}
std::string JsonReport(const std::vector<Finding>& findings, const Cluster& cluster);

}  // namespace capstan::doctor
