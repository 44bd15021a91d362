#include "root_volumes.h"

#include <algorithm>

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
    if (option == "--generation") work.generation = value;
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
  std::optional<std::string> refused;
  if (machines_.random.Percent(10) && has_failed_.insert(work.job.ToString()).second)
    refused = "the machine of its pod was lost";
  else
    refused = Write(*volume, work);
  machines_.story.Add("Job " + work.job.ToString() + " (" + work.what + " " + work.Current() +
                      "): " + refused.value_or("done"));
  machines_.After(machines_.Between(0s, 5s), [=, this] { Report(work, refused); });
}

std::optional<std::string> RootVolumes::Write(Volume& volume, const Work& work) {
  if (work.what == "fill") {
    volume.filled.insert(work.generation);
    return std::nullopt;
  }
  if (!volume.filled.contains(work.generation)) {
    if (!broken_) broken_ = "Job " + work.job.ToString() + " was to switch to a generation that is not on the volume";
    return "generation " + work.generation + " is not on the volume";
  }
  if (volume.orderer == work.orderer && work.order < volume.order)
    return "switch " + std::to_string(volume.order) + " has been made, which is later";
  volume.current = work.Current();
  volume.orderer = work.orderer;
  volume.order = work.order;
  return std::nullopt;
}

void RootVolumes::Report(const Work& work, const std::optional<std::string>& refused) {
  if (!IsThere(work)) return;
  machines_.api.Edit(
      kube::kJobs, work.job, "status",
      [&](Value& job) {
        boost::json::object condition{{"type", refused ? "Failed" : "Complete"}, {"status", "True"}};
        if (refused) condition["message"] = *refused;
        json::MakeObject(job, {"status"})["conditions"] = boost::json::array{std::move(condition)};
      },
      "job-controller");
  machines_.After(kKept, [=, this] {
    if (IsThere(work)) machines_.api.Remove(kube::kJobs, work.job);
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
    if (has != wanted || told != wanted)
      return "SharedRoot " + key.ToString() + " wants " + wanted + "; status says " + told + ", on its volume is " +
             has;
  }
  return std::nullopt;
}

}  // namespace capstan::sim
