#include "root_volumes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "json/codec.h"
#include "operator/sharedroot/jobs.h"

namespace capstan::sim {

using json::Find;
using json::FindText;
using json::Value;

namespace {

constexpr Duration kKept = 10min;  // a Job that has ended, by its ttlSecondsAfterFinished

std::string Folders(const std::vector<std::string>& keep) { return " keeps " + Join(keep, " "); }

}  // namespace

RootVolumes::RootVolumes(Machines& machines) : machines_(machines) {
  kube::testing::FakeObjects& objects = machines_.api.objects();
  objects.on_change = [this, tell = objects.on_change](kube::testing::FakeTable& table) {
    const kube::testing::HistoryRecord& last = table.history.back();
    if (table.resource == kube::kJobs && last.before == nullptr && last.after != nullptr) Begin(*last.after);
    if (table.resource == kube::kPods && last.after != nullptr) SeePod(*last.after);
    tell(table);
  };
}

void RootVolumes::Begin(const Value& job) {
  const Value* pod = Find(job, {"spec", "template", "spec"});
  const boost::json::array& words = pod->at("containers").as_array().at(0).at("command").as_array();
  Work work;
  work.job = {std::string(FindText(job, {"metadata", "namespace"})), std::string(FindText(job, {"metadata", "name"}))};
  work.uid = FindText(job, {"metadata", "uid"});
  for (const Value& volume : pod->at("volumes").as_array()) {
    if (const std::string_view claim = FindText(volume, {"persistentVolumeClaim", "claimName"}); !claim.empty())
      work.claim = claim;
  }
  work.what = words.at(2).as_string();
  std::vector<std::string> keep;
  for (size_t i = 3; i + 1 < words.size(); i += 2) {
    const std::string option(words[i].as_string()), value(words[i + 1].as_string());
    if (option == "--generation") work.generations.push_back(value);
    if (option == "--pod") work.pods.push_back(value.substr(value.rfind('/') + 1));
    if (option == "--keep") keep.push_back(value);
    if (option != "--order") continue;
    const size_t slash = value.rfind('/');
    work.orderer = value.substr(0, slash);
    work.order = ParseInt(value.substr(slash + 1)).value_or(0);
  }
  work.keep = Folders(keep);
  const bool outlives = machines_.random.Percent(30);
  machines_.After(machines_.Between(1s, 15s), [=, this] { Run(work, outlives); });
}

bool RootVolumes::IsThere(const Work& work) const {
  const Value* job = machines_.api.Find(kube::kJobs, work.job);
  return job != nullptr && FindText(*job, {"metadata", "uid"}) == work.uid;
}

void RootVolumes::Run(const Work& work, bool outlives_its_job) {
  if (!IsThere(work) && !outlives_its_job) return;
  Volume* volume = VolumeOf({work.job.ns, work.claim});
  if (volume == nullptr) return machines_.After(5s, [=, this] { Run(work, false); });
  Outcome outcome;
  if (!sessions_end_ && machines_.random.Percent(10) && has_failed_.insert(work.job.ToString()).second)
    outcome.refused = "the machine of its pod was lost";
  else
    outcome = Write(*volume, work);
  machines_.story.Add("Job " + work.job.ToString() + " (" + work.what + " " + Join(work.generations, " ") + work.keep +
                      "): " + outcome.refused.value_or("done " + outcome.said));
  machines_.After(machines_.Between(0s, 5s), [=, this] { Report(work, outcome); });
}

RootVolumes::Outcome RootVolumes::Write(Volume& volume, const Work& work) {
  if (work.what == "remove") return Remove(volume, work);
  if (work.what == "fill") {
    volume.filled.insert(work.generation());
    return {};
  }
  if (!volume.filled.contains(work.generation())) {
    // One that was removed while it was wanted again is filled again.
    if (!broken_ && !volume.removed.contains(work.generation()))
      broken_ = "Job " + work.job.ToString() + " was to switch to a generation that was never on the volume";
    return {.refused = "generation " + work.generation() + " is not on the volume",
            .exit_code = op::sharedroot::kNotOnVolume};
  }
  if (volume.orderer == work.orderer && work.order < volume.order)
    return {.refused = "switch " + std::to_string(volume.order) + " has been made, which is later"};
  volume.generation = work.generation();
  volume.current = work.Current();
  volume.orderer = work.orderer;
  volume.order = work.order;
  for (const auto& [uid, user] : users_) {
    if (VolumeOf(user.claim) == &volume) machines_.After(machines_.Between(0s, 4s), [this, uid] { Look(uid); });
  }
  return {};
}

// --- What is removed, and who is in it

RootVolumes::Outcome RootVolumes::Remove(Volume& volume, const Work& work) {
  if (volume.orderer != work.orderer || volume.order != work.order)
    return {.refused = "another switch has been made since the pods were listed"};
  boost::json::array removed;
  boost::json::object kept;
  for (const std::string& generation : work.generations) {
    const std::string why = generation == volume.generation ? "it is current" : WhyKept(generation, work);
    if (!why.empty()) {
      kept[generation] = why;
      continue;
    }
    for (const auto& [uid, user] : users_) {
      const bool in_it = user.has.contains(generation) && VolumeOf(user.claim) == &volume && IsThere(user, uid);
      if (in_it && !broken_)
        broken_ = "generation " + generation + " was removed while pod " + user.pod.ToString() + " has it";
    }
    volume.filled.erase(generation);
    volume.removed.insert(generation);
    removed.emplace_back(generation);
  }
  return {.said = json::Serialize(Value{{"removed", std::move(removed)}, {"kept", std::move(kept)}})};
}

std::string RootVolumes::WhyKept(const std::string& generation, const Work& work) const {
  for (const std::string& uid : work.pods) {
    const auto user = users_.find(uid);
    if (user == users_.end() || user->second.mute || user->second.says.empty()) return "pod " + uid + " does not say";
    if (user->second.says.contains(generation)) return "pod " + uid + " is in it";
  }
  for (const auto& [uid, user] : users_) {
    const bool says = !user.mute && user.says.contains(generation);
    if (says && user.claim == kube::Key{work.job.ns, work.claim}) return "pod " + uid + " is in it";
  }
  return "";
}

void RootVolumes::SeePod(const Value& pod) {
  if (FindText(pod, {"status", "phase"}) != "Running") return;
  const Value* volumes = Find(pod, {"spec", "volumes"});
  const std::string uid(FindText(pod, {"metadata", "uid"}));
  if (volumes == nullptr || users_.contains(uid)) return;
  for (const Value& volume : volumes->as_array()) {
    const std::string claim(FindText(volume, {"persistentVolumeClaim", "claimName"}));
    if (claim.empty() || FindText(volume, {"name"}) != "shared-root") continue;
    const std::string ns(FindText(pod, {"metadata", "namespace"}));
    users_[uid] = {.pod = {ns, std::string(FindText(pod, {"metadata", "name"}))},
                   .claim = {ns, claim},
                   .mute = !sessions_end_ && machines_.random.Percent(50)};
    machines_.After(machines_.Between(0s, 5s), [this, uid] { Look(uid); });
  }
}

bool RootVolumes::IsThere(const User& user, const std::string& uid) const {
  const Value* pod = machines_.api.Find(kube::kPods, user.pod);
  return pod != nullptr && FindText(*pod, {"metadata", "uid"}) == uid;
}

void RootVolumes::EndSessions() {
  sessions_end_ = true;
  for (auto& [uid, user] : users_) {
    user.mute = false;
    const Volume* volume = VolumeOf(user.claim);
    if (volume == nullptr || volume->generation.empty()) continue;
    user.in = volume->generation;
    user.has = {{user.in, 1}};
    user.says = user.has;
  }
  std::vector<kube::Key> ended;
  for (const auto& [key, job] : machines_.api.objects().Table(kube::kJobs).objects) {
    if (key.name.contains("-remove-") && Find(*job, {"status", "conditions"}) != nullptr) ended.push_back(key);
  }
  for (const kube::Key& job : ended) machines_.api.Remove(kube::kJobs, job);
}

// Most sessions end soon, some go on for long.
void RootVolumes::Look(const std::string& uid) {
  User& user = users_.at(uid);
  const Volume* volume = VolumeOf(user.claim);
  if (volume == nullptr || volume->generation.empty())
    return machines_.After(5s, [=, this] {
      if (IsThere(users_.at(uid), uid)) Look(uid);
    });
  if (user.in == volume->generation) return;
  const std::string former = std::exchange(user.in, volume->generation);
  ++user.says[user.in];
  ++user.has[user.in];
  if (former.empty()) return;
  const Duration lasts = sessions_end_                  ? Duration(0)
                         : machines_.random.Percent(70) ? machines_.Between(0s, 2min)
                                                        : machines_.Between(2min, 3h);
  machines_.After(lasts, [=, this, began = sessions_end_] { Leave(uid, former, began); });
}

// EndSessions has counted anew.
void RootVolumes::Leave(const std::string& uid, const std::string& generation, bool began_after_the_end) {
  const auto leave = [=, this](std::map<std::string, int> User::* of) {
    auto& generations = users_.at(uid).*of;
    if (sessions_end_ == began_after_the_end && --generations[generation] == 0) generations.erase(generation);
  };
  leave(&User::has);
  machines_.After(machines_.Between(0s, 3s), [=] { leave(&User::says); });
}

// --- What becomes of Jobs

void RootVolumes::Report(const Work& work, const Outcome& outcome) {
  if (!IsThere(work)) return;
  if (!outcome.said.empty() || outcome.exit_code != 0) PutPod(work, outcome);
  machines_.api.Edit(
      kube::kJobs, work.job, "status",
      [&](Value& job) {
        boost::json::object condition{{"type", outcome.refused ? "Failed" : "Complete"}, {"status", "True"}};
        if (outcome.refused) condition["message"] = *outcome.refused;
        json::MakeObject(job, {"status"})["conditions"] = boost::json::array{std::move(condition)};
      },
      "job-controller");
  const Duration until_removed = sessions_end_ ? 10s : Duration(op::sharedroot::kRemovalsEvery);
  machines_.After(work.what == "remove" ? until_removed : kKept, [=, this] {
    if (IsThere(work)) machines_.api.Remove(kube::kJobs, work.job);
  });
}

// That has done the work, or not, and goes with its Job.
void RootVolumes::PutPod(const Work& work, const Outcome& outcome) {
  const Value* job = machines_.api.Find(kube::kJobs, work.job);
  const kube::Key pod{work.job.ns, work.job.name + "-x"};
  Value owner{
      {"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", work.job.name}, {"uid", work.uid}, {"controller", true}};
  Value metadata{{"namespace", pod.ns},
                 {"name", pod.name},
                 {"labels", *Find(*job, {"spec", "template", "metadata", "labels"})},
                 {"ownerReferences", boost::json::array{std::move(owner)}}};
  machines_.api.Put(kube::kPods, json::Serialize(Value{{"metadata", std::move(metadata)}}));
  machines_.api.Edit(kube::kPods, pod, "status", [&](Value& object) {
    Value ended{{"exitCode", outcome.exit_code}, {"message", outcome.refused.value_or(outcome.said)}};
    Value container{{"name", "sharedroot"}, {"state", Value{{"terminated", std::move(ended)}}}};
    json::MakeObject(object, {"status"}) = {{"phase", outcome.refused ? "Failed" : "Succeeded"},
                                            {"containerStatuses", boost::json::array{std::move(container)}}};
  });
}

RootVolumes::Volume* RootVolumes::VolumeOf(const kube::Key& claim) {
  const Value* object = machines_.api.Find(kube::kPersistentVolumeClaims, claim);
  return object == nullptr ? nullptr : &volumes_[std::string(FindText(*object, {"metadata", "uid"}))];
}

bool RootVolumes::IsSwitching(const kube::Key& root) const {
  const kube::testing::FakeTable& table = machines_.api.objects().Table(kube::kJobs);
  return std::ranges::any_of(table.objects, [&](const auto& each) {
    return each.first.ns == root.ns && each.first.name.starts_with(root.name + "-switch-") &&
           Find(*each.second, {"status", "conditions"}) == nullptr;
  });
}

std::optional<std::string> RootVolumes::Unmatched() const {
  const kube::testing::FakeTable& table = machines_.api.objects().Table(api::SharedRoot::kResource);
  for (const auto& [key, object] : table.objects) {
    auto root = json::Decode<api::SharedRoot>(json::Serialize(*object));
    if (!root) return "SharedRoot " + key.ToString() + ": " + root.error().message();
    root->spec = api::WithDefaults(root->spec);
    const auto volume = volumes_.find(root->status.claim_uid);
    const std::string has = volume == volumes_.end() ? "nothing" : volume->second.current;
    const api::CurrentRoot& current = root->status.current;
    const std::string wanted = op::sharedroot::GenerationName(root->spec) + Folders(*root->spec.keep);
    const std::string told = current.generation + Folders(current.keep);
    const size_t most = size_t(*root->spec.history) + 1;
    if (sessions_end_ && root->status.generations.size() > most)
      return "SharedRoot " + key.ToString() + " has " + std::to_string(root->status.generations.size()) +
             " generations, and may have " + std::to_string(most);
    if (has != wanted || told != wanted)
      return "SharedRoot " + key.ToString() + " wants " + wanted + "; status says " + told + ", on its volume is " +
             has;
  }
  return std::nullopt;
}

}  // namespace capstan::sim
