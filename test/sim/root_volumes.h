// The volumes of shared roots; the Jobs that write to them as Kubernetes runs these: late, more than once, and on when nobody wants
// them any more; and the pods that have them: which roots their sessions are in, and what they report of that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/sharedroot.h"
#include "machines.h"

namespace capstan::sim {

class RootVolumes {
 public:
  // Listens to what becomes of Jobs. REQUIRES: `machines` outlives this.
  explicit RootVolumes(Machines& machines);

  // What was done wrong first; nullopt: nothing.
  const std::optional<std::string>& broken() const { return broken_; }
  // A Job that is to switch the SharedRoot has not ended.
  bool IsSwitching(const kube::Key& root) const;
  // All sessions end that are in another root than the current one, from now on at once, and what was in use is to be removed anew.
  void EndSessions();
  // A SharedRoot whose volume has not what its spec asks for, or not what its status says, or more old roots than it may once sessions
  // have ended; nullopt: none.
  std::optional<std::string> Unmatched() const;

 private:
  // As entry/root/volume.h keeps it.
  struct Volume {
    std::set<std::string> filled, removed;
    std::string generation;  // that is current
    std::string current;     // and kept folders; "": none is current
    std::string orderer;     // uid of the SharedRoot whose switch was made last
    int64_t order = 0;
  };
  // What a Job's pod does, from its command.
  struct Work {
    kube::Key job;
    std::string uid, claim, what, keep, orderer;
    std::vector<std::string> generations;  // a removal has several
    std::vector<std::string> pods;         // uids
    int64_t order = 0;
    const std::string& generation() const { return generations.front(); }
    std::string Current() const { return generation() + keep; }
  };
  // How it went: what its pod says, or why it failed.
  struct Outcome {
    std::string said;
    std::optional<std::string> refused = {};
    int exit_code = 0;  // of the container
  };
  // A pod that has a volume. It reports a generation before sessions are in it, and on for a moment when they have left; or it is mute, as
  // one of an older image is.
  struct User {
    kube::Key pod, claim;
    std::string in;  // the generation of sessions that begin now
    std::map<std::string, int> has, says;
    bool mute = false;
  };

  void Begin(const json::Value& job);
  void Run(const Work& work, bool outlives_its_job);
  bool IsThere(const Work& work) const;
  Outcome Write(Volume& volume, const Work& work);
  Outcome Remove(Volume& volume, const Work& work);
  std::string WhyKept(const std::string& generation, const Work& work) const;
  void Report(const Work& work, const Outcome& outcome);
  void PutPod(const Work& work, const Outcome& outcome);
  Volume* VolumeOf(const kube::Key& claim);
  void SeePod(const json::Value& pod);
  bool IsThere(const User& user, const std::string& uid) const;
  void Look(const std::string& uid);
  void Leave(const std::string& uid, const std::string& generation, bool began_after_the_end);

  Machines& machines_;
  std::map<std::string, Volume> volumes_;  // by uid of the claim
  std::map<std::string, User> users_;      // by uid of the pod
  std::set<std::string> has_failed_;       // names of Jobs: none fails twice by chance
  bool sessions_end_ = false;
  std::optional<std::string> broken_;
};

}  // namespace capstan::sim
