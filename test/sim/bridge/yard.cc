#include "yard.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "bridge/bridge_test.h"
#include "bridge/names.h"
#include "json/codec.h"
#include "json/value.h"

namespace capstan::sim::bridge {
namespace {

using json::Value;
using kube::testing::FakeTable;
using slurm::JobFlag;
using slurm::testing::Fault;

constexpr Duration kTick = 500ms;

const kube::Key kSystem{"", "kube-system"};

void SetCondition(Value& pod, const std::string& condition) {
  auto& list = json::MakeObject(pod, {"status"})["conditions"];
  if (!list.is_array()) list = *json::Parse("[]");
  const Value fresh = *json::Parse(condition);
  for (Value& one : list.as_array()) {
    if (json::FindText(one, {"type"}) != json::FindText(fresh, {"type"})) continue;
    one = fresh;
    return;
  }
  list.as_array().push_back(fresh);
}

}  // namespace

Yard::Yard(uint64_t seed, int nodes, bool echo)
    : random(seed),
      api(loop, random.Next()),
      slurm(loop),
      rest(slurm),
      settings(capstan::bridge::testing::TestSettings()),
      echo_(echo) {
  for (const kube::Resource& resource :
       {Job::kResource, PodGroup::kResource, LeaderWorkerSet::kResource, JobSet::kResource})
    api.objects().Serve(resource);
  api.objects().pod_stops_after = [this](const Value& pod) -> std::optional<Duration> {
    return json::FindText(pod, {"spec", "nodeName"}).empty() ? Duration(0) : Between(200ms, 8s);
  };
  api.deny = [this](auto, const auto&, const auto&) -> std::optional<kube::testing::Refusal> {
    if (connected) return std::nullopt;
    return kube::testing::Refusal{503, "ServiceUnavailable", "this process has ended"};
  };
  rest.SetFate([this](const net::Request& request) {
    if (!connected) return Fault::kRefused;
    const Fault drawn = random.Percent(fault.percent) ? fault.kind : Fault::kNone;
    if (on_request) on_request(request);
    return drawn;
  });
  cluster_ = std::string(
      json::FindText(api.Put(kube::kNamespaces, R"({"metadata":{"name":"kube-system"}})"), {"metadata", "uid"}));
  for (const char* name : {kNs, "others"})
    api.Put(kube::kNamespaces, R"({"metadata":{"name":")" + std::string(name) + "\"}}");
  slurm.partitions[settings.partition] = "UP";
  for (int i = 0; i < nodes; ++i) {
    const std::string node = "k" + std::to_string(i);
    nodes_.push_back(node);
    slurm.StartSlurmd({.name = SlurmNode(node), .address = "10.0.0.1", .features = {}, .topology = ""});
    api.Put(kube::kNodes, R"({"metadata":{"name":")" + node + R"(","labels":{")" + std::string(kSlurmNodeName) +
                              R"(":")" + SlurmNode(node) + R"("}},"spec":{}})");
    SetReady(node, true);
  }
  After(kTick, [this] { Tick(); });
}

void Yard::Say(const std::string& line) {
  char time[32];
  std::snprintf(time, sizeof(time), "%8.3f  ", double(loop.Now().time_since_epoch() / 1ms) / 1000);
  story_.push_back(time + line);
  if (echo_) std::fprintf(stderr, "%s\n", story_.back().c_str());
}

// --- Users and administrators ----------------------------------------------------------------------------------------

Workload& Yard::Add(Workload::Kind kind, int size, Duration runs_for) {
  static constexpr const char* kNames[] = {"bare", "web", "job", "pg", "lws", "set"};
  workloads_.push_back({.kind = kind,
                        .name = kNames[size_t(kind)] + std::to_string(workloads_.size()),
                        .size = size,
                        .runs_for = runs_for});
  Workload& workload = workloads_.back();
  const std::string meta =
      R"({"metadata":{"namespace":")" + std::string(kNs) + R"(","name":")" + workload.name + R"("})";
  const std::string count = std::to_string(size);
  switch (kind) {
    case Workload::Kind::kGang:
      api.Put(Job::kResource, meta + R"(,"spec":{"parallelism":)" + count + R"(,"completions":)" + count + "}}");
      break;
    case Workload::Kind::kPodGroup:
      api.Put(PodGroup::kResource, meta + R"(,"spec":{"minMember":)" + std::to_string(std::max(1, size - 1)) + "}}");
      break;
    case Workload::Kind::kWorkers:
      api.Put(LeaderWorkerSet::kResource, meta + R"(,"spec":{"leaderWorkerTemplate":{"size":)" + count + "}}}");
      break;
    case Workload::Kind::kJobSet:
      api.Put(JobSet::kResource, meta + R"(,"spec":{"replicatedJobs":[{"name":"all","replicas":)" + count +
                                     R"(,"template":{"spec":{"template":{"metadata":{"annotations":)" +
                                     R"({"capstan.dev/gang":"jobset"}}}}}}]}})");
      break;
    case Workload::Kind::kBare:
    case Workload::Kind::kReplicas:
      break;
  }
  if (kind != Workload::Kind::kGang && kind != Workload::Kind::kJobSet && kind != Workload::Kind::kBare)
    api.Put(kube::kConfigMaps, meta + "}");
  Say("a user makes " + workload.name + " with " + count + " pods");
  return workload;
}

void Yard::Delete(Workload& workload) {
  if (workload.deleted) return;
  Say("a user deletes " + workload.name);
  workload.deleted = true;
  const kube::Key key{kNs, workload.name};
  for (const kube::Resource* resource :
       {&Job::kResource, &PodGroup::kResource, &LeaderWorkerSet::kResource, &JobSet::kResource, &kube::kConfigMaps})
    if (api.Find(*resource, key) != nullptr) api.Remove(*resource, key);
  for (const Pod& pod : PodsOf(workload)) api.Remove(kube::kPods, pod.key());
}

void Yard::Annotate(Workload& workload, const std::string& annotation, const std::string& value) {
  Say("a user gives " + workload.name + " " + annotation + "=" + value);
  const auto edit = [&](Value& object) { json::MakeObject(object, {"metadata", "annotations"})[annotation] = value; };
  const kube::Key key{kNs, workload.name};
  for (const kube::Resource* resource :
       {&Job::kResource, &PodGroup::kResource, &LeaderWorkerSet::kResource, &JobSet::kResource})
    if (annotation.starts_with(kJobAnnotations) && api.Find(*resource, key) != nullptr)
      return api.Edit(*resource, key, "", edit, "kubectl");
  for (const Pod& pod : PodsOf(workload)) EditPod(pod.key(), "", edit);
}

void Yard::Cordon(const std::string& node, bool cordoned) {
  Say(node + (cordoned ? " is cordoned" : " is uncordoned"));
  api.Edit(
      kube::kNodes, {"", node}, "",
      [&](Value& value) { json::MakeObject(value, {"spec"})["unschedulable"] = cordoned; }, "kubectl");
}

void Yard::SetReady(const std::string& node, bool ready) {
  api.Edit(
      kube::kNodes, {"", node}, "status",
      [&](Value& value) {
        SetCondition(value, std::string(R"({"type":"Ready","status":")") + (ready ? "True" : "Unknown") + "\"}");
      },
      "kubelet");
}

// --- What there is ---------------------------------------------------------------------------------------------------

std::vector<Pod> Yard::Pods() const {
  std::vector<Pod> pods;
  auto& objects = const_cast<kube::testing::FakeApiServer&>(api).objects();
  for (const auto& [key, stored] : objects.Table(kube::kPods).objects) {
    auto pod = json::Decode<Pod>(json::Serialize(*stored));
    if (pod) pods.push_back(*std::move(pod));
  }
  return pods;
}

std::vector<Pod> Yard::PodsOf(const Workload& workload) const {
  std::vector<Pod> pods = Pods();
  std::erase_if(pods, [&](const Pod& pod) { return pod.metadata.Label("of") != workload.name; });
  return pods;
}

std::optional<JobMark> Yard::MarkOf(const slurm::Job& job) const {
  auto mark = JobMark::Of(job.admin_comment);
  if (!mark || mark->cluster != cluster_ || mark->bridge != settings.bridge) return std::nullopt;
  return mark;
}

// --- Controllers, scheduler and kubelets -----------------------------------------------------------------------------

void Yard::EditPod(const kube::Key& key, std::string_view subresource, const std::function<void(Value&)>& edit) {
  api.Edit(kube::kPods, key, subresource, edit, "world");
}

void Yard::Tick() {
  for (Workload& workload : workloads_)
    if (!workload.deleted) Control(workload);
  for (const Pod& pod : Pods()) {
    if (pod.HasEnded() || pod.metadata.deleting()) continue;
    if (pod.spec.scheduling_gates.empty() && !pod.IsBound()) Schedule(pod);
    if (pod.IsBound() && pod.status.phase.empty()) Start(pod);
    const auto owner = std::ranges::find(workloads_, pod.metadata.Label("of"), &Workload::name);
    if (pod.status.phase == "Running" && owner != workloads_.end()) End(pod, *owner);
  }
  PlaceJobs();
  After(kTick, [this] { Tick(); });
}

// A controller makes what is missing.
void Yard::Control(Workload& workload) {
  const std::vector<Pod> pods = PodsOf(workload);
  const auto lives = [](const Pod& pod) { return !pod.HasEnded() && !pod.metadata.deleting(); };
  const auto living = int(std::ranges::count_if(pods, lives));
  switch (workload.kind) {
    case Workload::Kind::kBare:
      while (workload.made < workload.size) MakePod(workload);
      return;
    case Workload::Kind::kGang: {
      const auto done =
          int(std::ranges::count_if(pods, [](const Pod& pod) { return pod.status.phase == "Succeeded"; }));
      for (int left = workload.size - done - living; left > 0; --left) MakePod(workload);
      if (done < workload.size) return;
      api.Edit(
          Job::kResource, {kNs, workload.name}, "status",
          [](Value& job) { SetCondition(job, R"({"type":"Complete","status":"True"})"); }, "job-controller");
      return;
    }
    case Workload::Kind::kJobSet:
      return ControlJobSet(workload, pods);
    default:
      // One that has ended is removed, and another made.
      for (const Pod& pod : pods)
        if (pod.HasEnded()) api.Remove(kube::kPods, pod.key());
      for (int left = workload.size - living; left > 0; --left) MakePod(workload);
  }
}

// Of Jobs of one pod each. Once one has failed all begin anew, each when the pod before has gone.
void Yard::ControlJobSet(Workload& workload, const std::vector<Pod>& pods) {
  int succeeded = 0;
  bool begins_anew = false;
  std::set<std::string> there;
  for (const Pod& pod : pods) {
    succeeded += pod.status.phase == "Succeeded";
    begins_anew |= pod.status.phase == "Failed";
    there.insert(pod.metadata.Label(std::string(kReplicatedJobIndex)));
  }
  if (begins_anew)
    for (const Pod& pod : pods) api.Remove(kube::kPods, pod.key());
  for (int i = 0; i < workload.size; ++i)
    if (!begins_anew && !there.contains(std::to_string(i))) MakePod(workload, i);
  if (succeeded < workload.size) return;
  api.Edit(
      JobSet::kResource, {kNs, workload.name}, "status",
      [](Value& set) { SetCondition(set, R"({"type":"Completed","status":"True"})"); }, "jobset-controller");
}

void Yard::MakePod(Workload& workload, int index) {
  const std::string number = std::to_string(workload.made++);
  std::string labels = R"("capstan.dev/bridged":")" + settings.bridge + R"(","of":")" + workload.name + "\"";
  std::string annotations = R"("note":"x")", owner;
  const kube::Resource* owned_by = &kube::kConfigMaps;
  const char* kind = "ReplicaSet";
  switch (workload.kind) {
    case Workload::Kind::kGang:
      owned_by = &Job::kResource;
      kind = "Job";
      annotations += R"(,"capstan.dev/gang":"job")";
      break;
    case Workload::Kind::kJobSet:
      owned_by = &JobSet::kResource;
      kind = "Job";
      annotations += R"(,"capstan.dev/gang":"jobset")";
      labels += R"(,"jobset.sigs.k8s.io/jobset-name":")" + workload.name +
                R"(","jobset.sigs.k8s.io/replicatedjob-name":"all","jobset.sigs.k8s.io/job-index":")" +
                std::to_string(index) + R"(","jobset.sigs.k8s.io/job-global-index":")" + std::to_string(index) + "\"";
      break;
    case Workload::Kind::kPodGroup:
      labels += R"(,"scheduling.x-k8s.io/pod-group":")" + workload.name + "\"";
      break;
    case Workload::Kind::kWorkers:
      labels += R"(,"leaderworkerset.sigs.k8s.io/name":")" + workload.name +
                R"(","leaderworkerset.sigs.k8s.io/group-key":")" + workload.name +
                R"(","leaderworkerset.sigs.k8s.io/group-index":"0")";
      break;
    default:
      break;
  }
  if (const Value* object = api.Find(*owned_by, {kNs, workload.name});
      object != nullptr && workload.kind != Workload::Kind::kBare)
    owner = std::string(R"(,"ownerReferences":[{"apiVersion":")" + owned_by->ApiVersion() + R"(","kind":")") + kind +
            R"(","name":")" + workload.name + R"(","uid":")" +
            std::string(json::FindText(*object, {"metadata", "uid"})) + R"(","controller":true}])";
  api.Put(kube::kPods,
          R"({"metadata":{"namespace":")" + std::string(kNs) + R"(","name":")" + workload.name + "-" + number +
              R"(","labels":{)" + labels + R"(},"annotations":{)" + annotations + "}" + owner +
              R"(},"spec":{"schedulingGates":[{"name":"capstan.dev/slurm"}],"containers":[{"name":"c"}]}})");
}

void Yard::Schedule(const Pod& pod) {
  const std::string node = pod.metadata.Annotation(std::string(kSlurmNode));
  const Value* object = api.Find(kube::kNodes, {"", node});
  const Value* cordoned = object == nullptr ? nullptr : json::Find(*object, {"spec", "unschedulable"});
  if (object == nullptr || (cordoned != nullptr && cordoned->is_bool() && cordoned->as_bool())) {
    const PodCondition* said = pod.Condition("PodScheduled");
    if (said == nullptr)
      EditPod(pod.key(), "status", [](Value& value) {
        SetCondition(value, R"({"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"no node"})");
      });
    return;
  }
  Say(pod.metadata.name + " is bound to " + node);
  EditPod(pod.key(), "", [&](Value& value) { json::MakeObject(value, {"spec"})["nodeName"] = node; });
  starts_[pod.metadata.uid] = loop.Now() + Between(500ms, 3s);
}

void Yard::Start(const Pod& pod) {
  if (loop.Now() < starts_[pod.metadata.uid]) return;
  EditPod(pod.key(), "status", [this](Value& value) {
    auto& status = json::MakeObject(value, {"status"});
    status["phase"] = "Running";
    status["startTime"] = FormatRfc3339(loop.WallNow());
  });
}

void Yard::End(const Pod& pod, const Workload& workload) {
  if (workload.runs_for == Duration(0)) return;
  const auto [end, fresh] = ends_.try_emplace(pod.metadata.uid, loop.Now() + workload.runs_for + UpTo(5s));
  if (loop.Now() < end->second) return;
  const bool fails = random.Percent(10);
  Say(pod.metadata.name + (fails ? " fails" : " succeeds"));
  EditPod(pod.key(), "status",
          [&](Value& value) { json::MakeObject(value, {"status"})["phase"] = fails ? "Failed" : "Succeeded"; });
}

// --- Slurm's scheduler -----------------------------------------------------------------------------------------------

void Yard::PlaceJobs() {
  std::vector<std::pair<Time, int64_t>> pending;
  for (const auto& [id, job] : slurm.jobs())
    if (job.state.IsPending()) pending.emplace_back(*job.submit_time, id);
  std::ranges::sort(pending);
  // Nodes that one of them must have wait for it; all others may be given to whoever fits.
  std::set<std::string> kept;
  for (const auto& [at, id] : pending) {
    if (Place(id, kept)) continue;
    if (const slurm::ExternalJob* order = slurm.OrderOf(id))
      kept.insert(order->required_nodes.begin(), order->required_nodes.end());
    if (slurm.jobs().at(id).state_reason == "None") slurm.Expect(id, "Resources", std::nullopt);
  }
}

bool Yard::Place(int64_t id, const std::set<std::string>& kept) {
  const slurm::ExternalJob* order = slurm.OrderOf(id);
  if (order == nullptr) return false;
  std::vector<std::string> free;
  for (const slurm::Node& node : slurm.Nodes()) {
    if (!node.state.IsUsable() || node.state.IsBusy() || kept.contains(node.name)) continue;
    const auto& wanted = order->required_nodes;
    if (wanted.empty() || std::ranges::find(wanted, node.name) != wanted.end()) free.push_back(node.name);
  }
  if (std::cmp_less(free.size(), order->nodes)) return false;
  if (std::cmp_greater(free.size(), order->most_nodes)) free.resize(size_t(order->most_nodes));
  if (!slurm.RunPending(id, free)) return false;
  Say("job " + std::to_string(id) + " runs on " + slurm.jobs().at(id).nodes);
  return true;
}

}  // namespace capstan::sim::bridge
