// The Kubernetes cluster of one run: a modelled API server, nodes, a scheduler and kubelets; and what a run is told in.
// All of it in one loop's virtual time and drawn from one seed.
//
// The operator is the only user of the wires to the API server and to the sites. `connected` is its process: once false,
// nothing that it sends takes effect any more.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "base/random.h"
#include "kube/testing/fake_api_server.h"

namespace capstan::sim {

class Site;

// What happened, line by line, with virtual times. Printed when a run fails.
class Story {
 public:
  Story(const async::Loop& loop, bool echo) : loop_(loop), echo_(echo) {}
  void Add(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const async::Loop& loop_;
  bool echo_;
  std::vector<std::string> lines_;
};

inline constexpr std::string_view kPool = "pool";  // the label; its value is "slurm"
// The label of pods whose slurmd calls itself otherwise than its worker is called: what it puts before that name. Those whose
// image has no capstan-entry have kMute, too.
inline constexpr std::string_view kNamedBy = "named-by", kMute = "mute";

// Under which the slurmd of a pod registers; "": called as its machine, and not placed on one yet.
std::string HostOf(const json::Value& pod);

class Machines {
 public:
  struct Options {
    int machines = 3;            // Kubernetes nodes
    bool share_machines = true;  // several workers on one
  };
  Machines(uint64_t seed, Options options, bool echo);

  async::VirtualLoop loop;
  Story story;
  Random random;
  const Options options;
  kube::testing::FakeApiServer api;
  bool connected = false;

  // Called for each request of the operator that changes something, as it has taken effect or was refused.
  std::function<void(const kube::testing::ApiWrite&)> on_write;

  // --- Sites. REQUIRES: `site` outlives this.
  void Add(Site& site) { sites_.push_back(&site); }
  // Whose slurmctld or slurmrestd has this address ("http://main-restapi.slurm.svc.cluster.local.:6820", "main-controller.slurm:6817");
  // nullptr: nobody's.
  Site* SiteAt(std::string_view address) const;

  // --- What users and administrators do
  void MakeNamespace(const std::string& ns);  // and the nodes, with the first one
  void Cordon(const std::string& machine);
  void Uncordon(const std::string& machine);
  void Annotate(const std::string& machine, const std::string& feature);  // "": no longer
  // Whether it has the label kPool, which workers of some NodeSets ask for.
  void PutInPool(const std::string& machine, bool in);
  // Off at once: its slurmds are gone, its kubelet is silent, and Kubernetes notices that after a while.
  void PowerOff(const std::string& machine);
  // Kubernetes does not hear from it, as if it were off; its slurmds run on, and Slurm hears them.
  void CutOff(const std::string& machine);
  // Its Node object. Kubernetes removes the pods that stand on it after a while.
  void DeleteNode(const std::string& machine);
  // On again, with a Node object, and what is left of its pods begins anew.
  void Boot(const std::string& machine);  // of one that was cut off: it is heard again
  void DeletePod(const kube::Key& pod);
  void FailPod(const kube::Key& pod);  // evicted by its kubelet

  // --- What there is
  const std::set<std::string>& cordoned() const { return cordoned_; }
  bool IsThere(const std::string& machine) const;  // it is on, and has a Node object
  // Gone, cordoned or not ready, as Kubernetes shows it, for longer than the operator may take for one action.
  bool TakesNoWork(const std::string& machine) const;
  std::string MachineOf(const kube::Key& pod) const;  // "" when it has none
  bool IsStarting(const kube::Key& pod) const;        // it runs, and its slurmd has not begun
  // What the pod at `url` answers about its slurmd (entry/identity.h), which has it looked at (entry/registration.h).
  async::Task<Result<net::Response>> AskPod(std::string url);
  std::vector<const json::Value*> PodsIn(const std::string& ns) const;
  std::vector<const json::Value*> Nodes() const;

  // A custom resource as it is, or was last; and the last one of that name with another uid. Null: never seen.
  struct Known {
    kube::testing::Stored object, former;
  };
  Known Last(const kube::Resource& resource, const kube::Key& key) const;

  Duration UpTo(Duration most) { return Duration(int64_t(random.Below(uint64_t(most.count()) + 1))); }
  Duration Between(Duration least, Duration most) { return least + UpTo(most - least); }
  void After(Duration wait, std::function<void()> work) { loop.Schedule(loop.Now() + wait, std::move(work)); }
  void Report(const kube::Resource& resource, const kube::Key& key, int ready);  // as a workload's controller does

 private:
  void Changed(const kube::testing::FakeTable& table);
  void NoteWork(const kube::testing::FakeTable& nodes);
  void Written(const kube::testing::ApiWrite& write);
  Site* SiteOf(const json::Value& pod) const;

  // Pods, as scheduler and kubelets have them.
  void Place(const kube::Key& key, const std::string& uid);
  std::string FreeMachine(const json::Value& pod);
  void Start(const kube::Key& key, const std::string& uid);
  bool StartSlurmd(const kube::Key& key, const std::string& uid);
  const std::string& AddressOf(const std::string& uid);
  void SayThatItRuns(const kube::Key& key, const std::string& uid);
  void BecomeReady(const kube::Key& key, const std::string& uid);
  std::optional<Duration> Stop(const json::Value& pod);
  const json::Value* Living(const kube::Key& key, const std::string& uid) const;
  void PlaceWaiting();

  // Machines, as cloud and node lifecycle controllers have them.
  std::vector<kube::Key> PodsOn(const std::string& machine) const;
  void PutNode(const std::string& machine);
  void EditNode(const std::string& machine, std::string_view subresource,
                const std::function<void(json::Value&)>& edit);
  void NoteSilence(const std::string& machine);
  void CollectPodsOf(const std::string& machine);
  void EndOrphansOn(const std::string& machine);
  void EndTerminating(const kube::Key& pod);

  std::vector<Site*> sites_;
  std::vector<std::pair<kube::Key, std::string>> unplaced_;  // and their uids
  std::set<std::string> cordoned_;
  std::set<std::string> off_;      // to Kubernetes
  std::set<std::string> cut_off_;  // those of them whose slurmds run
  struct Orphan {
    Site* site;
    std::string host, uid;
  };
  std::map<std::string, std::vector<Orphan>>
      orphans_;                                   // slurmds whose pods were deleted while their machine was cut off
  std::map<std::string, std::string> addresses_;  // of pods that have begun, by uid
  std::map<std::string, Tick> no_work_since_;
  std::map<std::pair<std::string_view, kube::Key>, Known> known_;  // by kind
};

}  // namespace capstan::sim
