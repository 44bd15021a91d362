#include "operator/controller/live.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/pods.h"
#include "operator/reasons.h"
#include "plan/slurm/effects.h"

namespace capstan::op::controller {
namespace {

constexpr Duration kSettles = 1s;
constexpr Duration kAnnounceAgain = 15s;
constexpr Duration kEveryKubelet = 90s;  // its sync period and what it is late by
constexpr Duration kAtRest = 60s, kWaiting = 1s;

// A user's file that the pod does not tell of: entry/configuration.h.
bool IsTold(std::string_view file) {
  return !file.starts_with('.') && !file.ends_with(".key") && !file.ends_with(".jwks");
}

bool Has(const LiveConfiguration::Files& there, const LiveConfiguration::Files& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& file) {
    if (!IsTold(file.first)) return true;
    const auto found = there.find(file.first);
    return found != there.end() && found->second == file.second;
  });
}

// A file that was taken away, or one that the user's template mounts there.
bool HasMore(const LiveConfiguration::Files& there, const LiveConfiguration::Files& wanted) {
  return std::ranges::any_of(there, [&](const auto& file) {
    return IsTold(file.first) && file.first != "jwks.json" && !wanted.contains(file.first);
  });
}

// One pod.
class Following {
 public:
  Following(ReconcileBase& reconcile, const PublishedFiles& published, kube::Key pod, const api::Conditions& before)
      : reconcile_(reconcile),
        world_(reconcile.world),
        plan_(reconcile.plan),
        published_(published),
        pod_(std::move(pod)),
        before_(before) {}

  // nullopt: nothing is known yet.
  std::optional<OwnCondition> Run() {
    Look();
    return std::move(said_);
  }

 private:
  void Look() {
    const Pod* pod = world_.Find<Pod>(pod_);
    if (pod == nullptr || pod->metadata.deleting() || pod->status.phase != "Running" || pod->status.pod_ip.empty())
      return Say("Unknown", "SlurmctldAway", "slurmctld does not run; it reads the configuration when it starts");
    const LiveConfiguration question(pod_, pod->status.pod_ip);
    auto answer = world_.Ask(question, kAtRest);
    const bool at_rest = pod->Ready() || published_.pods.size() > 1;  // one that stands by is never ready
    if (!at_rest && !answer.absent()) answer = world_.Ask(question, kWaiting);
    if (answer.state == plan::AnswerState::kPending && answer.value == nullptr) return AsBefore();
    if (answer.absent()) return WithoutReconfigurer(*pod);
    if (IsLive(answer, *pod)) return Live(*answer.value);
    answer = world_.Ask(question, kWaiting);
    if (IsLive(answer, *pod)) return Live(*answer.value);
    if (answer.value != nullptr && !answer.value->refused.empty() && Has(answer.value->refused, published_.files))
      return Refused(*answer.value);
    if (answer.value != nullptr && !answer.value->runs && answer.value->refused.empty())
      return Say("Unknown", "SlurmctldAway", "slurmctld is starting; it reads the configuration meanwhile");
    const bool has_all = answer.value != nullptr && Has(answer.value->live, published_.files);
    Announce(*pod, has_all ? kEveryKubelet : kAnnounceAgain);
    if (answer.state == plan::AnswerState::kFailed)
      return Say("Unknown", "NotAnswering", "the pod of slurmctld does not say what is live: " + answer.error);
    Waits("slurmctld is about to get the configuration that is published");
  }

  void Say(std::string_view status, OwnWord reason, std::string message) {
    said_ = {api::kConfigLive, status, {reason.word, std::move(message)}};
  }

  void Live(const LiveConfiguration::Value& told) {
    Say("True", "Live", "slurmctld runs with the published configuration since " + told.since);
  }

  // Once its kubelet has had its time, a file more is the template's.
  bool IsLive(const plan::Answer<LiveConfiguration::Value>& answer, const Pod& pod) const {
    if (answer.value == nullptr || !answer.value->runs || !Has(answer.value->live, published_.files)) return false;
    if (!published_.complete || !HasMore(answer.value->live, published_.files)) return true;
    const auto announced = AnnouncedAt(pod);
    return answer.value->refused.empty() && announced && *announced + kEveryKubelet <= world_.now();
  }

  void AsBefore() {
    const api::Condition* before = api::FindCondition(before_, api::kConfigLive);
    if (before != nullptr) said_ = {api::kConfigLive, before->status, {before->reason, before->message}};
  }

  void Waits(const std::string& message) {
    reconcile_.findings.Wait("Reconfiguring", message);
    Say("False", "Reconfiguring", message);
  }

  void Refused(const LiveConfiguration::Value& told) {
    const std::string message = (told.runs ? "the configuration is not live, slurmctld goes on with the one before: "
                                           : "the configuration is not live, and slurmctld does not run: ") +
                                told.message;
    reconcile_.findings.Problem("ConfigRefused", message);
    Say("False", "ConfigRefused", message);
  }

  // Since when the pod is to have these files; nullopt: it has not been told yet.
  std::optional<Time> AnnouncedAt(const Pod& pod) const {
    const std::string& told = pod.metadata.Annotation(std::string(kAnnotationConfiguration));
    const auto words = Words(told);
    if (words.size() != 2 || words[0] != published_.hash) return std::nullopt;
    return ParseRfc3339(words[1]);
  }

  // `again`: if nothing has come of it after that time.
  void Announce(const Pod& pod, Duration again = kAnnounceAgain) {
    const Duration held = world_.HeldFor("published " + published_.hash);
    if (held < kSettles) return plan_.RequeueAfter(kSettles - held);
    const auto announced = AnnouncedAt(pod);
    if (announced && world_.now() < *announced + again) return plan_.RequeueAfter(*announced + again - world_.now());
    if (world_.InFlight("Pod " + pod_.ToString())) return;
    AnnotatePod(plan_, "announce", pod, kAnnotationConfiguration, published_.hash + " " + FormatRfc3339(world_.now()),
                "its kubelet mounts the changed configuration at once");
  }

  void WithoutReconfigurer(const Pod& pod) {
    const auto is_sidecar = [](const ContainerStatus& status) { return status.name == "reconfigure"; };
    if (pod.metadata.Annotation(std::string(kHashSlurmConfig)) == published_.hash ||
        pod.metadata.Annotation(std::string(kAnnotationReconfigured)) == published_.hash)
      return Say("True", "Live", "slurmctld was started or reconfigured with the published configuration");
    if (std::ranges::any_of(pod.status.init_container_statuses, is_sidecar))
      return Say("Unknown", "NoReconfigurer",
                 "the pod of slurmctld has a sidecar that reconfigures, and nobody to ask");
    const auto announced = AnnouncedAt(pod);
    if (!announced) {
      Announce(pod);
      return Waits("slurmctld gets the configuration that is published when its kubelet has mounted it");
    }
    const std::string image = "the image of slurmctld's pod has no capstan-entry";
    if (!plan_.slurm) {
      return Say("Unknown", "NoReconfigurer",
                 image + ", and there is no RestApi: run `scontrol reconfigure` in pod " + pod_.ToString());
    }
    if (world_.now() < *announced + kEveryKubelet) {
      plan_.RequeueAfter(*announced + kEveryKubelet - world_.now());
      return Waits(image + "; slurmrestd is asked to reconfigure at " + FormatRfc3339(*announced + kEveryKubelet));
    }
    const plan::ActionId asked = plan_.Add({.effect = plan::Reconfigure(plan_.slurm_cluster, published_.hash),
                                            .reason = image,
                                            .guards = {},
                                            .after = {},
                                            .event = {}});
    AnnotatePod(plan_, "note", pod, kAnnotationReconfigured, published_.hash, "slurmctld was reconfigured", {asked});
    Waits(image + "; slurmrestd is asked to reconfigure");
  }

  ReconcileBase& reconcile_;
  const plan::World& world_;
  plan::Plan& plan_;
  const PublishedFiles& published_;
  const kube::Key pod_;
  const api::Conditions& before_;
  std::optional<OwnCondition> said_;
};

}  // namespace

void Follow(ReconcileBase& reconcile, const PublishedFiles& published, const api::Conditions& before) {
  std::optional<OwnCondition> worst;
  for (const kube::Key& pod : published.pods) {
    std::optional<OwnCondition> said = Following(reconcile, published, pod, before).Run();
    if (said && (!worst || worst->status == "True")) worst = std::move(said);
  }
  if (worst) reconcile.findings.own.push_back(*std::move(worst));
}

}  // namespace capstan::op::controller
