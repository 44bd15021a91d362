// Tries whether a volume can hold a shared root (api/sharedroot.h), by two pods on two nodes that mount it and tell each other files
// (entry/root/probe.h). Unlike all else here it writes: two pods, a folder meta/<id> on the volume while they run, and, where there is no
// claim yet, a claim that goes with them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "async/task.h"
#include "doctor/causes.h"
#include "net/http.h"

namespace capstan::doctor {

struct VolumeQuestion {
  std::string ns;
  std::string claim = {};          // to be tried; empty: one that is made
  std::string storage_class = {};  // of that
  std::string size = "1Gi";        // of that
  std::string image = {};          // with capstan-entry; empty: the operator's image of slurmd
  std::string id;  // of the pods, the claim and the folder; a DNS label of at most 50 characters that nothing else has
  Duration patience = std::chrono::minutes(5);  // for all of it
  const bool* interrupted = nullptr;            // once it is true: end early, with nothing left behind
};

struct VolumeReport {
  std::string claim;
  std::vector<std::string> nodes;  // where the pods were
  std::vector<Finding> findings;   // most serious first; of VolumeCauses()
  int64_t files_per_second = 0;    // 0: it was not seen
  int64_t seen_after_ms = 0;       // the same
  std::vector<std::string> left;   // what could not be deleted, a sentence each
};

// What a finding's cause can be, and what that means.
std::span<const std::pair<std::string_view, std::string_view>> VolumeCauses();

// kNotFound: there is no such claim. All else: the volume could not be tried at all. Pods and claim are gone then, too, as far as the
// server lets us. REQUIRES: loop and transport outlive the task.
async::Task<Result<VolumeReport>> TryVolume(async::Loop& loop, net::Transport& http, VolumeQuestion question);

}  // namespace capstan::doctor
