// What was last applied where, so that a child that is as we left it is left alone.
//
// A child needs no call while the hash of what we want is the one last applied and our own managedFields entry is the
// one that apply returned: any change or removal of our fields by somebody else alters that entry. A restart forgets
// all of it and applies once more, which changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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

  struct Target {
    const std::string& owner;  // UID of the object for whose sake it is applied
    // An object and, behind a slash, its subresource: "StatefulSet slurm/main-controller", "NodeSet slurm/main/status".
    const std::string& what;
  };

  bool Matches(const Target& target, const Applied& now) const;

  // An apply is on its way. Until one is recorded nobody knows what stands there, as its answer may be lost: no match.
  void Doubt(const Target& target);

  // Records an apply that the server accepted.
  void Record(const Target& target, Applied applied, Tick now);

  // This process has applied it for that owner, whatever became of it since, and has not been told to forget it.
  bool Knows(const Target& target) const { return Find(target) != nullptr; }

  // The same content applied five times within ten minutes: somebody keeps undoing it. Says how often; nullopt when
  // there is no fight.
  std::optional<int> Fight(const Target& target, uint64_t content, Tick now) const;

  // An apply has made it, as it was not there. REQUIRES: Knows(target).
  void Made(const Target& target, Tick now);

  // What was made three times within ten minutes is deleted by somebody each time (it may have an owner that is gone, which
  // a watch that is behind still shows). It is made again after a wait that doubles from a second to a minute: says how often
  // it was made and from when it may be again; nullopt: now.
  struct Remade {
    int times;
    Tick at;
  };
  std::optional<Remade> MayBeMadeAgain(const Target& target, Tick now) const;

  // The owner is gone.
  void Forget(const std::string& owner) { owners_.erase(owner); }

  // Forgets what was applied for `owner` and is not among `targets`.
  void KeepOnly(const std::string& owner, const std::set<std::string>& targets);

  // How many targets it knows, for all owners together and for one.
  size_t size() const;
  size_t SizeOf(const std::string& owner) const;

 private:
  struct Entry {
    Applied applied;
    bool certain = true;
    std::vector<Tick> times;  // of the applies with this content, the latest last; at most kFightTimes
    std::vector<Tick> made;   // when it was made, the latest last; at most kMadeTimes
  };
  const Entry* Find(const Target& target) const;

  std::unordered_map<std::string, std::unordered_map<std::string, Entry>> owners_;  // by UID, then by what
};

}  // namespace capstan::plan
