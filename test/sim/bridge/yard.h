// The world of one run of the bridge's simulator: a modelled API server with nodes, a scheduler, kubelets and the controllers of
// workloads; a modelled Slurm that places jobs; and what a run is told in. All of it in one loop's virtual time and drawn from
// one seed.
//
// The bridge is the only user of the wires. `connected` is its process: once false, nothing that it sends takes effect any more.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/random.h"
#include "bridge/mark.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "kube/testing/fake_api_server.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::sim::bridge {

using namespace capstan::bridge;  // NOLINT(google-build-using-namespace): all of it is about these

inline constexpr auto kNs = "ml";

// What keeps pods: they are made again, or others in their place, until all work is done or the workload is deleted.
struct Workload {
  enum class Kind : uint8_t { kBare, kReplicas, kGang, kPodGroup, kWorkers, kJobSet };
  Kind kind;
  std::string name;
  int size = 1;
  Duration runs_for{0};  // of each pod; 0: until it is deleted
  int made = 0;          // pods, in all
  bool deleted = false;

  bool IsGang() const { return kind == Kind::kGang || kind == Kind::kWorkers || kind == Kind::kJobSet; }
};

class Yard {
 public:
  Yard(uint64_t seed, int nodes, bool echo);

  async::VirtualLoop loop;
  Random random;
  kube::testing::FakeApiServer api;
  slurm::testing::FakeSlurm slurm;
  slurm::testing::FakeSlurmrestd rest;
  const Settings settings;
  bool connected = false;
  bool has_lost_jobs = false;  // slurmctld has: a gang may be left with fewer places than it has pods

  // What Slurm's REST API does to requests besides.
  struct SlurmFault {
    slurm::testing::Fault kind = slurm::testing::Fault::kNone;
    unsigned percent = 0;
  } fault;
  // Asked of each request of the bridge to slurmrestd, before anything becomes of it.
  std::function<void(const net::Request&)> on_request;

  // --- What users and administrators do
  Workload& Add(Workload::Kind kind, int size, Duration runs_for);
  void Delete(Workload& workload);
  void Annotate(Workload& workload, const std::string& annotation, const std::string& value);
  void Cordon(const std::string& node, bool cordoned);
  void SetReady(const std::string& node, bool ready);
  std::vector<Workload>& workloads() { return workloads_; }

  // --- What there is
  const std::vector<std::string>& nodes() const {
    return nodes_;
  }  // of Kubernetes; k0, k1, ... are s0, s1, ... in Slurm
  static std::string SlurmNode(const std::string& node) { return "s" + node.substr(1); }
  static std::string KubernetesNode(const std::string& slurm_node) { return "k" + slurm_node.substr(1); }
  std::vector<Pod> Pods() const;
  std::vector<Pod> PodsOf(const Workload& workload) const;
  const std::string& cluster() const { return cluster_; }
  // The mark of a job, if it is this bridge's.
  std::optional<JobMark> MarkOf(const slurm::Job& job) const;

  // --- The story
  void Say(const std::string& line);
  const std::vector<std::string>& story() const { return story_; }

  Duration UpTo(Duration most) { return Duration(int64_t(random.Below(uint64_t(most.count()) + 1))); }
  Duration Between(Duration least, Duration most) { return least + UpTo(most - least); }
  void After(Duration wait, std::function<void()> work) { loop.Schedule(loop.Now() + wait, std::move(work)); }

 private:
  void Tick();
  void Control(Workload& workload);
  void ControlJobSet(Workload& workload, const std::vector<Pod>& pods);
  void MakePod(Workload& workload, int index = 0);  // of its Job, in a JobSet
  void Schedule(const Pod& pod);
  void Start(const Pod& pod);
  void End(const Pod& pod, const Workload& workload);
  void PlaceJobs();
  bool Place(int64_t id, const std::set<std::string>& kept);
  void EditPod(const kube::Key& key, std::string_view subresource, const std::function<void(json::Value&)>& edit);

  const bool echo_;
  std::string cluster_;
  std::vector<std::string> nodes_;
  std::vector<Workload> workloads_;
  std::map<std::string, ::capstan::Tick> starts_;  // of pods that are bound, by uid
  std::map<std::string, ::capstan::Tick> ends_;    // of pods that run, by uid
  std::vector<std::string> story_;
};

}  // namespace capstan::sim::bridge
