#include "operator/sharedroot/decide.h"

#include <algorithm>
#include <optional>

#include "api/sharedroot.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/schema.h"
#include "operator/names.h"
#include "operator/pods.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/sharedroot/jobs.h"
#include "plan/objects/effects.h"

namespace capstan::op::sharedroot {
namespace {

constexpr Duration kSoon = 2s;
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

class Deciding : Reconcile<api::SharedRoot> {
 public:
  Deciding(const plan::World& seen, const api::SharedRoot& found)
      : Reconcile(seen, found), ns_(found.metadata.namespace_), wanted_(GenerationName(object.spec)) {
    status_ = found.status;
    status_.observed_generation = found.metadata.generation;
    status_.claim = ClaimName(object);
  }

  plan::Plan Run() {
    SeeOrders();
    if (HasClaim() && IsFilled() && IsSwitched())
      findings.Ready("sessions and steps that begin now have generation " + wanted_ + ", of image " +
                     object.spec.source.image);
    return Finish(std::move(status_));
  }

 private:
  bool Counts() const {
    const api::CurrentRoot& current = status_.current;
    return current.generation == wanted_ && current.keep == *object.spec.keep &&
           current.node_local == object.spec.node_local;
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
    if (std::ranges::find(claim.value->access_modes, "ReadWriteMany") == claim.value->access_modes.end()) {
      findings.Problem("ClaimRefused",
                       "a shared root needs access mode ReadWriteMany, which " + who + " does not have");
      return false;
    }
    if (status_.claim_uid != claim.value->uid) {
      status_.claim_uid = claim.value->uid;
      Forget();
    }
    return true;
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
  }

  // The current generation is on the volume, and so is what was filled, until a Job finds that somebody has removed it.
  bool IsFilled() {
    if (status_.current.generation == wanted_) return true;
    if (IsKnown() && !HasGone()) return true;
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
    if (Counts() && status_.ordered_generation <= status_.current.observed_generation) return true;
    const Job* job = Run(SwitchJob(object, status_.claim_uid, SettingsOf(world)));
    status_.ordered_generation = std::max(status_.ordered_generation, object.metadata.generation);
    if (job != nullptr && job->Is("Complete")) {
      status_.current = {wanted_, *object.spec.keep, object.spec.node_local, object.metadata.generation};
      return true;
    }
    if (!Failed(job, "switching to generation " + wanted_))
      findings.Wait("SwitchingRoot", "generation " + wanted_ + " is about to be current" + HowFar(job));
    return false;
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
    const std::string said = LastWords(*job);
    findings.Problem("JobFailed",
                     what + " failed: " + OneLine(said.empty() ? job->MessageOf("Failed") : said, kLongestMessage) +
                         "; it is tried again in ten minutes, or when the spec changes");
    return true;
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

  bool IsKnown() const {
    return std::ranges::find(status_.generations, wanted_, &api::RootGeneration::name) != status_.generations.end();
  }

  // From then on it is not known any more; the Job that tells it stays until the status says so.
  bool HasGone() {
    const auto looks = SwitchJob(object, status_.claim_uid, SettingsOf(world));
    const Job* job = looks ? Ours(looks->key) : nullptr;
    if (job == nullptr || !job->Is("Failed")) return false;
    const bool gone = std::ranges::any_of(world.OwnedBy<Pod>(job->metadata.uid), [](const Pod& pod) {
      return std::ranges::any_of(pod.status.container_statuses, [](const ContainerStatus& container) {
        return container.state.terminated && container.state.terminated->exit_code == kNotOnVolume;
      });
    });
    if (!gone) return false;
    std::erase_if(status_.generations, [&](const auto& generation) { return generation.name == wanted_; });
    KeepWhatIsThere();
    return true;
  }

  // What the Job said of it, where its pod is still there.
  void Remember(const Job& job) {
    if (IsKnown()) return;
    api::RootGeneration generation{
        .name = wanted_, .image = object.spec.source.image, .revision = object.spec.revision};
    for (const Pod& pod : world.OwnedBy<Pod>(job.metadata.uid)) {
      if (pod.status.phase != "Succeeded") continue;
      const auto said = json::Decode<Filled>(MessageOf(pod));
      if (!said) continue;
      generation.files = said->files;
      generation.bytes = said->bytes;
      generation.slurm = said->slurm;
    }
    if (status_.generations.size() >= kMostGenerations) status_.generations.erase(status_.generations.begin());
    status_.generations.push_back(std::move(generation));
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
