#include "operator/nodeset/status.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/identity.h"
#include "operator/nodeset/look.h"
#include "operator/nodeset/machine.h"
#include "operator/nodeset/node_annotations.h"
#include "operator/nodeset/phase.h"
#include "operator/nodeset/reservation.h"
#include "operator/nodeset/unheeded.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/pods.h"
#include "operator/render/own_words.h"
#include "operator/ssh_files.h"
#include "operator/unknown_fields.h"
#include "slurm/conf_check.h"

namespace capstan::op::nodeset {
namespace {

constexpr size_t kLongestShown = 256;  // bytes of a Slurm node's reason in a message
constexpr size_t kNamed = 3;           // so many workers are named in a message, the rest counted

// What workers bear under the former revision is understood only by this: it stays until none does.
const std::string& StatusRevision(const Seen& seen) {
  const bool any = std::ranges::any_of(seen.workers, [&](const Worker& worker) {
    return worker.pod->metadata.Label(AsKey<kLabelRevision>()) == seen.revisions.former;
  });
  return any && !seen.revisions.former.empty() ? seen.revisions.former : seen.revisions.current;
}

void CountPods(const Seen& seen, api::NodeSetStatus& status) {
  for (const Worker& worker : seen.workers) {
    const Pod& pod = *worker.pod;
    if (pod.status.phase.empty()) continue;
    ++status.replicas;
    status.ready_replicas += pod.status.phase == "Running" && pod.Ready();
    status.available_replicas += UntilAvailable(pod, seen.spec.min_ready_seconds, seen.world.now()) == Duration::zero();
    status.updated_replicas += worker.stage != Stage::kLeaving && seen.revisions.IsCurrent(pod);
  }
  status.desired = *seen.spec.replicas;
  status.unavailable_replicas = std::max(0, status.desired - status.available_replicas);
}

void CountNodes(const Seen& seen, api::NodeSetStatus& status) {
  for (const Worker& worker : seen.workers) {
    if (worker.node == nullptr) continue;
    const slurm::NodeBase base = worker.node->state.base();
    status.slurm_idle += base == slurm::NodeBase::kIdle;
    status.slurm_allocated += base == slurm::NodeBase::kAllocated || base == slurm::NodeBase::kMixed;
    status.slurm_down += base == slurm::NodeBase::kDown;
    status.slurm_drain += worker.node->state.IsDraining() && !worker.node->state.IsFailing();
  }
}

// --- Words -----------------------------------------------------------------------------------------------------------

// Out of service for the sake of others; of a worker that is to stay.
std::string CordonTrouble(const Worker& worker, const api::NodeSet& set) {
  const bool out = worker.stage == Stage::kServing || worker.stage == Stage::kDraining ||
                   worker.stage == Stage::kDrained || (worker.stage == Stage::kDown && IsOurDown(*worker.node, set));
  if (worker.cordon.empty() || !out) return "";
  const std::string words = worker.cordon.substr(kReasonPrefix.size());
  const bool checks_only = words.starts_with("check ");
  return std::string("takes no new jobs, as ") + (checks_only ? "health checks want it (" : "a person wants it (") +
         words + (checks_only ? "); it comes back when they pass" : "); uncordon it to have it back");
}

// Nobody wants it out of service, and it is not let back in yet; of a worker that is to stay.
std::string OutTrouble(const Worker& worker) {
  const bool drained = worker.stage == Stage::kDraining || worker.stage == Stage::kDrained;
  if (!drained || !worker.cordon.empty()) return "";
  const std::string why = WhyNotInService(worker);
  return why.empty() ? ""
                     : "takes no new jobs, as before (\"" + OneLine(worker.node->reason, kLongestShown) + "\"): " + why;
}

// The record has been out of service since before the worker was made, and registering has changed hardly anything of it.
std::string OldRecord(const Worker& worker) {
  const auto& made = worker.pod->metadata.creation_timestamp;
  const auto& since = worker.node->reason_changed_at;
  if (!made || !since || *since >= *made) return "";
  return "; its record is that of the worker before it: what has changed of extraConf, features or size takes effect "
         "once that record is deleted in Slurm, and then the pod";
}

// What stands at its Slurm node, in one line.
std::string ReasonOf(const Worker& worker) { return OneLine(worker.node->reason, kLongestShown); }

// Why a worker is not in service although its pod runs, for a person; empty when it is, or will be by itself.
std::string NodeTrouble(const Worker& worker, const api::NodeSet& set, bool stays) {
  if (std::string cordoned = CordonTrouble(worker, set); stays && !cordoned.empty()) return cordoned;
  if (std::string out = stays ? OutTrouble(worker) : ""; !out.empty()) return out;
  switch (worker.stage) {
    case Stage::kEnded:
      return "has ended (" + worker.pod->status.phase + ") and is being replaced";
    case Stage::kHeld:
      if (worker.node->state.Has(slurm::NodeFlag::kInvalidReg)) {
        return "is not what Slurm expects of " + worker.host + " (\"" + ReasonOf(worker) + "\"), which has " +
               std::to_string(worker.node->cpus) + " CPUs, " + std::to_string(worker.node->memory_mib) + " MiB" +
               (worker.node->gres.empty() ? "" : " and " + OneLine(worker.node->gres, kLongestShown)) +
               "; correct resources or extraConf, or delete the record in Slurm and then the pod";
      }
      return std::string(worker.node->state.IsFailing() ? "was set to FAIL" : "was drained") +
             " in Slurm by somebody else (\"" + ReasonOf(worker) + "\"); resume it there" + OldRecord(worker);
    case Stage::kDown:
      if (MayBeResumed(*worker.node, set)) {
        // One of ours ends by itself once its pod has started.
        const std::string why = IsOurDown(*worker.node, set) ? MachineTrouble(worker) : WhyNotInService(worker);
        return why.empty() ? ""
                           : "is DOWN in Slurm (\"" + ReasonOf(worker) + "\"): " + why +
                                 "; it is resumed once it and its Kubernetes node are ready and it answers";
      }
      return "is DOWN in Slurm (\"" + ReasonOf(worker) + "\"); look at its pod, then resume it in Slurm" +
             OldRecord(worker);
    case Stage::kDrained:
      if (worker.record_is_sure || !worker.marked()) return "";
      return "is to go, but Slurm's record of " + worker.host + " has another address (" +
             OneLine(worker.node->address, kLongestShown) +
             ") and may be another slurmd's, as that does not answer, or the clocks differ; it goes once its pod says "
             "that "
             "its slurmd has no job";
    case Stage::kPoweredDown:
      if (worker.record_is_sure) return "";
      return "is to go, as Slurm has powered its node down, once its pod says that its slurmd has no job";
    case Stage::kUnknown:
      if (worker.named()) return "";
      return "has its Kubernetes node's network (hostNetwork) and was made by another operator, so that its Slurm node "
             "is not known; it is left alone";
    default:
      return "";
  }
}

// For how long the worker has been ready, and Slurm without a record of it; nullopt: that is not so. To tell it, or to ask its pod,
// absence need not count.
std::optional<Duration> UnknownFor(const Seen& seen, const Worker& worker) {
  if (worker.stage != Stage::kUnregistered || worker.powering_up || !worker.pod->Ready()) return std::nullopt;
  return seen.world.HeldFor("unknown " + worker.pod->metadata.uid);
}

std::string UnknownTrouble(const Seen& seen, const Worker& worker) {
  const auto unknown = UnknownFor(seen, worker);
  if (!unknown || *unknown < kSuspectTimeout) return "";
  std::string begin = "is ready, and Slurm has no record of " + worker.host;
  if (seen.slurm.All().empty()) begin += ", nor of any other node, as if slurmctld had come up without its state";
  const auto answer = seen.world.Ask(IdentityOf(worker), kIdentityAge);
  if (*unknown < kUnknownTimeout) return "";
  const std::string keep = "; it is left alone, since jobs may run there: once none does, delete the pod";
  if (answer.value != nullptr && answer.value->node != worker.host) {
    return begin + ": its slurmd calls itself " + JsonQuoted(OneLine(answer.value->node, kLongestShown)) +
           ", by an option or a command of spec.slurmd or of its image" + keep;
  }
  if (answer.value != nullptr)
    return begin + (answer.value->steps ? ", but job steps are in its pod" + keep
                                        : "; its slurmd is started anew, and it is replaced if that does not help");
  if (answer.state == plan::AnswerState::kPending) return "";
  return begin + ", and its pod does not say what its slurmd is called" +
         (answer.error.empty() ? "" : " (" + OneLine(answer.error, kLongestShown) + ")") + keep;
}

// "a x; b y; and 4 more" from "a x", "b y", ...
std::string Several(const std::vector<std::string>& texts) {
  std::string text;
  for (size_t i = 0; i < std::min(texts.size(), kNamed); ++i) text += (i == 0 ? "" : "; ") + texts[i];
  if (texts.size() > kNamed) text += "; and " + std::to_string(texts.size() - kNamed) + " more";
  return text;
}

// Of a worker of the template as it is, that has registered. What Slurm itself says of one that it refused is told elsewhere.
std::string GresOfWorker(const Seen& seen, const Worker& worker) {
  const bool registered = worker.node != nullptr && !worker.node->version.empty() && !worker.node->state.IsDown();
  if (!registered || worker.node->state.Has(slurm::NodeFlag::kInvalidReg)) return "";
  return seen.revisions.IsCurrent(*worker.pod) ? GresTrouble(*worker.node, seen.gres) : "";
}

void FindWorkersTrouble(const Seen& seen, Findings& findings) {
  std::vector<const Worker*> kept = seen.scale.kept;
  std::ranges::sort(kept);
  std::vector<std::string> troubles, gres;
  for (const Worker& worker : seen.workers) {
    const std::string& name = worker.pod->metadata.name;
    if (std::string trouble = PodTrouble(*worker.pod); !trouble.empty())
      troubles.push_back(std::move(trouble));
    else if (trouble = NodeTrouble(worker, seen.set, std::ranges::binary_search(kept, &worker)); !trouble.empty())
      troubles.push_back(name + " " + trouble);
    else if (trouble = UnknownTrouble(seen, worker); !trouble.empty())
      troubles.push_back(name + " " + trouble);
    if (const std::string trouble = GresOfWorker(seen, worker); !trouble.empty()) gres.push_back(name + " " + trouble);
  }
  if (!troubles.empty()) findings.Problem("WorkersImpaired", Several(troubles));
  if (!gres.empty()) findings.Problem("GresMismatch", Several(gres));
}

// The kubelet would wait for it without a word that reaches the NodeSet.
void FindSssdTrouble(const Seen& seen, Findings& findings) {
  if (!HasSsh(seen.set)) return;
  (void)FindSssdConf(seen.world, seen.set.metadata.namespace_, seen.spec.ssh->sssd_conf_ref, "spec.ssh.sssdConfRef",
                     findings);
}

// The server leaves them out of a worker by itself.
void FindUnknownFields(const Seen& seen, Findings& findings) {
  json::Raw pod_spec = seen.spec.pod_template.spec, slurmd = seen.spec.slurmd, logfile = seen.spec.logfile;
  DropUnknownPodFields(seen.world, {seen.set.metadata.namespace_, seen.set.metadata.name},
                       {"spec.template.spec", &pod_spec}, {{"spec.slurmd", &slurmd}, {"spec.logfile", &logfile}},
                       findings);
}

void FindProblems(const Seen& seen, Findings& findings) {
  const bool deleting = seen.set.metadata.deleting();
  if (seen.deletion.gives_up())
    findings.Problem("DrainSkipped", "the workers go without a drain: " + seen.deletion.why);
  if (seen.controller == nullptr && !deleting) {
    findings.Problem("ControllerNotFound", "there is no Controller " + seen.spec.controller_ref.name +
                                               " in this namespace; create it or correct controllerRef");
  }
  if (!seen.render_error.empty()) findings.Problem("InvalidSpec", seen.render_error);
  const bool has_conf = seen.controller == nullptr || !seen.controller->spec.external.value_or(false);
  if (const auto& partition = seen.spec.partition; has_conf && partition && partition->enabled.value_or(false)) {
    for (const slurm::ConfFinding& finding : slurm::CheckPartition(partition->config))
      if (finding.refused)
        findings.Problem("InvalidSpec", "spec.partition.config: " + finding.text +
                                            ". The conditions of the Controller say what slurm.conf has in its place");
  }
  if (seen.elder != nullptr) {
    findings.Problem("NameConflict", "its workers would have one name in Slurm with those of NodeSet " +
                                         seen.elder->metadata.name +
                                         ", which is older; nothing is made and nothing in Slurm is touched until this "
                                         "one has another spec.template.spec.hostname, or either is deleted");
  }
  if (!seen.scale.refused.empty()) findings.Problem("NameConflict", Several(seen.scale.refused));
  findings.AddFailures(seen.world);
  FindWorkersTrouble(seen, findings);
  for (const Worker& worker : seen.workers) {
    if (worker.stage != Stage::kLeaving || worker.pod->spec.node_name.empty()) continue;
    if (UntilLost(*worker.pod, seen.world.now()) > Duration::zero()) continue;
    findings.Problem("NodeLost", LostPod(*worker.pod));
    break;
  }
  for (const Worker& worker : seen.workers) {
    std::string trouble = AnnotationTrouble(worker, seen.set, seen.placing);
    if (trouble.empty()) trouble = CheckTrouble(*worker.pod);
    if (trouble.empty()) continue;
    findings.Remark("InvalidAnnotation", worker.pod->metadata.name + " " + trouble);
    break;
  }
  if (seen.slurm.state() == plan::SlurmLook::State::kUnreachable) {
    findings.Problem("SlurmUnreachable", "Slurm does not answer: " + seen.slurm.error() +
                                             (deleting ? "" : "; pods are kept in repair, no worker is taken away"));
  }
  FindSssdTrouble(seen, findings);
  FindUnknownFields(seen, findings);
  AddUnheeded(seen.spec, kUnheeded, findings);
  const std::string own = render::OwnWordsIn(seen.spec.slurmd, seen.spec.pod_template.spec, render::kSlurmdOwnWords);
  if (!own.empty()) {
    findings.Remark("NotSupported",
                    own +
                        " is left out: a worker is the Slurm node that its pod is known by, and has its "
                        "configuration from its Controller");
  }
}

// What scale-in waits for, worker by worker.
std::string Going(const Worker& worker, const Seen& seen) {
  const std::string& name = worker.pod->metadata.name;
  switch (worker.stage) {
    case Stage::kDraining:
      return "waiting for the jobs on " + name + " before it is removed";
    case Stage::kUnknown:
      if (!worker.named())
        return "waiting for somebody to drain " + name + " in Slurm and delete it, as its Slurm node is not known";
      return "waiting for Slurm to say whether " + name + " runs jobs (" + seen.slurm.error() + ")";
    case Stage::kUnregistered:
      if (worker.powering_up)
        return "waiting for " + name + " to start, as a job may wait for it, before it is removed";
      return "waiting for Slurm to know " + name + " before it is removed";
    case Stage::kHeld:
      if (worker.may_be_lifted && worker.node->state.IsDrained()) {
        return "waiting until nothing that an operator before this one has sent can undrain " + name +
               ", which somebody else took out of service in Slurm; ten minutes at most";
      }
      return "waiting until " + name + ", which somebody else took out of service in Slurm, runs no job";
    default:
      return "removing " + name;
  }
}

std::string Coming(const Worker& worker, const api::NodeSet& set) {
  const std::string& name = worker.pod->metadata.name;
  switch (worker.stage) {
    case Stage::kLeaving:
      return name + " is terminating";
    case Stage::kUnbound:
      return name + " is waiting for a node";
    case Stage::kUnregistered:
      if (worker.powering_up) return name + " is starting, for Slurm powers its node up";
      if (worker.pod->Ready()) return name + " is ready, and Slurm has no record of it; it is replaced if that lasts";
      return name + (worker.pod->status.phase == "Running" ? " has not registered with Slurm yet" : " is starting");
    case Stage::kDown:
      return MayBeResumed(*worker.node, set) && worker.cordon.empty() ? name + " is coming back" : "";
    default:
      return "";
  }
}

// How far a deletion has come, what it waits for, and how not to wait.
std::string Deleting(const Seen& seen) {
  if (seen.deletion.foreground)
    return "Kubernetes removes the workers itself, without a drain, as the deletion is in the foreground";
  std::vector<std::string> busy;
  for (const Worker& worker : seen.workers) {
    if (worker.node != nullptr && worker.node->state.IsBusy()) busy.push_back(worker.pod->metadata.name);
  }
  std::string text = "its workers go first: " + std::to_string(seen.workers.size()) + " are left";
  if (!seen.slurm.heard()) {
    text += ". Slurm must say that they run no job, and is not heard (" + seen.slurm.error() +
            "); after ten minutes of that they go all the same";
  } else if (!busy.empty()) {
    text += ", and jobs still run on " + std::to_string(busy.size()) + " of them (" + Several(busy) + ")";
  } else if (seen.workers.empty()) {
    if (seen.deletion.records.empty()) return "its workers are gone, and Slurm's records of them";
    text = "its workers are gone; Slurm still has records of " + Several(seen.deletion.records);
    if (seen.deletion.reserved) text += ", which stay as long as they are in a maintenance reservation";
    if (seen.deletion.powers_up) text += ", of which Slurm powers some up, until ResumeTimeout";
  }
  return text + ". Not to wait, jobs or not: kubectl annotate nodeset " + seen.set.metadata.name + " " +
         std::string(kAnnotationForceDelete) + "=true";
}

// How far an update has come, and what it waits for; "" when none is under way.
std::string Updating(const Seen& seen) {
  const Renewal& renewal = seen.renewal;
  if (renewal.budget == 0 || renewal.old.empty() || !seen.render_error.empty()) return "";
  std::string text = std::to_string(renewal.old.size()) + " of " + std::to_string(*seen.spec.replicas) +
                     " workers are of an older template";
  std::vector<std::string> going;
  for (const Worker* worker : renewal.go) going.push_back(Going(*worker, seen));
  if (!going.empty()) return text + "; " + Several(going);
  if (IsScheduled(seen.spec)) return "";  // the condition ReservationCreated tells when
  if (!seen.renewal_held.empty()) return text + "; " + seen.renewal_held;
  return text + "; the next goes when fewer than " + std::to_string(renewal.budget) + " are out of service (now " +
         std::to_string(renewal.unavailable) + ")";
}

void FindWaits(const Seen& seen, Findings& findings) {
  if (seen.set.metadata.deleting()) return findings.Wait("Deleting", Deleting(seen));
  std::vector<std::string> going;
  for (const Worker* worker : seen.scale.surplus) going.push_back(Going(*worker, seen));
  if (!going.empty()) findings.Wait("ScalingIn", Several(going));
  if (std::string text = Updating(seen); !text.empty()) {
    if (IsScheduled(seen.spec))
      findings.Wait("ScheduledUpdate", std::move(text));
    else
      findings.Wait("RollingUpdate", std::move(text));
  }
  if (seen.scale.missing > 0)
    findings.Wait("ScalingOut", "creating " + std::to_string(seen.scale.missing) + " workers" +
                                    (seen.scale.waiting.empty() ? "" : ", after " + Several(seen.scale.waiting)));
  std::vector<std::string> coming;
  for (const Worker& worker : seen.workers) {
    if (std::string text = Coming(worker, seen.set); !text.empty()) coming.push_back(std::move(text));
  }
  if (!coming.empty()) findings.Wait("Starting", Several(coming));
}

void FindReady(const Seen& seen, const api::NodeSetStatus& status, Findings& findings) {
  if (seen.elder != nullptr) return;
  const auto serving =
      std::ranges::count_if(seen.workers, [](const Worker& worker) { return PhaseOf(&worker) == Phase::kReady; });
  if (serving < status.desired || seen.set.metadata.deleting()) return;
  findings.Ready(std::to_string(serving) + " of " + std::to_string(status.desired) + " workers are in service");
}

}  // namespace

Duration NextChange(const Seen& seen) {
  Duration next = Duration::max();
  for (const Worker& worker : seen.workers) {
    const Duration left = UntilAvailable(*worker.pod, seen.spec.min_ready_seconds, seen.world.now());
    if (left > Duration::zero()) next = std::min(next, left);
    if (const auto unknown = UnknownFor(seen, worker); unknown && *unknown < kUnknownTimeout)
      next = std::min(next, (*unknown < kSuspectTimeout ? kSuspectTimeout : kUnknownTimeout) - *unknown);
    if (worker.stage != Stage::kLeaving) continue;
    if (const Duration lost = UntilLost(*worker.pod, seen.world.now()); lost > Duration::zero())
      next = std::min(next, lost);
  }
  return next;
}

api::NodeSetStatus StatusOf(const Seen& seen, Findings& findings) {
  api::NodeSetStatus status;
  CountPods(seen, status);
  CountNodes(seen, status);
  status.observed_generation = seen.set.metadata.generation;
  status.node_set_hash = StatusRevision(seen);
  status.selector = std::string(kLabelInstance) + "=" + seen.set.metadata.name + "," + std::string(kLabelName) + "=" +
                    std::string(kWorker.app);
  FindProblems(seen, findings);
  FindWaits(seen, findings);
  FindReady(seen, status, findings);
  return status;
}

}  // namespace capstan::op::nodeset
