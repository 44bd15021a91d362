// The reasons that conditions and Events of the operator give: words for programs, one list for all kinds. One word
// stands for one fact, whatever it is said of. docs/reference.md shows the list.
//
//   findings.Problem("ControllerNotFound", "Controller slurm/main does not exist; create it");
//
// A word that is not in the list, or is not meant for that place, does not compile.
#pragma once

#include <array>
#include <concepts>
#include <string>
#include <string_view>

namespace capstan::op {

struct Reason {
  enum Place : uint8_t {
    kProblem = 1,  // Degraded, and Ready while that is False: somebody has to do something
    kWait = 2,     // Progressing, and Ready while that is False: it passes by itself
    kEvent = 4,
    kQuiet = 8,  // a condition that has nothing to tell
    kOwn = 16,   // a condition that only some kinds have
  };
  std::string_view word;
  int places;  // of Place
  std::string_view meaning;
  std::string_view condition = "ConfigLive";  // with kOwn: which one
};

inline constexpr auto kReasons = std::to_array<Reason>({
    // Of every kind.
    {"Ready", Reason::kQuiet, "Ready is True: it does what its spec says."},
    {"NotReady", Reason::kQuiet, "Ready is False, and nothing is known of why."},
    {"Settled", Reason::kQuiet, "Progressing is False: nothing is under way."},
    {"AsExpected", Reason::kQuiet, "Degraded is False: nothing is wrong."},
    {"ActionFailed", Reason::kProblem | Reason::kEvent, "A write to Kubernetes or Slurm failed; it is tried again."},
    {"Contested", Reason::kProblem | Reason::kEvent, "Another program keeps undoing what the operator writes."},
    {"InvalidSpec", Reason::kProblem,
     "What the spec asks for cannot be made; the message names the field. What is there stays as it is."},
    {"NameConflict", Reason::kProblem | Reason::kEvent,
     "Another object has the name already; of two NodeSets that meet in Slurm, the younger one gives way."},
    {"NotSupported", Reason::kProblem, "This version does not act on a field, or on an annotation."},
    {"InvalidAnnotation", Reason::kProblem, "An annotation does not say what it is to say; it is not acted on."},
    {"UnknownFields", Reason::kProblem, "Fields of a template that the API server does not know; they are left out."},
    {"DecideTooLong", Reason::kEvent,
     "Deciding what to do for the object took so long that all others waited: nothing is done for it for an hour, "
     "or until it or something that it depends on changes."},
    {"InternalError", Reason::kEvent, "A bug: nothing is done for the object for a while."},
    {"Pruned", Reason::kEvent, "An object that is no longer wanted was deleted."},

    // References.
    {"ControllerNotFound", Reason::kProblem, "The Controller named in spec.controllerRef does not exist."},
    {"KeyMissing", Reason::kProblem, "A Secret that is to hold a key of the cluster, or the key in it, is missing."},
    {"ReferenceMissing", Reason::kProblem, "Another object that the spec names, or the key in it, does not exist."},
    {"ReferenceInvalid", Reason::kProblem, "An object that the spec names does not hold what it is to hold."},
    {"FileUnused", Reason::kProblem,
     "A ConfigMap named in spec.configFileRefs has a file that nothing in the configuration names; Slurm may not read "
     "it."},
    {"FileRefused", Reason::kProblem, "A ConfigMap named in the spec has a file that only the operator writes."},
    {"ReadingKeys", Reason::kWait, "A Secret is being looked for, or cannot be read now."},
    {"ReadingReferences", Reason::kWait, "Another object that the spec names is looked for, or cannot be read now."},
    {"CreatingKeys", Reason::kWait, "A key that the Controller asks for is being made."},
    {"KeyCreated", Reason::kEvent, "That key was made."},

    // Daemons.
    {"WaitingForKey", Reason::kWait, "The key of its Controller is not there yet; the Controller says why."},
    {"WaitingForConfig", Reason::kWait, "Its Controller has not published its configuration yet."},
    {"Settling", Reason::kWait,
     "The configuration is new; the daemon is started when it has stood still for a second."},
    {"Creating", Reason::kWait, "The daemon is being created."},
    {"WaitingForSlurmctld", Reason::kWait, "slurmrestd is ready once its slurmctld is."},
    {"WaitingForUpgrade", Reason::kProblem | Reason::kWait,
     "The image that is wanted waits for a daemon that Slurm upgrades first; the one that runs stays."},
    {"WaitingForSlurmdbd", Reason::kWait, "Accounting is turned on for a slurmctld that runs once slurmdbd is ready."},
    {"Starting", Reason::kWait, "Pods are not ready yet."},
    {"PodFailing", Reason::kProblem, "A pod cannot start, as Kubernetes says."},
    {"NodeLost", Reason::kProblem, "A pod's machine does not answer; the message says how to have the pod made anew."},

    // Controllers.
    {"ConfigDoubtful", Reason::kProblem,
     "slurm.conf has what only a newer Slurm may know, too low a MaxNodeCount, or a name of what is gone; it is "
     "published."},
    {"ConfigRefused", Reason::kProblem | Reason::kOwn,
     "No slurm.conf or slurmdbd.conf can be made, or slurmctld refuses it or does not start with it; the last good one "
     "stays. Of one NodeSet: its partition is not as asked for."},
    {"Live", Reason::kOwn, "ConfigLive is True: slurmctld runs with the configuration that is published."},
    {"Reconfiguring", Reason::kWait | Reason::kOwn, "A running slurmctld is about to get a changed configuration."},
    {"ReadingNodes", Reason::kWait,
     "Files name nodes that registered after slurmctld had read them; it reads them again."},
    {"NodesUnread", Reason::kProblem, "slurmctld has left nodes out of what its files say; the message says which."},
    {"SlurmctldAway", Reason::kOwn,
     "ConfigLive is Unknown: no slurmctld runs; it reads the configuration at its start."},
    {"NotAnswering", Reason::kOwn, "ConfigLive or SlurmctldInCharge is Unknown: slurmctld's pods cannot be asked."},
    {"NoReconfigurer", Reason::kOwn, "ConfigLive is Unknown: slurmctld's pod has an image without capstan-entry."},
    {"JobsMayNameThem", Reason::kOwn,
     "PartitionsKept is True: partitions that nobody asks for any more stay, closed, while a job may name them.",
     "PartitionsKept"},
    {"InCharge", Reason::kOwn,
     "SlurmctldInCharge is True: one of several slurmctld is in charge; the message says which.", "SlurmctldInCharge"},
    {"NobodyInCharge", Reason::kOwn,
     "SlurmctldInCharge is False: no slurmctld is in charge, and none writes the state.", "SlurmctldInCharge"},
    {"CutOff", Reason::kProblem | Reason::kOwn,
     "SlurmctldInCharge is False: one that cannot be reached still writes the state, so that no other takes over.",
     "SlurmctldInCharge"},
    {"SlurmctldRestarting", Reason::kEvent, "slurmctld is started anew for an option that needs that."},
    {"ClusterNameTooLong", Reason::kProblem, "The cluster's name is longer than Slurm's accounting takes."},
    {"ClaimRefused", Reason::kProblem,
     "A volume claim for several pods does not take several writers, or has no file system."},
    {"ClaimUnchanged", Reason::kProblem, "Another volume is asked for than the StatefulSet has, which is kept."},
    {"AccountingQueueFills", Reason::kProblem,
     "slurmdbd does not take what slurmctld keeps for it; once that is too much, records of jobs are lost."},
    {"StatefulSetOutdated", Reason::kProblem, "The StatefulSet must be made anew for what the spec asks for."},

    // Accountings.
    {"WaitingForDatabase", Reason::kWait, "slurmdbd does not answer yet; it does when its database does."},
    {"WritingConfig", Reason::kWait, "slurmdbd.conf is being written."},

    // NodeSets.
    {"DrainSkipped", Reason::kProblem | Reason::kEvent, "The workers of a deleted NodeSet go without a drain."},
    {"SlurmUnreachable", Reason::kProblem,
     "Slurm does not answer; what hangs on it waits, and no worker is taken away meanwhile."},
    {"GresMismatch", Reason::kProblem, "Slurm has other generic resources of a worker than are asked for it."},
    {"WorkersImpaired", Reason::kProblem, "Workers are not in service, and will not be by themselves."},
    {"Deleting", Reason::kWait, "It is being deleted; its workers go first."},
    {"ScalingIn", Reason::kWait, "Workers are to go, once no job is on them."},
    {"ScalingOut", Reason::kWait, "Workers are being created."},
    {"RollingUpdate", Reason::kWait | Reason::kEvent, "Workers of an older template are renewed in turn."},
    {"ScheduledUpdate", Reason::kWait | Reason::kEvent,
     "Workers of an older template are renewed in their maintenance reservation."},
    {"Created", Reason::kOwn, "ReservationCreated is True: Slurm has the reservation; the message says from when.",
     "ReservationCreated"},
    {"NotExists", Reason::kOwn, "ReservationCreated is False: Slurm has no such reservation; the message says why.",
     "ReservationCreated"},
    {"SlurmNotAsked", Reason::kOwn, "ReservationCreated is Unknown: Slurm has not answered yet.", "ReservationCreated"},
    {"SuccessfulCreate", Reason::kEvent, "A worker was created."},
    {"SuccessfulDelete", Reason::kEvent, "A worker, or a pod that held up its mended template, was deleted."},
    {"ScalingDown", Reason::kEvent, "A worker that is to go was drained in Slurm."},
    {"PoweredDown", Reason::kEvent,
     "Slurm has powered down a node of a NodeSet on demand, and its worker was deleted."},
    {"NodeCordon", Reason::kEvent,
     "A worker was drained in Slurm because a person has cordoned it, or a health check fails."},
    {"ClaimRemoved", Reason::kEvent, "A volume claim of a worker that is gone was deleted, as the spec asks."},
    {"SlurmNodeNotRegistered", Reason::kEvent, "A worker that Slurm has no record of was deleted, to be made anew."},
    {"SlurmNodeDown", Reason::kEvent,
     "A worker was lost with its machine, and was set to DOWN, so that its jobs begin anew."},
    {"SlurmNodeRemoved", Reason::kEvent, "Slurm's record of a worker that is gone was removed."},

    // SlurmClusters.
    {"CreatingParts", Reason::kWait, "An object that it is made of is not there yet."},
    {"PartNotReady", Reason::kWait, "An object that it is made of is not ready, or changes; the message is its own."},
    {"EnteringMaintenance", Reason::kWait, "The reservation by which no job starts is not in Slurm yet."},
    {"LeavingMaintenance", Reason::kWait, "The reservation of a maintenance that is over is still in Slurm."},
    {"PartDegraded", Reason::kProblem, "Something is wrong with an object that it is made of; the message is its own."},

    // SharedRoots.
    {"FillingRoot", Reason::kWait, "A Job copies the image's files to the volume, or is about to."},
    {"SwitchingRoot", Reason::kWait, "A Job makes another generation the current one, or is about to."},
    {"JobFailed", Reason::kProblem,
     "A Job that writes to the volume failed, as its message says; it is made anew after a while."},
    {"WritingFiles", Reason::kWait, "A Job writes spec.files to a root, or is about to."},
    {"PodsUnknown", Reason::kProblem,
     "The pods that may be in an old root cannot be listed; none is removed meanwhile."},
    // Tokens.
    {"KeyTooShort", Reason::kProblem, "The key that signs tokens could be guessed."},
    {"TokenExpires", Reason::kProblem, "The token ends soon, and spec.refresh is false."},
    {"TokenInvalid", Reason::kProblem, "The Secret holds no good token, and may not be written to."},
    {"Issuing", Reason::kWait, "A token is being issued."},
    {"TakingOver", Reason::kWait, "The Secret that a former operator made is being taken over."},
    {"TokenIssued", Reason::kEvent, "A token was put into its Secret."},
});

// nullptr: it is not in the list.
constexpr const Reason* FindReason(std::string_view word) {
  for (const Reason& reason : kReasons) {
    if (reason.word == word) return &reason;
  }
  return nullptr;
}

// A word of the list, for one of its places.
template <Reason::Place kPlace>
struct Word {
  template <std::convertible_to<std::string_view> Text>
  consteval Word(const Text& text)
      : word(std::string_view(text)) {  // NOLINT: that it is written as a text is the point
    const Reason* reason = FindReason(word);
    if (reason == nullptr || (reason->places & kPlace) == 0) throw "not a reason for this place";
  }
  operator std::string() const { return std::string(word); }  // NOLINT: likewise

  std::string_view word;  // static
};
using ProblemWord = Word<Reason::kProblem>;
using WaitWord = Word<Reason::kWait>;
using EventWord = Word<Reason::kEvent>;
using OwnWord = Word<Reason::kOwn>;

// docs/reference.md: the custom resources (api/kinds.h), the list as a table, and the fields without effect (unheeded.h).
std::string ReferencePage();

}  // namespace capstan::op
