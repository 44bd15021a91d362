#include "set_story.h"

#include <algorithm>

#include "api/nodeset.h"
#include "operator/names.h"
#include "operator/nodeset/contract.h"

namespace capstan::sim {

using json::Value;

namespace {
const kube::Resource& Kind() { return api::NodeSet::kResource; }
constexpr std::string_view kOnDemand = "OnDemand idle=20s";
}  // namespace

SetStory::SetStory(Site& its_site, const std::string& its_name, int its_most)
    : name(its_name),
      key{its_site.key.ns, its_site.cluster ? its_site.key.name + "-worker-" + its_name : its_name},
      site(its_site),
      most(its_most) {
  site.Add(*this);
}

// Members of its spec.
std::string SetStory::SpecText() const {
  return std::string(R"("oversubscribeNode":)") + (site.machines.options.share_machines ? "true" : "false") +
         (may_be_on_demand ? R"(,"slurmd":{"resources":{"limits":{"cpu":"2","memory":"1Gi"}}})" : "") +
         R"(,"template":{"spec":{"hostNetwork":)" + (host_network ? "true" : "false") +
         (may_be_daemon ? R"(,"nodeSelector":{"pool":"slurm"})" : "") + "}}";
}

void SetStory::Install(int replicas) {
  Machines& machines = site.machines;
  most_replicas_ = std::max(most_replicas_, replicas);
  jobs_may_end_ = false;
  ++installs_;
  if (site.cluster) {
    if (IsGone()) scaled_.reset(), conf_.clear();
    site.cluster->Want(name, SpecText(), names_replicas ? std::optional(replicas) : std::nullopt);
    if (!names_replicas) ScaleOnceThere(replicas, installs_);
    return;
  }
  site.Install();
  machines.After(machines.UpTo(3s), [this, replicas] {
    site.machines.api.Put(Kind(), R"({"metadata":{"namespace":")" + key.ns + R"(","name":")" + key.name +
                                      R"("},"spec":{"controllerRef":{"name":")" + site.key.name + R"("},"replicas":)" +
                                      std::to_string(replicas) + "," + SpecText() + "}}");
  });
}

// As an autoscaler does, which has to wait for the NodeSet.
void SetStory::ScaleOnceThere(int replicas, int install) {
  if (install != installs_ || !site.cluster->Wants(name)) return;
  if (!IsGone() && !IsDeleting()) return Scale(replicas);
  site.machines.After(2s, [this, replicas, install] { ScaleOnceThere(replicas, install); });
}

void SetStory::Scale(int replicas) {
  most_replicas_ = std::max(most_replicas_, replicas);
  if (names_replicas) return site.cluster->Scale(name, replicas);
  site.machines.story.Add("user: scale " + key.ToString() + " to " + std::to_string(replicas));
  if (!IsGone()) scaled_ = replicas;
  site.machines.api.Edit(Kind(), key, "",
                         [&](Value& set) { set.as_object()["spec"].as_object()["replicas"] = replicas; });
}

std::optional<std::string> SetStory::Lost() const {
  if (!site.cluster || IsGone()) return std::nullopt;
  const Value& set = *site.machines.api.Find(Kind(), key);
  if (scaled_ && replicas() != *scaled_)
    return key.ToString() + " has " + std::to_string(replicas()) + " replicas, and was scaled to " +
           std::to_string(*scaled_);
  if (json::FindText(set, {"spec", "extraConf"}) != conf_) return key.ToString() + " has lost its extraConf " + conf_;
  return std::nullopt;
}

void SetStory::CallOtherwise(bool otherwise, bool mute) {
  if (IsGone()) return;
  site.machines.story.Add("user: slurmd of " + key.ToString() + (otherwise ? " gets another name" : " keeps its name") +
                          (mute ? ", and nobody answers for it" : ""));
  site.machines.api.Edit(Kind(), key, "", [&](Value& set) {
    boost::json::object& labels = json::MakeObject(set, {"spec", "template", "metadata", "labels"});
    labels.clear();
    if (otherwise) labels[kNamedBy] = kAlias;
    if (mute) labels[kMute] = "yes";
  });
}

std::vector<std::string> SetStory::Misnamed() const {
  std::vector<std::string> names = Workers();
  std::erase_if(names, [this](const std::string& name) {
    return json::Find(*site.machines.api.Find(kube::kPods, {key.ns, name}), {"metadata", "labels", kNamedBy}) ==
           nullptr;
  });
  return names;
}

void SetStory::SetMode(bool daemon) {
  const std::string mode = daemon ? "DaemonSet" : "StatefulSet";
  site.machines.story.Add("user: mode of " + key.ToString() + " is " + mode);
  site.machines.api.Edit(Kind(), key, "",
                         [&](Value& set) { set.as_object()["spec"].as_object()["scalingMode"] = mode; });
}

void SetStory::SetOnDemand(bool on_demand) {
  site.machines.story.Add("user: " + key.ToString() + (on_demand ? " is on demand" : " is always there"));
  site.machines.api.Edit(Kind(), key, "", [&](Value& set) {
    boost::json::object& annotations = json::MakeObject(set, {"metadata", "annotations"});
    if (on_demand)
      annotations[op::kAnnotationPower] = kOnDemand;
    else
      annotations.erase(op::kAnnotationPower);
  });
}

void SetStory::ChangeTemplate() {
  const std::string conf =
      "MemSpecLimit=" + std::to_string(1 + ++templates_ % 3);  // so that it may be the one before, too
  site.machines.story.Add("user: extraConf of " + key.ToString() + " is " + conf);
  if (!IsGone()) conf_ = conf;
  site.machines.api.Edit(Kind(), key, "", [&](Value& set) { set.as_object()["spec"].as_object()["extraConf"] = conf; });
}

void SetStory::UpdateBy(const std::string& strategy) {
  site.machines.story.Add("user: " + key.ToString() + " is updated by " + strategy);
  site.machines.api.Edit(Kind(), key, "", [&](Value& set) {
    set.as_object()["spec"].as_object()["updateStrategy"] = *json::Parse(strategy);
  });
}

void SetStory::Delete(const std::string& propagation) {
  if (site.cluster) return site.cluster->TakeOut(name);
  if (IsGone()) return;
  site.machines.story.Add("user: delete NodeSet " + key.ToString() + " (" + propagation + ")");
  // Who asks for the foreground asks Kubernetes to take the pods at once.
  if (propagation == "Foreground") jobs_may_end_ = true;
  site.machines.api.Remove(Kind(), key, {.propagation = propagation});
}

void SetStory::ForceDeletion() {
  if (IsGone()) return;
  site.machines.story.Add("user: force the deletion of NodeSet " + key.ToString());
  jobs_may_end_ = true;
  site.machines.api.Edit(Kind(), key, "", [](Value& set) {
    json::MakeObject(set, {"metadata", "annotations"})[op::kAnnotationForceDelete] = "true";
  });
}

bool SetStory::IsGone() const { return site.machines.api.Find(Kind(), key) == nullptr; }

bool SetStory::IsDeleting() const {
  const Value* set = site.machines.api.Find(Kind(), key);
  if (set != nullptr && site.cluster && !site.cluster->Wants(name)) return true;
  return set != nullptr && json::Find(*set, {"metadata", "deletionTimestamp"}) != nullptr;
}

int SetStory::replicas() const {
  const Value* set = site.machines.api.Find(Kind(), key);
  const Value* replicas = set != nullptr ? json::Find(*set, {"spec", "replicas"}) : nullptr;
  return replicas != nullptr ? int(replicas->as_int64()) : 0;
}

std::optional<Time> SetStory::UpdateStart() const {
  const Value* set = site.machines.api.Find(Kind(), key);
  if (set == nullptr) return std::nullopt;
  return ParseRfc3339(json::FindText(*set, {"spec", "updateStrategy", "scheduledUpdate", "startTime"}));
}

bool SetStory::IsDaemonSet() const {
  const Value* set = site.machines.api.Find(Kind(), key);
  return set != nullptr && json::FindText(*set, {"spec", "scalingMode"}) == "DaemonSet";
}

std::vector<std::string> SetStory::Hosts() const {
  std::vector<std::string> hosts;
  for (const std::string& worker : Workers()) {
    const Value* pod = site.machines.api.Find(kube::kPods, {key.ns, worker});
    if (std::string host = HostOf(*pod); !host.empty()) hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<std::string> SetStory::Workers() const {
  std::vector<std::string> names;
  for (const Value* pod : site.machines.PodsIn(key.ns)) {
    const std::string_view name = json::FindText(*pod, {"metadata", "name"});
    if (op::nodeset::IsWorkerName(key.name, name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace capstan::sim
