#include "cluster_story.h"

#include <algorithm>

#include "api/slurmcluster.h"

namespace capstan::sim {

using json::Find;
using json::FindText;
using json::Value;

namespace {

const kube::Resource& Kind() { return api::SlurmCluster::kResource; }

boost::json::array& SetsOf(boost::json::object& spec) {
  Value& sets = spec["nodeSets"];
  return sets.is_array() ? sets.get_array() : sets.emplace_array();
}

}  // namespace

ClusterStory::ClusterStory(Machines& machines, kube::Key its_key) : key(std::move(its_key)), machines_(machines) {}

void ClusterStory::Edit(const std::function<void(boost::json::object& spec)>& change) {
  machines_.api.Edit(Kind(), key, "", [&](Value& cluster) { change(json::MakeObject(cluster, {"spec"})); });
}

void ClusterStory::Want(const std::string& set, const std::string& spec, std::optional<int> replicas) {
  if (IsDeleting()) return machines_.After(2s, [=, this] { Want(set, spec, replicas); });
  if (Wants(set)) return;
  if (IsGone()) {
    machines_.MakeNamespace(key.ns);
    Say("is applied");
    machines_.api.Put(Kind(), R"({"metadata":{"namespace":")" + key.ns + R"(","name":")" + key.name + "\"}}");
  }
  Say("has NodeSet " + set);
  Edit([&](boost::json::object& cluster) {
    Value one = *json::Parse(R"({"name":")" + set + R"(","spec":{)" + spec + "}}");
    if (replicas) one.get_object()["replicas"] = *replicas;
    if (has_root && !cluster.contains("sharedRoot"))
      cluster["sharedRoot"] = *json::Parse(R"({"claim":{"size":"1Gi"},"source":{"image":"shell"}})");
    SetsOf(cluster).push_back(std::move(one));
  });
}

void ClusterStory::TakeOut(const std::string& set) {
  Say("has no NodeSet " + set + " any more");
  Edit([&](boost::json::object& cluster) {
    boost::json::array& sets = SetsOf(cluster);
    const auto found = std::ranges::find_if(sets, [&](const Value& one) { return FindText(one, {"name"}) == set; });
    if (found != sets.end()) sets.erase(found);
  });
}

void ClusterStory::Scale(const std::string& set, int replicas) {
  Say("has " + std::to_string(replicas) + " workers of " + set);
  Edit([&](boost::json::object& cluster) {
    for (Value& one : SetsOf(cluster)) {
      if (FindText(one, {"name"}) == set) one.get_object()["replicas"] = replicas;
    }
  });
}

void ClusterStory::SetMode(std::string_view mode) {
  Say("has mode " + std::string(mode));
  Edit([&](boost::json::object& cluster) { cluster["mode"] = mode; });
}

void ClusterStory::SetPaused(bool paused) {
  Say(paused ? "is paused" : "goes on");
  Edit([&](boost::json::object& cluster) { cluster["paused"] = paused; });
}

void ClusterStory::Run() {
  SetPaused(false);
  SetMode("Run");
}

void ClusterStory::SetRoot(const std::string& revision, const std::string& keep, int history) {
  Say("wants root " + revision + " with " + keep + " and " + std::to_string(history) + " old ones");
  Edit([&](boost::json::object& cluster) {
    boost::json::object& root = json::MakeObject(cluster.at("sharedRoot"), {});
    root["revision"] = revision;
    root["keep"] = boost::json::array{keep};
    root["history"] = history;
  });
}

void ClusterStory::SetDeletionPolicy(std::string_view policy) {
  Say("has deletionPolicy " + std::string(policy));
  Edit([&](boost::json::object& cluster) { cluster["deletionPolicy"] = policy; });
}

void ClusterStory::Delete() {
  if (IsGone()) return;
  Say("is deleted");
  machines_.api.Remove(Kind(), key);
}

bool ClusterStory::IsGone() const { return machines_.api.Find(Kind(), key) == nullptr; }

bool ClusterStory::IsDeleting() const {
  const Value* cluster = machines_.api.Find(Kind(), key);
  return cluster != nullptr && Find(*cluster, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool ClusterStory::IsHeld() const {
  const Value* cluster = machines_.api.Find(Kind(), key);
  const Value* finalizers = cluster == nullptr ? nullptr : Find(*cluster, {"metadata", "finalizers"});
  return finalizers != nullptr && !finalizers->as_array().empty() &&
         FindText(*cluster, {"spec", "deletionPolicy"}) == "Drain";
}

bool ClusterStory::Wants(const std::string& set) const {
  const Value* cluster = machines_.api.Find(Kind(), key);
  const Value* sets = cluster == nullptr || IsDeleting() ? nullptr : Find(*cluster, {"spec", "nodeSets"});
  return sets != nullptr && sets->is_array() &&
         std::ranges::any_of(sets->get_array(), [&](const Value& one) { return FindText(one, {"name"}) == set; });
}

}  // namespace capstan::sim
