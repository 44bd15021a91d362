#include "bridge/take_over.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "bridge/end_job.h"
#include "bridge/group/decide.h"
#include "bridge/group/members.h"
#include "bridge/group/pods.h"
#include "bridge/group/show.h"
#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/release.h"
#include "bridge/settings.h"
#include "json/codec.h"
#include "kube/client.h"
#include "plan/objects/effects.h"
#include "plan/services.h"
#include "plan/slurm/jobs.h"
#include "slurm/hostlist.h"

namespace capstan::bridge {
namespace {

using plan::Plan;
using plan::World;

constexpr Duration kLookedAnew = 10min;  // where there were none
constexpr Duration kLookedAnewWhileAny = 1min;
constexpr Duration kLookedAnewWhileBusy = 3s;
constexpr size_t kMostActions = 200;  // of one Plan; the others follow
constexpr Duration kFresh = 1min;
constexpr Duration kAbsenceHolds = 30s;
constexpr std::string_view kDeviceClass =
    "deviceclass.resource.kubernetes.io/";  // of resources for which a scheduler makes claims

// One that was made for Slinky's bridge.
struct PeersPod {
  Pod pod;
  bool needs_scheduler = false;  // for its volumes, claims or devices

  // No container of it runs, or will.
  bool is_done() const { return pod.HasEnded() || (pod.metadata.deleting() && !pod.IsBound()); }
};

// Of a pod, what only a scheduler can give it.
struct Needs {
  struct Volume {
    json::Raw claim, ephemeral;
    bool operator==(const Volume&) const = default;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Volume>({
          json::Field<&Volume::claim>("persistentVolumeClaim"),
          json::Field<&Volume::ephemeral>("ephemeral"),
      });
      return schema;
    }
  };
  struct Spec {
    std::vector<Volume> volumes;
    json::Raw resource_claims;
    bool operator==(const Spec&) const = default;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Spec>({
          json::Field<&Spec::volumes>("volumes"),
          json::Field<&Spec::resource_claims>("resourceClaims"),
      });
      return schema;
    }
  };
  json::ObjectMeta metadata;
  Spec spec;

  bool any() const {
    return !spec.resource_claims.empty() || std::ranges::any_of(spec.volumes, [](const Volume& one) {
      return !one.claim.empty() || !one.ephemeral.empty();
    });
  }
  bool operator==(const Needs&) const = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Needs>({
        json::Field<&Needs::metadata>("metadata"),
        json::Field<&Needs::spec>("spec"),
    });
    return schema;
  }
};

bool AsksForDevices(const Pod& pod) {
  const auto asks = [](const std::vector<Container>& containers) {
    return std::ranges::any_of(containers, [](const Container& container) {
      return std::ranges::any_of(container.resources.requests,
                                 [](const auto& one) { return one.first.starts_with(kDeviceClass); }) ||
             std::ranges::any_of(container.resources.limits,
                                 [](const auto& one) { return one.first.starts_with(kDeviceClass); });
    });
  };
  return asks(pod.spec.containers) || asks(pod.spec.init_containers);
}

bool HasFinalizer(const Pod& pod) {
  return std::ranges::find(pod.metadata.finalizers, kPeersFinalizer) != pod.metadata.finalizers.end();
}

template <class T>
async::Task<Result<std::vector<T>>> ListAll(kube::Client& client, std::string fields, async::Deadline deadline) {
  kube::ListOptions options{.label_selector = "!" + std::string(kBridged), .field_selector = std::move(fields)};
  std::vector<T> all;
  while (true) {
    CAPSTAN_CO_TRY(auto page, co_await client.List<T>(kube::kPods, options, deadline));
    std::ranges::move(page.items, std::back_inserter(all));
    options.continue_token = page.metadata.continue_token;
    if (options.continue_token.empty()) co_return all;
  }
}

class PeersPods final : public plan::Question {
 public:
  using Value = std::vector<PeersPod>;
  explicit PeersPods(std::string scheduler) : scheduler_(std::move(scheduler)) {}
  std::string id() const override { return "pods for scheduler " + scheduler_ + " that are not bridged"; }
  Duration limit() const override { return 2min; }

  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override {
    const std::string theirs = "spec.schedulerName=" + scheduler_;
    CAPSTAN_CO_TRY(auto pods, co_await ListAll<Pod>(services.client, theirs, deadline));
    std::set<std::string> needy;
    if (std::ranges::any_of(pods, [](const Pod& pod) { return !pod.IsBound(); })) {
      CAPSTAN_CO_TRY(const auto waiting,
                     co_await ListAll<Needs>(services.client, theirs + ",spec.nodeName=", deadline));
      for (const Needs& one : waiting)
        if (one.any()) needy.insert(one.metadata.uid);
    }
    Value value;
    uint64_t digest = 0;
    for (Pod& pod : pods) {
      if (pod.HasEnded() && !HasFinalizer(pod)) continue;
      digest = Fnv64(pod.metadata.uid, digest + pod.metadata.resource_version);
      const bool needs_scheduler = needy.contains(pod.metadata.uid) || AsksForDevices(pod);
      value.push_back({std::move(pod), needs_scheduler});
    }
    co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
  }

 private:
  std::string scheduler_;
};

// What Slinky's bridge writes into the admin_comment of its jobs.
struct PeersComment {
  std::vector<std::string> pods;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<PeersComment>({json::Field<&PeersComment::pods>("pods")});
    return schema;
  }
};

plan::ObjectRef RefOf(const Pod& pod) { return {&kube::kPods, pod.key()}; }

// False: it has none.
bool RemoveFinalizer(const Pod& pod, json::JsonPatch& patch) {
  const auto& all = pod.metadata.finalizers;
  const auto found = std::ranges::find(all, kPeersFinalizer);
  if (found == all.end()) return false;
  patch.Remove("/metadata/finalizers/" + std::to_string(found - all.begin()));
  return true;
}

using Pods = std::vector<const PeersPod*>;

// All that were made for Slinky's bridge, by the id that they bear (0: none), and the ids that those of a group bear which are not
// done.
struct Left {
  std::map<int64_t, Pods> by_id;
  std::map<std::string, std::set<int64_t>> ids_of_group;
};

// The pods that bear one id, and its job.
class Taking {
 public:
  Taking(Plan& plan, const World& world, const std::string& cluster, const Left& left, int64_t id)
      : plan_(plan),
        world_(world),
        settings_(SettingsOf(world)),
        slurm_(world.Slurm(kSlurm)),
        cluster_(cluster),
        left_(left),
        id_(id),
        pods_(left.by_id.at(id)) {}

  void Decide() {
    if (id_ == 0) return Without(pods_);
    plan_.slurm_follows.push_back(id_);
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr || slurm_.followed_age() > kFresh || world_.InFlight(plan::JobTarget(kSlurm, id_))) return;
    if (!*known) {
      const Duration held = world_.HeldFor("absent is " + group::JobWords(id_));
      return held < kAbsenceHolds ? plan_.RequeueAfter(kAbsenceHolds - held) : Without(pods_);
    }
    const slurm::Job& job = **known;
    if (const auto mark = JobMark::Of(job.admin_comment); mark && job.external) return Marked(job, *mark);
    const auto comment = json::Decode<PeersComment>(job.admin_comment);
    Pods named;
    for (const PeersPod* pod : pods_) {
      if (comment && job.external && std::ranges::find(comment->pods, pod->pod.key().ToString()) != comment->pods.end())
        named.push_back(pod);
      else if (pod->is_done())
        LetGo(pod->pod);
      else
        Tell(*pod, group::JobWords(id_) + " is not this pod's: its admin_comment does not name it");
    }
    if (!named.empty()) OfIt(job, named);
  }

 private:
  // Rows 6, 7, 8: no job of Slurm stands for them.
  void Without(const Pods& pods) {
    for (const PeersPod* one : pods) {
      if (one->is_done()) {
        LetGo(one->pod);
      } else if (one->pod.IsBound()) {
        Tell(*one,
             id_ == 0 ? "it bears no job of Slurm" : "Slurm has no " + group::JobWords(id_) + " that has not ended");
      } else if (one->needs_scheduler) {
        TellOfNeeds(*one);
      } else if (std::ranges::all_of(left_.ids_of_group.at(group::GroupOf(one->pod)),
                                     [this](int64_t id) { return id == 0 || id == id_; })) {
        Adopt(one->pod, false);
      } else {
        group::Show show(world_, one->pod);
        show.Soon("False", "NotTakenOver", "the pod waits until those of its group that have a job are taken over");
        show.Into(plan_);
      }
    }
  }

  // Rows 2, 5, 8.
  void OfIt(const slurm::Job& job, const Pods& named) {
    if (job.state.IsOver()) {
      Pods others;
      for (const PeersPod* one : named) {
        const bool runs = !one->is_done() && one->pod.IsBound();
        if (!runs) others.push_back(one);
        if (!runs || one->pod.metadata.deleting()) continue;
        group::EndPod(plan_, one->pod, group::JobWords(id_) + " ended as " + job.state.ToString(),
                      plan::JobHasEnded(kSlurm, id_, job.admin_comment), "Ended");
      }
      return Without(others);
    }
    const std::string group = group::GroupOf(named.front()->pod);
    if (!std::ranges::all_of(named, &PeersPod::is_done)) {
      if (const std::string why = WhyNot(job, group, named); !why.empty()) {
        for (const PeersPod* one : named)
          if (!one->is_done()) Tell(*one, why);
        return;
      }
    }
    plan_.Add({.effect = plan::CommentJob(
                   kSlurm, id_, MarkOf(group).ToString(),
                   job.name.empty() ? std::optional(named.front()->pod.key().ToString()) : std::nullopt),
               .reason = "it is taken over from Slinky's slurm-bridge",
               .guards = {plan::JobIsOurs(kSlurm, id_, job.admin_comment)},
               .after = {},
               .event = {}});
  }

  // Why the job is not to be this bridge's, as a job of the group; "": it is.
  std::string WhyNot(const slurm::Job& job, const std::string& group, const Pods& named) const {
    if (std::ranges::any_of(named, [&](const PeersPod* one) { return group::GroupOf(one->pod) != group; }))
      return group::JobWords(id_) + " stands for pods that are no group to this bridge";
    std::set<int64_t> ids = left_.ids_of_group.at(group);
    for (const Pod& member : world_.By<Pod>(group::kGroup, group))
      if (!member.HasEnded()) ids.insert(group::JobIdOf(member));
    ids.erase(0);
    ids.erase(id_);
    if (!ids.empty()) return "others of its group have " + group::JobWords(*ids.begin());
    if (std::ranges::any_of(named, [](const PeersPod* one) { return one->needs_scheduler && !one->pod.IsBound(); }))
      return std::string(kNeeds);
    if (!job.state.Has(slurm::JobFlag::kRunning)) return {};
    const auto names = slurm::HostSet::Parse(job.nodes);
    std::set<std::string> nodes;
    if (names)
      for (const std::string& name : names->names())
        if (const auto node = KubernetesNodeOf(world_, slurm_, name)) nodes.insert(*node);
    const bool here = names && nodes.size() == names->size() && std::ranges::all_of(named, [&](const PeersPod* one) {
                        return !one->pod.IsBound() || nodes.contains(one->pod.spec.node_name);
                      });
    return here ? "" : group::JobWords(id_) + " runs on " + job.nodes + ", and the pods that it names are elsewhere";
  }

  // Rows 3, 4, 6.
  void Marked(const slurm::Job& job, const JobMark& mark) {
    const auto members = world_.By<Pod>(group::kGroup, mark.group);
    const bool any_bridged = std::ranges::any_of(members, [](const Pod& one) { return !one.HasEnded(); });
    const bool all_done = std::ranges::all_of(pods_, &PeersPod::is_done);
    for (const PeersPod* pod : pods_) {
      const bool ours = mark.Prefix() == MarkOf(group::GroupOf(pod->pod)).Prefix();
      if (!ours && pod->is_done())
        LetGo(pod->pod);
      else if (!ours)
        Tell(*pod, group::JobWords(id_) + " is another group's");
      else if (!all_done || any_bridged)
        Adopt(pod->pod, true);
      else if (job.state.IsOver())
        LetGo(pod->pod);
      else
        return End(job, mark);
    }
  }
  void End(const slurm::Job& job, const JobMark& mark) {
    const bool succeeded =
        std::ranges::all_of(pods_, [](const PeersPod* one) { return one->pod.status.phase == "Succeeded"; });
    const std::string outcome = succeeded ? "Succeeded" : "Failed";
    EndJob(plan_, job, mark, mark.outcome.empty() ? outcome : mark.outcome, "its pods have ended: " + outcome,
           group::NoPodCanRun(mark.ns(), id_));
  }

  JobMark MarkOf(const std::string& group) const { return {cluster_, settings_.bridge, group}; }

  void Adopt(const Pod& pod, bool with_job) {
    json::JsonPatch patch = Unchanged(pod);
    if (pod.metadata.labels.empty()) patch.Add("/metadata/labels", "{}");
    patch.Add(json::JsonPointer({"metadata", "labels", kBridged}), JsonQuoted(settings_.bridge));
    if (!with_job && pod.metadata.labels.contains(std::string(kJobId)))
      patch.Remove(json::JsonPointer({"metadata", "labels", kJobId}));
    if (!pod.IsBound()) {
      // Where it was to go, and has not gone.
      if (pod.metadata.annotations.contains(std::string(kSlurmNode)))
        patch.Remove(json::JsonPointer({"metadata", "annotations", kSlurmNode}));
      AddTolerations(pod, settings_.scheduler_name, patch);
    }
    RemoveFinalizer(pod, patch);
    plan_.Add({.effect = plan::PatchTested("adopt", RefOf(pod), pod.metadata.uid, std::move(patch)),
               .reason = "it is taken over from Slinky's slurm-bridge",
               .guards = {},
               .after = {},
               .event = plan::EventText{.reason = "TakenOver",
                                        .action = "Adopt",
                                        .about = plan::EventObject{&kube::kPods, pod.key(), pod.metadata.uid}}});
  }
  void LetGo(const Pod& pod) {
    json::JsonPatch patch = Unchanged(pod);
    if (!RemoveFinalizer(pod, patch)) return;
    plan_.Add({.effect = plan::PatchTested("let go", RefOf(pod), pod.metadata.uid, std::move(patch)),
               .reason = "it has ended, and no job of Slurm waits for that",
               .guards = {},
               .after = {},
               .event = {}});
  }

  static constexpr std::string_view kNeeds =
      "it has volumes, claims or devices that only its scheduler could give it; delete it, so that its controller "
      "makes another";
  void Tell(const PeersPod& pod, const std::string& why) {
    group::Show show(world_, pod.pod);
    show.Warn("NotTakenOver", "the pod was made for another slurm-bridge, and stays as it is: " + why);
    show.Into(plan_);
  }
  void TellOfNeeds(const PeersPod& pod) { Tell(pod, std::string(kNeeds)); }

  Plan& plan_;
  const World& world_;
  const Settings& settings_;
  const plan::SlurmView slurm_;
  const std::string& cluster_;
  const Left& left_;
  const int64_t id_;
  const Pods& pods_;
};

}  // namespace

void TakeOver(Plan& plan, const World& world, const std::string& cluster) {
  const Settings& settings = SettingsOf(world);
  if (!settings.take_over) return;
  const auto pods = world.Ask(PeersPods(settings.scheduler_name), kLookedAnew);
  if (pods.value == nullptr || pods.value->empty()) return;
  Left left;
  for (const PeersPod& one : *pods.value) {
    const int64_t id = group::JobIdOf(one.pod);
    left.by_id[id].push_back(&one);
    auto& ids = left.ids_of_group[group::GroupOf(one.pod)];
    if (!one.is_done()) ids.insert(id);
  }
  const size_t before = plan.actions.size();
  for (const auto& [id, theirs] : left.by_id) {
    Taking(plan, world, cluster, left, id).Decide();
    if (plan.actions.size() > before + kMostActions) break;
  }
  const bool busy = plan.actions.size() > before;
  world.Ask(PeersPods(settings.scheduler_name), busy ? kLookedAnewWhileBusy : kLookedAnewWhileAny);
}

}  // namespace capstan::bridge
