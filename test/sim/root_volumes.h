// The volumes of shared roots, and the Jobs that write to them as Kubernetes runs these: late, more than once, and on when nobody wants
// them any more.
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
  // A SharedRoot whose volume has not what its spec asks for, or not what its status says; nullopt: none.
  std::optional<std::string> Unmatched() const;

 private:
  // As entry/root/volume.h keeps it.
  struct Volume {
    std::set<std::string> filled;
    std::string current;  // generation and kept folders; "": none is current
    std::string orderer;  // uid of the SharedRoot whose switch was made last
    int64_t order = 0;
  };
  // What a Job's pod does, from its command.
  struct Work {
    kube::Key job;
    std::string uid, claim, what, generation, keep, orderer;
    int64_t order = 0;
    std::string Current() const { return generation + keep; }
  };

  void Begin(const json::Value& job);
  void Run(const Work& work, bool outlives_its_job);
  bool IsThere(const Work& work) const;
  std::optional<std::string> Write(Volume& volume, const Work& work);
  void Report(const Work& work, const std::optional<std::string>& refused);
  Volume* VolumeOf(const kube::Key& claim);

  Machines& machines_;
  std::map<std::string, Volume> volumes_;  // by uid of the claim
  std::set<std::string> has_failed_;       // names of Jobs: none fails twice by chance
  std::optional<std::string> broken_;
};

}  // namespace capstan::sim
