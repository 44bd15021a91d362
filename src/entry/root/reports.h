// Which generations of a shared root a pod has, as it says itself on the volume.
//
// meta/pods/U, of the pod with the uid U, has a line each: "capstan-root-report 1", "generation G" of every one that sessions or steps
// of it may be in, "end". A pod says so of a generation before it makes its tree, and looks then whether that one is still current: once a
// generation is no longer current, a pod whose report does not name it will not enter it. One that has no report may be in any.
// Every ten minutes a pod writes its report again, so that its time tells whether the pod is there.
// For any thread.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

inline constexpr std::chrono::minutes kReportEvery{10};
// Without a new one a pod that nobody knows is gone.
inline constexpr std::chrono::hours kReportLasts{1};

std::string ReportText(const std::set<std::string>& generations);

// "": it is written. Else why not (a volume that is full takes no file): what is there names no less, or nothing is there. An Error: what
// is there names too few.
Result<std::string> WriteReport(const std::string& volume, const std::string& pod,
                                const std::set<std::string>& generations);

// kNotFound: it has none. kInvalid: it is no report, or a later version's.
Result<std::set<std::string>> ReadReport(const std::string& volume, const std::string& pod);

// The pods that have one which they wrote in the last hour, by the clock of the volume; those of days ago are removed. REQUIRES:
// `lock` is a file of the volume that is open for writing.
Result<std::vector<std::string>> ReportingPods(const std::string& volume, const Descriptor& lock);

}  // namespace capstan::entry
