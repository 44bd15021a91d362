#include "operator/sharedroot/decide.h"

#include <algorithm>
#include <map>
#include <optional>

#include "api/sharedroot.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/schema.h"
#include "operator/names.h"
#include "operator/pods.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/sharedroot/jobs.h"
#include "operator/sharedroot/users.h"
#include "operator/unknown_fields.h"
#include "plan/objects/effects.h"

namespace capstan::op::sharedroot {
namespace {

constexpr Duration kSoon = 2s;
constexpr Duration kListedEvery = 10min;  // pods, while one of them may be in a root that is to go
constexpr size_t kLongestMessage = 1000;
constexpr size_t kMostGenerations = 64;  // that status names

// How a Job that has filled a generation ends (entry/root/fill.h).
struct Filled {
  int64_t files = 0, bytes = 0;
  std::string slurm;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Filled>({json::Field<&Filled::bytes>("bytes"), json::Field<&Filled::files>("files"),
                              json::Field<&Filled::slurm>("slurm")});
    return schema;
  }
};

// How a Job ends that was to remove generations (entry/root/removal.h).
struct Removed {
  std::vector<std::string> removed;
  std::map<std::string, std::string> kept;  // why
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Removed>({json::Field<&Removed::kept>("kept"), json::Field<&Removed::removed>("removed")});
    return schema;
  }
};

class Deciding : Reconcile<api::SharedRoot> {
 public:
  Deciding(const plan::World& seen, const api::SharedRoot& found)
      : Reconcile(seen, found), ns_(found.metadata.namespace_), wanted_(GenerationName(object.spec)) {
    status_ = found.status;
    status_.observed_generation = found.metadata.generation;
    status_.claim = ClaimName(object);
  }

  plan::Plan Run() {
    DropUnknownPodFields(world, {ns_, object.metadata.name}, {"spec.template.spec", &object.spec.pod_template.spec}, {},
                         findings);
    SeeOrders();
    if (!HasClaim()) return Finish(std::move(status_));
    // The way back does not wait for what is filled, and a full volume not for what fits on it no more.
    const bool filled = IsFilled(), switched = IsSwitched();
    // Nothing goes before the status says what took its place.
    const api::CurrentRoot& current = status_.current;
    if (!current.generation.empty() && current == object.status.current &&
        status_.ordered_generation <= current.observed_generation)
      RemoveOld();
    if (filled && switched) findings.Ready(ReadyText());
    return Finish(std::move(status_));
  }

 private:
  bool IsManual() const { return object.spec.switching.policy == api::kSwitchManual; }

  // What is to be current.
  const std::string& Target() const {
    if (!IsManual()) return wanted_;
    if (!object.spec.switching.current.empty()) return object.spec.switching.current;
    return status_.current.generation.empty() ? wanted_ : status_.current.generation;
  }

  bool IsCurrent() const {
    const api::CurrentRoot& current = status_.current;
    return current.generation == Target() && current.keep == *object.spec.keep &&
           current.node_local == object.spec.node_local && current.mounts == MountPaths(object.spec);
  }

  auto Known(const std::string& generation) {
    return std::ranges::find(status_.generations, generation, &api::RootGeneration::name);
  }
  bool IsKnown(const std::string& generation) { return Known(generation) != status_.generations.end(); }

  std::string ReadyText() {
    const std::string text = "sessions and steps that begin now have generation " + Described(Target());
    if (Target() == wanted_) return text;
    return text + "; generation " + Described(wanted_) +
           ", is filled, and becomes current once spec.switch.current names it";
  }

  std::string Described(const std::string& generation) {
    const auto known = Known(generation);
    return known == status_.generations.end() || known->image.empty() ? generation
                                                                      : generation + ", of image " + known->image;
  }

  bool HasClaim() {
    const kube::Key key{ns_, status_.claim};
    const std::string who = "PersistentVolumeClaim " + key.ToString();
    for (const api::SharedRoot& other : world.In<api::SharedRoot>(ns_)) {
      if (ClaimName(other) != status_.claim || !IsOlder(other)) continue;
      findings.Problem("NameConflict", who + " is that of SharedRoot " + other.metadata.name +
                                           ", which is older; give it another volume");
      return false;
    }
    const auto claim = world.Ask(VolumeClaim(key), status_.claim_uid.empty() ? kSoon : kReferenceAge);
    if (claim.absent()) return MakeClaim(key, who);
    if (claim.value == nullptr) {
      // Unknown changes nothing: the current root stays.
      if (!status_.current.generation.empty() && !status_.claim_uid.empty()) return true;
      KeepWhatIsThere();
      findings.Wait("ReadingReferences",
                    who + (claim.error.empty() ? " is being looked for" : " cannot be read: " + claim.error));
      return false;
    }
    if (const std::string wrong = WrongWith(*claim.value); !wrong.empty()) {
      findings.Problem("ClaimRefused", "a shared root needs " + wrong + ", which " + who + " does not have");
      return false;
    }
    const bool is_strange = object.spec.claim.existing.empty() && claim.value->root != object.metadata.name;
    if (is_strange && status_.claim_uid != claim.value->uid) {
      findings.Problem("NameConflict",
                       who +
                           " is there, and its labels are not those of this SharedRoot; to use it, make the "
                           "SharedRoot anew with that name in claim.existing");
      return false;
    }
    if (status_.claim_uid != claim.value->uid) {
      status_.claim_uid = claim.value->uid;
      Forget();
    }
    return true;
  }

  static std::string WrongWith(const VolumeClaim::Value& claim) {
    if (std::ranges::find(claim.access_modes, "ReadWriteMany") == claim.access_modes.end())
      return "access mode ReadWriteMany";
    return claim.is_block ? "volumeMode Filesystem" : "";
  }

  // Of several with one claim the one that was first has it.
  bool IsOlder(const api::SharedRoot& other) const {
    const auto age = [](const api::SharedRoot& root) {
      return std::pair(root.metadata.creation_timestamp.value_or(Time::max()), root.metadata.uid);
    };
    return other.metadata.uid != object.metadata.uid && age(other) < age(object);
  }

  bool MakeClaim(const kube::Key& key, const std::string& who) {
    Forget();
    status_.claim_uid.clear();
    if (!object.spec.claim.existing.empty()) {
      findings.Problem("ReferenceMissing",
                       who + ", named in spec.claim.existing, does not exist; create it, or correct the name");
      return false;
    }
    plan.Add({.effect = plan::Create({&kube::kPersistentVolumeClaims, key}, ClaimBody(object), ""),
              .reason = "the root has no volume yet"});
    findings.Wait("ReadingReferences", who + " is being created");
    return false;
  }

  // A new volume has nothing on it.
  void Forget() {
    status_.generations.clear();
    status_.current = {};
    status_.files.clear();
  }

  // The current generation is on the volume, and so is what was filled, until a Job finds that somebody has removed it.
  bool IsFilled() {
    ForgetWhatHasGone();
    if (status_.current.generation == wanted_ || IsKnown(wanted_)) return true;
    const std::string what = "generation " + wanted_ + " from image " + object.spec.source.image;
    const Job* job = Run(FillJob(object, status_.claim_uid, SettingsOf(world)));
    if (job != nullptr && job->Is("Complete")) {
      Remember(*job);
      return true;
    }
    if (!Failed(job, "filling " + what)) findings.Wait("FillingRoot", what + " is being filled" + HowFar(job));
    return false;
  }

  // A switch that was asked for may have been made, or be made yet by a pod that outlives its Job, though nobody wants it any more: then
  // one that is made later undoes it.
  bool IsSwitched() {
    const std::string target = Target();
    if (IsCurrent() && status_.ordered_generation <= status_.current.observed_generation) return HasFiles(target);
    if (status_.current.generation != target && !IsKnown(target)) {
      if (target != wanted_)
        findings.Problem("ReferenceMissing", "generation " + target +
                                                 ", named in spec.switch.current, is not on the "
                                                 "volume; status.generations names those that are");
      return false;
    }
    if (!HasFiles(target)) return false;
    const Job* job = Run(SwitchJob(object, target, status_.claim_uid, SettingsOf(world)));
    status_.ordered_generation = std::max(status_.ordered_generation, object.metadata.generation);
    if (job != nullptr && job->Is("Complete")) {
      status_.current = {target, *object.spec.keep, object.spec.node_local, MountPaths(object.spec),
                         object.metadata.generation};
      if (const auto known = Known(target); known != status_.generations.end())
        std::rotate(known, known + 1, status_.generations.end());
      return true;
    }
    if (!Failed(job, "switching to generation " + target))
      findings.Wait("SwitchingRoot", "generation " + target + " is about to be current" + HowFar(job));
    return false;
  }

  // --- Files

  // They are in the root before anybody is. Where they cannot be written that is said, and the switch goes on: it may be the way back.
  bool HasFiles(const std::string& generation) {
    const std::optional<std::vector<KnownFile>> files = FilesThatAreThere();
    if (!files) {
      KeepWhatIsThere();
      return false;
    }
    if (files->empty()) return true;
    std::string all;
    for (const auto& [file, sha256] : *files)
      all += file.path + "\n" + std::to_string(*file.mode) + "\n" + sha256 + "\n";
    constexpr size_t kLetters = 16;
    const std::string wanted = generation + " " + Sha256Hex(all).substr(0, kLetters);
    if (status_.files == wanted) return true;
    const Job* job = Run(FilesJob(object, generation, *files, status_.claim_uid, SettingsOf(world)));
    if (job != nullptr && job->Is("Complete")) {
      status_.files = wanted;
      return true;
    }
    if (Failed(job, "writing spec.files to generation " + generation)) return true;
    findings.Wait("WritingFiles", "spec.files are being written to generation " + generation + HowFar(job));
    return false;
  }

  // nullopt: a ConfigMap cannot be read yet. Of one that is not there, or lacks the key, that is said.
  std::optional<std::vector<KnownFile>> FilesThatAreThere() {
    std::vector<KnownFile> files;
    bool unknown = false;
    for (const api::RootFile& file : object.spec.files) {
      const kube::Key key{ns_, file.config_map};
      const std::string what = "ConfigMap " + key.ToString() + ", named in spec.files for " + file.path + ", ";
      const auto answer = world.Ask(ConfigMapDigest(key), kReferenceAge);
      if (answer.absent()) {
        findings.Problem("ReferenceMissing", what + "does not exist; create it, or correct the name");
      } else if (answer.value == nullptr) {
        unknown = true;
        findings.Wait("ReadingReferences",
                      what + (answer.error.empty() ? "is being looked for" : "cannot be read: " + answer.error));
      } else if (const auto text = answer.value->files.find(file.key); text != answer.value->files.end()) {
        files.push_back({file, text->second});
      } else {
        findings.Problem("ReferenceMissing", what + "has no key " + file.key);
      }
    }
    if (unknown) return std::nullopt;
    return files;
  }

  // --- Generations that are too many

  std::vector<std::string> TooMany() const {
    std::vector<std::string> others;
    for (const api::RootGeneration& generation : status_.generations) {
      if (generation.name != status_.current.generation && generation.name != wanted_ && generation.name != Target())
        others.push_back(generation.name);
    }
    const size_t stay = size_t(*object.spec.history);
    others.resize(others.size() - std::min(stay, others.size()));
    return others;
  }

  // None goes while a pod is in it, or does not say in which it is: the Job finds that out on the volume.
  void RemoveOld() {
    const std::vector<std::string> old = TooMany();
    for (api::RootGeneration& generation : status_.generations) {
      if (std::ranges::find(old, generation.name) == old.end()) generation.kept_by.clear();
    }
    if (old.empty()) return;
    // One that is there is told of the pods, and goes on, or has been told why they stay.
    if (const Job* job = RemovalOf(old)) {
      KeepWhatIsThere();
      if (job->Is("Failed"))
        findings.Remark("JobFailed", "removing generations " + Join(old, ", ") + " failed: " + WhyFailed(*job) +
                                         "; it is tried again in an hour, or once Job " + job->metadata.name +
                                         " is deleted");
      if (job->Is("Complete")) Forget(*job, old);
      return;
    }
    const std::string order = OrderOf(object, status_.current.observed_generation);
    const auto pods = world.Ask(PodsWithClaim({ns_, status_.claim}, object.metadata.name, order), kListedEvery);
    if (!pods.error.empty())
      findings.Remark("PodsUnknown", "no old generation is removed, as the pods that may be in one cannot be listed: " +
                                         OneLine(pods.error, kLongestMessage));
    if (pods.known())
      Want(RemoveJob(object, old, *pods.value, status_.claim_uid, SettingsOf(world)));
    else
      KeepWhatIsThere();
  }

  const Job* RemovalOf(const std::vector<std::string>& generations) const {
    const std::string prefix = RemovalPrefix(object, generations);
    for (const Job& job : world.OwnedBy<Job>(object.metadata.uid)) {
      if (job.metadata.name.starts_with(prefix)) return &job;
    }
    return nullptr;
  }

  void Forget(const Job& job, const std::vector<std::string>& old) {
    const auto said = SaidBy<Removed>(job);
    if (!said) return;
    const auto is_old = [&](const std::string& name) { return std::ranges::find(old, name) != old.end(); };
    for (const auto& [name, why] : said->kept) {
      if (const auto known = Known(name); known != status_.generations.end() && is_old(name))
        known->kept_by = OneLine(why, kLongestMessage);
    }
    for (const std::string& name : said->removed) {
      if (is_old(name))
        std::erase_if(status_.generations, [&](const auto& generation) { return generation.name == name; });
    }
  }

  // --- Jobs

  // No Job of a switch is removed before the status says that it was.
  void SeeOrders() {
    for (const Job& job : world.OwnedBy<Job>(object.metadata.uid)) {
      const int64_t order = SwitchedBy(object, job.metadata.name).value_or(0);
      if (order > object.status.ordered_generation) KeepWhatIsThere();
      status_.ordered_generation = std::max(status_.ordered_generation, order);
    }
  }

  // Wants it; the Job as it is there, if it is ours.
  const Job* Run(Result<plan::Child> child) {
    const kube::Key key = child ? child->key : kube::Key();
    return Want(std::move(child)) ? Ours(key) : nullptr;
  }

  const Job* Ours(const kube::Key& key) const {
    const Job* job = world.Find<Job>(key);
    const json::OwnerReference* owner = job == nullptr ? nullptr : job->metadata.ControllerOwner();
    return owner != nullptr && owner->uid == object.metadata.uid ? job : nullptr;
  }

  bool Failed(const Job* job, const std::string& what) {
    if (job == nullptr || !job->Is("Failed")) return false;
    findings.Problem("JobFailed", what + " failed: " + WhyFailed(*job) +
                                      "; it is tried again in ten minutes, or when the spec changes");
    return true;
  }

  std::string WhyFailed(const Job& job) const {
    const std::string said = LastWords(job);
    return OneLine(said.empty() ? job.MessageOf("Failed") : said, kLongestMessage);
  }

  // What keeps its pod from running, or what the last one said that failed.
  std::string HowFar(const Job* job) const {
    if (job == nullptr) return "";
    for (const Pod& pod : world.OwnedBy<Pod>(job->metadata.uid)) {
      if (pod.Ended()) continue;
      if (const std::string trouble = PodTrouble(pod); !trouble.empty())
        return ": " + OneLine(trouble, kLongestMessage);
    }
    if (world.OwnedBy<Pod>(job->metadata.uid).empty())
      return "; Job " + job->metadata.name + " has no pod yet: kubectl describe job says why, if it stays so";
    const std::string said = LastWords(*job);
    return said.empty() ? "" : "; a try failed: " + OneLine(said, kLongestMessage);
  }

  // Of its newest pod that has failed.
  std::string LastWords(const Job& job) const {
    const Pod* newest = nullptr;
    for (const Pod& pod : world.OwnedBy<Pod>(job.metadata.uid)) {
      if (pod.status.phase != "Failed") continue;
      if (newest == nullptr || pod.metadata.creation_timestamp > newest->metadata.creation_timestamp) newest = &pod;
    }
    return newest == nullptr ? "" : MessageOf(*newest);
  }

  static std::string MessageOf(const Pod& pod) {
    for (const auto* containers : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
      for (const ContainerStatus& container : *containers) {
        if (container.state.terminated && !container.state.terminated->message.empty())
          return container.state.terminated->message;
      }
    }
    return "";
  }

  // What its pod said that has done it, where that is still there and said it well.
  template <class T>
  std::optional<T> SaidBy(const Job& job) const {
    for (const Pod& pod : world.OwnedBy<Pod>(job.metadata.uid)) {
      if (pod.status.phase != "Succeeded") continue;
      if (auto said = json::Decode<T>(MessageOf(pod))) return *std::move(said);
    }
    return std::nullopt;
  }

  // A switch to what is not on the volume. From then on it is not known any more; the Job that tells it stays until the status says so.
  void ForgetWhatHasGone() {
    if (status_.current.generation == Target() || !IsKnown(Target())) return;
    const auto looks = SwitchJob(object, Target(), status_.claim_uid, SettingsOf(world));
    const Job* job = looks ? Ours(looks->key) : nullptr;
    if (job == nullptr || !job->Is("Failed")) return;
    const bool gone = std::ranges::any_of(world.OwnedBy<Pod>(job->metadata.uid), [](const Pod& pod) {
      return std::ranges::any_of(pod.status.container_statuses, [](const ContainerStatus& container) {
        return container.state.terminated && container.state.terminated->exit_code == kNotOnVolume;
      });
    });
    if (!gone) return;
    status_.generations.erase(Known(Target()));
    KeepWhatIsThere();
  }

  void Remember(const Job& job) {
    if (IsKnown(wanted_)) return;
    api::RootGeneration generation{
        .name = wanted_, .image = object.spec.source.image, .revision = object.spec.revision};
    if (const auto said = SaidBy<Filled>(job)) {
      generation.files = said->files;
      generation.bytes = said->bytes;
      generation.slurm = said->slurm;
    }
    if (status_.files.starts_with(wanted_ + " ")) status_.files.clear();  // of one of that name that is gone
    auto& generations = status_.generations;
    if (generations.size() >= kMostGenerations) {
      const bool first = generations.front().name != status_.current.generation;
      generations.erase(generations.begin() + (first ? 0 : 1));
    }
    generations.insert(generations.begin(), std::move(generation));  // it has not been current yet
  }

  const std::string ns_, wanted_;
  api::SharedRootStatus status_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* root = FindToServe<api::SharedRoot>(world, key);
  return root == nullptr ? plan::Plan() : Deciding(world, *root).Run();
}

}  // namespace capstan::op::sharedroot
