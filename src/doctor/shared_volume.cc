#include "doctor/shared_volume.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>

#include "async/timer.h"
#include "base/text.h"
#include "doctor/cluster.h"
#include "json/codec.h"
#include "json/value.h"
#include "kube/client.h"
#include "operator/names.h"
#include "operator/pods.h"
#include "operator/settings.h"

namespace capstan::doctor {
namespace {

using async::Task;
using boost::json::array;
using boost::json::object;

constexpr Duration kAnswerTimeout = 10s;
constexpr Duration kLookEvery = 500ms;
constexpr Duration kTroubleTimeout = 1min;  // until a pod that cannot start ends it all
constexpr Duration kCleanUpTimeout = 30s;
constexpr size_t kLongestWords = 600;  // bytes of what others wrote
constexpr std::string_view kLabel = "capstan.dev/doctor";
constexpr std::string_view kContainer = "probe", kVolume = "root", kVolumePath = "/capstan/root";
constexpr std::string_view kReadWriteMany = "ReadWriteMany";
constexpr std::string_view kAnotherVolume =
    "use a volume of another StorageClass, or other export and mount options (docs/sharedroot.md, What it needs)";

constexpr auto kVolumeCauses = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"VolumeUnfit", "a volume does not keep, or does not show on two nodes, what a shared root needs"},
    {"VolumeLacks", "a volume can hold a shared root, and something will be missed"},
    {"NotReadWriteMany", "a claim lacks the access mode ReadWriteMany"},
    {"ProbeNotStarted", "a pod with the volume does not start, or does not get to a second node"},
    {"ProbeFailed", "a pod with the volume could not try it"},
});

struct ClaimModes {
  struct Spec {
    std::vector<std::string> access_modes;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Spec>({json::Field<&Spec::access_modes>("accessModes")});
      return schema;
    }
  };
  Spec spec;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimModes>({json::Field<&ClaimModes::spec>("spec")});
    return schema;
  }
};

// What a pod writes when it has ended (entry/root/probe.h).
struct Said {
  std::vector<std::string> errors, warnings;
  int64_t files_per_second = 0, seen_after_ms = 0;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Said>(
        {json::Field<&Said::errors>("errors"), json::Field<&Said::warnings>("warnings"),
         json::Field<&Said::files_per_second>("filesPerSecond"), json::Field<&Said::seen_after_ms>("seenAfterMs")});
    return schema;
  }
};

// Of a pod that has succeeded; nullopt: it has not, or its words are no report.
std::optional<Said> SaidBy(const op::Pod& pod) {
  if (pod.status.phase != "Succeeded") return std::nullopt;
  for (const op::ContainerStatus& container : pod.status.container_statuses) {
    if (!container.state.terminated) continue;
    if (auto said = json::Decode<Said>(container.state.terminated->message)) return *std::move(said);
  }
  return std::nullopt;
}

std::string LastWords(const op::Pod& pod) {
  for (const op::ContainerStatus& container : pod.status.container_statuses) {
    if (container.state.terminated && !container.state.terminated->message.empty())
      return OneLine(container.state.terminated->message, kLongestWords);
  }
  return "it has said nothing of why";
}

class Trial {
 public:
  Trial(async::Loop& loop, net::Transport& http, VolumeQuestion question)
      : loop_(loop), question_(std::move(question)), client_(loop, http, {.tries = 2}) {
    report_.claim = question_.claim.empty() ? question_.id : question_.claim;
    names_ = {question_.id + "-1", question_.id + "-2"};
  }

  Task<Result<VolumeReport>> Run() {
    const Result<void> tried = co_await Try();
    co_await CleanUp();
    if (!tried && !report_.left.empty())
      co_return Fail(tried.error().code(), tried.error().message() + "; " + Join(report_.left, "; "));
    if (!tried) co_return Fail(tried.error());

    co_return std::move(report_);
  }

 private:
  kube::Key Named(const std::string& name) const { return {question_.ns, name}; }
  std::string ClaimText() const { return "PersistentVolumeClaim " + Named(report_.claim).ToString(); }

  void Add(Severity severity, std::string_view cause, std::string what, std::string todo) {
    const auto after = std::ranges::upper_bound(report_.findings, severity, {}, &Finding::severity);
    report_.findings.insert(after, {.severity = severity,
                                    .cause = cause,
                                    .object = ClaimText(),
                                    .what = std::move(what),
                                    .todo = std::move(todo)});
  }

  Task<Result<void>> Try() {
    CAPSTAN_CO_TRY(const bool shared, co_await IsShared());
    if (!shared) co_return Result<void>();
    CAPSTAN_CO_TRY(const std::string image, co_await Image());
    made_ = true;
    CAPSTAN_CO_TRY(const op::Pod first,
                   co_await client_.Create<op::Pod>(kube::kPods, Named(names_[0]), PodText("first", names_[0], image),
                                                    {}, loop_.After(kAnswerTimeout)));
    if (question_.claim.empty())
      CAPSTAN_CO_CHECK_OK(co_await client_.Create(kube::kPersistentVolumeClaims, Named(report_.claim), ClaimBody(first),
                                                  {}, loop_.After(kAnswerTimeout)));
    CAPSTAN_CO_CHECK_OK(co_await client_.Create(kube::kPods, Named(names_[1]), PodText("second", names_[1], image), {},
                                                loop_.After(kAnswerTimeout)));
    co_return co_await Wait();
  }

  Task<Result<bool>> IsShared() {
    if (question_.claim.empty()) co_return true;
    CAPSTAN_CO_TRY(const auto claim,
                   co_await client_.Get<ClaimModes>(kube::kPersistentVolumeClaims, Named(question_.claim), {},
                                                    loop_.After(kAnswerTimeout)));
    const std::vector<std::string>& modes = claim.spec.access_modes;
    if (std::ranges::find(modes, kReadWriteMany) != modes.end()) co_return true;
    Add(Severity::kError, "NotReadWriteMany",
        "its access modes are " + Join(modes, ", ") + ", and a shared root needs ReadWriteMany",
        "make another claim with that mode; that of a claim cannot be changed");
    co_return false;
  }

  Task<Result<std::string>> Image() {
    if (!question_.image.empty()) co_return question_.image;
    auto operators = co_await client_.List<OperatorDeployment>(
        kube::kDeployments, {.label_selector = std::string(kOperatorSelector)}, loop_.After(kAnswerTimeout));
    if (!operators)
      co_return Fail(std::move(operators).error().WithContext("which image has capstan-entry? give it with --image"));
    for (const OperatorDeployment& each : operators->items) {
      if (const std::string prefix = each.Flag("image-prefix"); !prefix.empty()) {
        const std::string tag = each.Flag("image-tag");
        op::Settings settings{.image_prefix = prefix};
        if (!tag.empty()) settings.image_tag = tag;
        co_return settings.Image(op::kWorker.app);
      }
    }
    co_return Fail(Code::kInvalid,
                   "no operator is there that tells which image has capstan-entry; give it with --image");
  }

  object Metadata(const std::string& name) const {
    return {{"name", name}, {"namespace", question_.ns}, {"labels", object{{kLabel, question_.id}}}};
  }

  std::string PodText(std::string_view side, const std::string& name, const std::string& image) const {
    const object not_beside{{"labelSelector", object{{"matchLabels", object{{kLabel, question_.id}}}}},
                            {"topologyKey", "kubernetes.io/hostname"}};
    const object rights{
        {"runAsUser", 0},
        {"runAsNonRoot", false},
        {"allowPrivilegeEscalation", false},
        {"seccompProfile", object{{"type", "RuntimeDefault"}}},
        {"capabilities",
         object{{"drop", array{"ALL"}}, {"add", array{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP"}}}}};
    const object container{{"name", kContainer},
                           {"image", image},
                           {"command", array{"/usr/local/bin/capstan-entry", "root", "probe", "--volume", kVolumePath,
                                             "--id", question_.id, "--side", side}},
                           {"terminationMessagePolicy", "FallbackToLogsOnError"},
                           {"securityContext", rights},
                           {"volumeMounts", array{object{{"name", kVolume}, {"mountPath", kVolumePath}}}}};
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(question_.patience + kTroubleTimeout).count();
    const object spec{
        {"restartPolicy", "Never"},
        {"activeDeadlineSeconds", seconds},
        {"terminationGracePeriodSeconds", 1},
        {"automountServiceAccountToken", false},
        {"enableServiceLinks", false},
        {"affinity",
         object{{"podAntiAffinity", object{{"requiredDuringSchedulingIgnoredDuringExecution", array{not_beside}}}}}},
        {"containers", array{container}},
        {"volumes", array{object{{"name", kVolume}, {"persistentVolumeClaim", object{{"claimName", report_.claim}}}}}}};
    return json::Serialize(object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Metadata(name)}, {"spec", spec}});
  }

  // It goes with the first pod, whoever deletes that.
  std::string ClaimBody(const op::Pod& first) const {
    object metadata = Metadata(report_.claim);
    metadata["ownerReferences"] = array{
        object{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", first.metadata.name}, {"uid", first.metadata.uid}}};
    object spec{{"accessModes", array{kReadWriteMany}},
                {"resources", object{{"requests", object{{"storage", question_.size}}}}}};
    if (!question_.storage_class.empty()) spec["storageClassName"] = question_.storage_class;
    return json::Serialize(object{{"apiVersion", "v1"},
                                  {"kind", "PersistentVolumeClaim"},
                                  {"metadata", std::move(metadata)},
                                  {"spec", std::move(spec)}});
  }

  bool Interrupted() const { return question_.interrupted != nullptr && *question_.interrupted; }

  Task<Result<void>> Wait() {
    const Tick end = loop_.Now() + question_.patience;
    std::optional<Tick> trouble_since;
    while (true) {
      if (Interrupted()) co_return Fail(Code::kUnavailable, "interrupted");
      std::vector<op::Pod> pods;
      for (const std::string& name : names_) {
        CAPSTAN_CO_TRY(op::Pod pod,
                       co_await client_.Get<op::Pod>(kube::kPods, Named(name), {}, loop_.After(kAnswerTimeout)));
        pods.push_back(std::move(pod));
      }
      if (IsOver(pods)) {
        Judge(pods);
        co_return Result<void>();
      }
      const bool trouble = std::ranges::any_of(pods, [](const op::Pod& pod) { return !op::PodTrouble(pod).empty(); });
      if (!trouble) trouble_since.reset();
      if (trouble && !trouble_since) trouble_since = loop_.Now();
      if (loop_.Now() >= end || (trouble_since && loop_.Now() - *trouble_since >= kTroubleTimeout)) {
        co_await TellWhatWaits(pods);
        co_return Result<void>();
      }
      co_await async::Sleep(loop_, kLookEvery);
    }
  }

  // Nothing more will be said, or what was said is enough.
  static bool IsOver(const std::vector<op::Pod>& pods) {
    const auto failed = [](const op::Pod& pod) { return pod.status.phase == "Failed"; };
    if (std::ranges::any_of(pods, failed) || std::ranges::all_of(pods, &op::Pod::Ended)) return true;
    const std::optional<Said> first = SaidBy(pods[0]);
    return first && !first->errors.empty();
  }

  void Judge(const std::vector<op::Pod>& pods) {
    for (const op::Pod& pod : pods) {
      const std::string where = "on node " + pod.spec.node_name + ": ";
      if (!pod.spec.node_name.empty()) report_.nodes.push_back(pod.spec.node_name);
      const std::optional<Said> said = SaidBy(pod);
      if (!said) {
        if (pod.Ended()) Add(Severity::kError, "ProbeFailed", where + LastWords(pod), std::string(kAnotherVolume));
        continue;
      }
      for (const std::string& error : said->errors)
        Add(Severity::kError, "VolumeUnfit", where + error, std::string(kAnotherVolume));
      for (const std::string& warning : said->warnings)
        Add(Severity::kWarning, "VolumeLacks", where + warning, std::string(kAnotherVolume));
      report_.files_per_second = std::max(report_.files_per_second, said->files_per_second);
      report_.seen_after_ms = std::max(report_.seen_after_ms, said->seen_after_ms);
    }
  }

  Task<void> TellWhatWaits(const std::vector<op::Pod>& pods) {
    const auto events = co_await client_.List<Event>(
        kube::kEvents, {.ns = question_.ns, .field_selector = "type=Warning"}, loop_.After(kAnswerTimeout));
    for (const op::Pod& pod : pods) {
      if (!pod.spec.node_name.empty()) report_.nodes.push_back(pod.spec.node_name);
      if (pod.Ended()) continue;
      std::string what = op::PodTrouble(pod);
      if (what.empty())
        what = "pod " + pod.metadata.name +
               (pod.status.phase == "Running" ? " has not ended in time" : " has not started in time");
      std::string warned;
      for (const Event& event : events ? events->items : std::vector<Event>()) {
        const bool of_pod = event.regarding.kind == "Pod" && event.regarding.name == pod.metadata.name;
        const bool of_claim = event.regarding.kind == "PersistentVolumeClaim" && event.regarding.name == report_.claim;
        if (of_pod || of_claim) warned = event.note;
      }
      if (!warned.empty() && !what.contains(warned)) what += "; " + OneLine(warned, kLongestWords);
      Add(Severity::kError, "ProbeNotStarted", std::move(what),
          "try again once pods can start on two nodes with that volume, or with another");
    }
  }

  // Of these names nothing is but what this has made: they have its id.
  Task<void> CleanUp() {
    if (!made_) co_return;
    const async::Deadline deadline = loop_.After(kCleanUpTimeout);
    for (const std::string& name : names_) co_await Delete(kube::kPods, name, deadline);
    if (question_.claim.empty()) co_await Delete(kube::kPersistentVolumeClaims, report_.claim, deadline);
  }

  Task<void> Delete(kube::Resource resource, std::string name, async::Deadline deadline) {
    struct Meta {
      json::ObjectMeta metadata;
      static const json::Schema& Schema() {
        static const json::Schema schema = json::Object<Meta>({json::Field<&Meta::metadata>("metadata")});
        return schema;
      }
    };
    const auto found = co_await client_.Get<Meta>(resource, Named(name), {.metadata_only = true}, deadline);
    Result<void> deleted;
    if (!found) {
      deleted = Fail(found.error());
    } else if (found->metadata.Label(std::string(kLabel)) == question_.id) {
      const auto answer = co_await client_.Delete(resource, Named(name), {.uid = found->metadata.uid}, deadline);
      if (!answer) deleted = Fail(answer.error());
    }
    if (deleted || deleted.error().code() == Code::kNotFound) co_return;
    report_.left.push_back(std::string(resource.kind) + " " + Named(name).ToString() +
                           " may still be there, delete it: " + deleted.error().message());
  }

  async::Loop& loop_;
  VolumeQuestion question_;
  kube::Client client_;
  VolumeReport report_;
  std::vector<std::string> names_;  // of the pods
  bool made_ = false;               // or it was tried
};

}  // namespace

std::span<const std::pair<std::string_view, std::string_view>> VolumeCauses() { return kVolumeCauses; }

Task<Result<VolumeReport>> TryVolume(async::Loop& loop, net::Transport& http, VolumeQuestion question) {
  Trial trial(loop, http, std::move(question));
  co_return co_await trial.Run();
}

}  // namespace capstan::doctor
