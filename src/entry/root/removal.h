// Removes generations of a shared root that nobody is in.
//
// One goes when it is not current, no report of the last hour names it (reports.h), and each of the pods has a report. `order` is the switch
// that had been made when the pods were listed: a pod that was created since has never had another root than that of this switch. It gets
// another name first (RemovedFolder), so that it is whole or not there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "entry/root/volume.h"

namespace capstan::entry {

struct Removal {
  struct Pod {
    std::string name, uid;
  };
  std::string volume;
  std::vector<std::string> generations;
  std::vector<Pod> pods;  // all that may run and have the volume
  SwitchOrder order;
};

struct Removed {
  std::vector<std::string> removed;         // or not there
  std::map<std::string, std::string> kept;  // and why
};

// What others read: {"removed":["g1"],"kept":{"g2":"pod cpu-0 is in it"}}; of what is kept as much as a termination message has room for.
std::string RemovedText(const Removed& removed);

// kUnavailable: somebody else writes to the volume, or another switch has been made. Files that cannot be removed are said in the log, and
// stay for the next removal. Blocks for minutes. REQUIRES: root with DAC_OVERRIDE and FOWNER.
Result<Removed> RemoveGenerations(const Removal& removal);

}  // namespace capstan::entry
