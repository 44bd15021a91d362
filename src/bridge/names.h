// The names by which the bridge, its users and Slinky's slurm-bridge know things, all in one place.
#pragma once

#include <string_view>

namespace capstan::bridge {

// On pods. Only the bridge writes these.
inline constexpr std::string_view kBridged = "capstan.dev/bridged";                   // label: whose pod it is
inline constexpr std::string_view kGate = "capstan.dev/slurm";                        // scheduling gate
inline constexpr std::string_view kJobId = "scheduler.slinky.slurm.net/slurm-jobid";  // label
inline constexpr std::string_view kAttempt = "capstan.dev/attempt";                   // annotation: 1, 2, ...
inline constexpr std::string_view kRetried = "capstan.dev/retried";            // annotation: kRetry as it was then
inline constexpr std::string_view kSlurmNode = "slinky.slurm.net/slurm-node";  // annotation: Kubernetes node
inline constexpr std::string_view kRequestedScheduler = "scheduler.slinky.slurm.net/requested-scheduler";  // annotation
inline constexpr std::string_view kJobCondition = "capstan.dev/SlurmJob";                                  // condition

// On pods, by Slinky's slurm-bridge: a finalizer.
inline constexpr std::string_view kPeersFinalizer = "scheduler.slinky.slurm.net/finalizer";

// On pods, by their users. The first also on whatever stands for a group of pods.
inline constexpr std::string_view kJobAnnotations = "slurmjob.slinky.slurm.net/";
inline constexpr std::string_view kGang = "capstan.dev/gang";    // annotation: "job", "jobset"
inline constexpr std::string_view kRetry = "capstan.dev/retry";  // annotation: another text asks Slurm again

// On pods, by other controllers.
inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";  // annotation
inline constexpr std::string_view kPodGroup = "scheduling.x-k8s.io/pod-group";                    // label: its name
inline constexpr std::string_view kWorkerSetName = "leaderworkerset.sigs.k8s.io/name";            // labels
inline constexpr std::string_view kWorkerGroup = "leaderworkerset.sigs.k8s.io/group-key";  // the same in one replica
inline constexpr std::string_view kWorkerGroupIndex = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr std::string_view kWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr std::string_view kJobSetName = "jobset.sigs.k8s.io/jobset-name";  // labels
inline constexpr std::string_view kJobSetUid = "jobset.sigs.k8s.io/jobset-uid";
inline constexpr std::string_view kReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name";
inline constexpr std::string_view kReplicatedJobIndex =
    "jobset.sigs.k8s.io/job-index";  // of its Job among those of the template
inline constexpr std::string_view kJobSetIndex = "jobset.sigs.k8s.io/job-global-index";  // among all of the JobSet

// On JobSets and their Jobs: annotations. The pods of a Job wait until their first is placed, unless the second is there, too.
inline constexpr std::string_view kExclusiveTopology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
inline constexpr std::string_view kExclusiveBySelector = "alpha.jobset.sigs.k8s.io/node-selector";

// In a pod's affinity: what it cannot run without.
inline constexpr std::string_view kRequiredAffinity = "requiredDuringSchedulingIgnoredDuringExecution";

// On Namespaces, by cluster administrators (policy.h).
inline constexpr std::string_view kPolicyAnnotations = "capstan.dev/policy-";

// On Kubernetes nodes.
inline constexpr std::string_view kSlurmNodeName = "slinky.slurm.net/slurm-nodename";  // label: its name in Slurm
inline constexpr std::string_view kExternalNode =
    "scheduler.slinky.slurm.net/external-node";  // label: Slurm is to know it
inline constexpr std::string_view kNodePartitions =
    "scheduler.slinky.slurm.net/external-node-partitions";  // annotation: its features in Slurm
inline constexpr std::string_view kNodeTopology = "topology.slinky.slurm.net/spec";  // annotation
inline constexpr std::string_view kManagedNodeTaint = "slinky.slurm.net/managed-node";
inline constexpr std::string_view kDrainedTaint = "slinky.slurm.net/slurm-drained";
inline constexpr std::string_view kNodeBridge = "capstan.dev/slurm-bridge";  // annotation: which bridge looks after it
inline constexpr std::string_view kNodeCondition = "capstan.dev/SlurmNode";
inline constexpr std::string_view kGresCondition =
    "SlinkySlurmGRESCompatible";  // condition, as Slinky's slurm-bridge has it

}  // namespace capstan::bridge
