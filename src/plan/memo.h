// What was last applied where, so that a child that is as we left it is left alone.
//
// A child needs no call while the hash of what we want is the one last applied and our own managedFields entry is the
// one that apply returned: any change or removal of our fields by somebody else alters that entry. A restart forgets
// all of it and applies once more, which changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"

namespace capstan::plan {

class AppliedMemo {
 public:
  struct Applied {
    std::string uid;
    uint64_t content = 0;  // hash of the body we applied
    uint64_t fields = 0;   // digest of our managedFields entry in the answer
  };

  // `what` names an object and, behind a slash, its subresource: "StatefulSet slurm/main-controller",
  // "NodeSet slurm/main/status".
  bool Matches(const std::string& what, const Applied& now) const;

  // Records an apply that the server accepted.
  void Record(const std::string& what, Applied applied, Tick now);

  // This process has applied it, whatever became of it since.
  bool Knows(const std::string& what) const { return entries_.contains(what); }

  void Forget(const std::string& what);

  // The same content applied five times within ten minutes: somebody keeps undoing it. Says how often; nullopt when
  // there is no fight.
  std::optional<int> Fight(const std::string& what, uint64_t content, Tick now) const;

 private:
  struct Entry {
    Applied applied;
    std::vector<Tick> times;  // of the applies with this content, the latest last; at most kFightTimes
  };
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace capstan::plan
