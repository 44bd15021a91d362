// The names that users, charts and other tools know: labels, annotations, ports, derived object names.
//
// They are the Slinky projects' names, so that dashboards, scripts and running clusters carry over. Change none. What
// Capstan alone knows is below capstan.dev/.
#pragma once

#include <string>
#include <string_view>

#include "json/object_meta.h"

namespace capstan::op {

inline constexpr std::string_view kFieldManager = "capstan-operator";
// What the Slinky projects' operator writes as.
inline constexpr std::string_view kFormerFieldManager = "manager";

// --- Labels ----------------------------------------------------------------------------------------------------------
// SlurmUser of the slurm.conf that we write.
inline constexpr std::string_view kSlurmUserName = "slurm";

// The index of objects that have no owner, by namespace, of the stores that have one (kinds.cc).
inline constexpr std::string_view kIndexOwnerless = "ownerless";
// The index of pods by the "namespace/name" of their Deployment, whose ReplicaSet owns them.
inline constexpr std::string_view kIndexDeployment = "deployment";

inline constexpr std::string_view kLabelName = "app.kubernetes.io/name";
inline constexpr std::string_view kLabelInstance = "app.kubernetes.io/instance";
inline constexpr std::string_view kLabelComponent = "app.kubernetes.io/component";
inline constexpr std::string_view kLabelCluster = "slinky.slurm.net/cluster";           // workers: their Controller
inline constexpr std::string_view kLabelActive = "controller.slinky.slurm.net/active";  // the slurmctld in charge
inline constexpr std::string_view kLabelPodName = "nodeset.slinky.slurm.net/pod-name";
inline constexpr std::string_view kLabelPodIndex = "nodeset.slinky.slurm.net/pod-index";        // padded ordinal
inline constexpr std::string_view kLabelPodHostname = "nodeset.slinky.slurm.net/pod-hostname";  // the Slurm node's name
inline constexpr std::string_view kLabelPodProtect =
    "nodeset.slinky.slurm.net/pod-protect";  // "true": not to be evicted
inline constexpr std::string_view kLabelScalingMode = "nodeset.slinky.slurm.net/scaling-mode";
inline constexpr std::string_view kLabelRevision = "controller.kubernetes.io/hash";
inline constexpr std::string_view kLabelSetRevision = "controller-revision-hash";  // StatefulSets' controller's

// --- What Capstan alone knows -----------------------------------------------------------------------------------------
#define CAPSTAN_DOMAIN "capstan.dev/"
inline constexpr std::string_view kAnnotationScaleIn = CAPSTAN_DOMAIN "scale-in";  // of a worker pod, ours: it goes
// Of a worker pod with hostNetwork, ours: what its slurmd was told to be called. "true": what the label pod-hostname says;
// kNamedByMachine: as the Kubernetes node that it is placed on.
inline constexpr std::string_view kAnnotationNamed = CAPSTAN_DOMAIN "named";
inline constexpr std::string_view kNamedByMachine = "machine";
// Of a NodeSet, a person's: gone at once, jobs and all.
inline constexpr std::string_view kAnnotationForceDelete = CAPSTAN_DOMAIN "force-delete";
// Of a Controller, a person's: missing keys are made ("true", "slurm", "jwt").
inline constexpr std::string_view kAnnotationGenerateKeys = CAPSTAN_DOMAIN "generate-keys";
// Of a LoginSet, a person's: how long a login that goes waits for its sessions ("12h").
inline constexpr std::string_view kAnnotationLoginDrainCap = CAPSTAN_DOMAIN "login-drain-cap";
// Of a LoginSet or a NodeSet: images that begin so are Capstan's, besides the operator's own ("registry.example.org/hpc").
inline constexpr std::string_view kAnnotationImagePrefix = CAPSTAN_DOMAIN "image-prefix";
// Of an Accounting, a person's: a database for trials, with a claim of this size ("2Gi").
inline constexpr std::string_view kAnnotationEmbeddedDatabase = CAPSTAN_DOMAIN "embedded-database";
inline constexpr std::string_view kFinalizerDrain = CAPSTAN_DOMAIN "drain";  // of a NodeSet, or a SlurmCluster
inline constexpr std::string_view kFinalizerMaintenance =
    CAPSTAN_DOMAIN "maintenance";  // of a SlurmCluster that may have a reservation
// Of a NodeSet or LoginSet, its SlurmCluster's: "true" stands for 0 replicas.
inline constexpr std::string_view kAnnotationStopped = CAPSTAN_DOMAIN "stopped";
// Of a NodeSet, a person's: Slurm's power saving says which of its Slurm nodes have a pod ("OnDemand idle=10m").
inline constexpr std::string_view kAnnotationPower = CAPSTAN_DOMAIN "power";
// Of an object that nobody owns, a person's: the SlurmCluster that may take it over.
inline constexpr std::string_view kLabelAdopt = CAPSTAN_DOMAIN "adopt";
inline constexpr std::string_view kLabelMetrics =
    CAPSTAN_DOMAIN "metrics";  // of the Service that a ServiceMonitor names
#undef CAPSTAN_DOMAIN
// What these were called in 0.1 before its release; read, never written.
inline constexpr std::string_view kFormerAnnotationScaleIn = "nodeset.slinky.slurm.net/scale-in";
inline constexpr std::string_view kFormerAnnotationForceDelete = "nodeset.slinky.slurm.net/force-delete";
inline constexpr std::string_view kFormerAnnotationGenerateKeys = "slinky.slurm.net/generate-keys";
inline constexpr std::string_view kFormerFinalizerDrain = "nodeset.slinky.slurm.net/drain";

// --- Annotations -----------------------------------------------------------------------------------------------------
inline constexpr std::string_view kAnnotationPodCordon = "nodeset.slinky.slurm.net/pod-cordon";  // a person's wish
inline constexpr std::string_view kAnnotationNodeCordonReason =  // of a Kubernetes node, a person's
    "nodeset.slinky.slurm.net/node-cordon-reason";
// Of a worker pod, whoever runs health checks': names of those that its machine fails, by commas.
inline constexpr std::string_view kAnnotationFailedChecks = "capstan.dev/failed-checks";
inline constexpr std::string_view kAnnotationDeletionCost = "nodeset.slinky.slurm.net/pod-deletion-cost";
inline constexpr std::string_view kAnnotationPodDeadline =  // of a worker pod, ours: when the last of its jobs ends
    "nodeset.slinky.slurm.net/pod-deadline";
// Of a Controller, a person's: labels of Kubernetes nodes, from root to leaf and by commas, that say where a worker stands.
inline constexpr std::string_view kAnnotationTopologyLabels = "capstan.dev/topology";
inline constexpr std::string_view kAnnotationTopology = "topology.slinky.slurm.net/spec";
inline constexpr std::string_view kAnnotationNodeFeatures =  // of a Kubernetes node, a person's
    "features.slinky.slurm.net/spec";
inline constexpr std::string_view kAnnotationHostnameOverride =  // of a Kubernetes node, a person's
    "nodeset.slinky.slurm.net/hostname-override";
// Ours, on a Deployment that a former operator made and that is left as it is: a digest of what was wanted of it then.
inline constexpr std::string_view kAnnotationTakenOver = "capstan.dev/taken-over";
// Ours, on a Secret that we make: a digest of what its values were made from.
inline constexpr std::string_view kAnnotationMadeFrom = "capstan.dev/made-from";
// Ours, on a StatefulSet or Deployment: a digest of the options of slurm.conf for which its pods are started anew.
inline constexpr std::string_view kAnnotationRestartOptions = "capstan.dev/restart-options";
// Ours, on slurmctld's pod: a digest of the configuration that it is to have, and since when. A kubelet that sees it change
// looks at once at what the pod mounts.
inline constexpr std::string_view kAnnotationConfiguration = "capstan.dev/configuration";
// Ours, on slurmctld's pod: for which of these slurmrestd was asked.
inline constexpr std::string_view kAnnotationReconfigured = "capstan.dev/reconfigured";
// Ours, on slurmctld's pod: in which of its lives slurmrestd was asked to have it read its files with nodes that came later, and
// when.
inline constexpr std::string_view kAnnotationNodesRead = "capstan.dev/nodes-read";
inline constexpr std::string_view kAnnotationDefaultContainer = "kubectl.kubernetes.io/default-container";
inline constexpr std::string_view kHashSlurmKey = "slinky.slurm.net/slurm-key-hash";
inline constexpr std::string_view kHashJwtKey = "slinky.slurm.net/jwt-key-hash";
inline constexpr std::string_view kHashSlurmConfig = "slinky.slurm.net/slurm-config-hash";
inline constexpr std::string_view kHashSshdConfig = "slinky.slurm.net/sshd-conf-hash";
inline constexpr std::string_view kHashSssdConfig = "slinky.slurm.net/sssd-conf-hash";
inline constexpr std::string_view kHashSshHostKeys = "slinky.slurm.net/ssh-host-keys-hash";
inline constexpr std::string_view kHashSlurmdbdConfig = "slinky.slurm.net/slurmdbd-conf-hash";

// --- Finalizers ------------------------------------------------------------------------------------------------------
inline constexpr std::string_view kFinalizerReservation =  // of a NodeSet whose reservation may be in Slurm
    "nodeset.slinky.slurm.net/reservation";
inline constexpr std::string_view kFinalizerOrphan = "orphan";                  // the garbage collector's
inline constexpr std::string_view kFinalizerForeground = "foregroundDeletion";  // the garbage collector's

// --- Taints ----------------------------------------------------------------------------------------------------------
inline constexpr std::string_view kTolerationWorker = "nodeset.slinky.slurm.net/worker";  // every worker tolerates it

// --- Slurm -----------------------------------------------------------------------------------------------------------
// Node reasons that begin so are ours; nobody else's drain or DOWN is ever lifted.
inline constexpr std::string_view kReasonPrefix = "slurm-operator: ";
// What the worker's preStop hook writes when it sets its node DOWN.
inline constexpr std::string_view kReasonTerminating = "slurm-operator: Pod is terminating";

// Where the container of slurmctld says which configuration is live (entry/reconfigurer.h).
inline constexpr int kConfigurationPort = 6815;
// Where the container of slurmd says what it is called in Slurm (entry/identity.h).
inline constexpr int kIdentityPort = 6816;
inline constexpr int kSlurmctldPort = 6817;
inline constexpr int kSlurmdPort = 6818;
inline constexpr int kSlurmdbdPort = 6819;
inline constexpr int kSlurmrestdPort = 6820;
inline constexpr int kDatabasePort = 3306;
inline constexpr int kSshPort = 22;

// --- Components: app name and component label ------------------------------------------------------------------------
struct Component {
  std::string_view app;        // app.kubernetes.io/name; also the main container's and the port's name
  std::string_view component;  // app.kubernetes.io/component
};
inline constexpr Component kController{"slurmctld", "controller"};
inline constexpr Component kRestApi{"slurmrestd", "restapi"};
inline constexpr Component kAccounting{"slurmdbd", "accounting"};
inline constexpr Component kDatabase{"mariadb", "accounting"};
inline constexpr Component kWorker{"slurmd", "worker"};
inline constexpr Component kLogin{"login", "login"};
inline constexpr Component kRoot{"sharedroot", "root"};          // of Jobs that write to a shared root's volume
inline constexpr Component kCluster{"slurmcluster", "cluster"};  // of ConfigMaps that a SlurmCluster makes

// --- Derived names ---------------------------------------------------------------------------------------------------
inline std::string ControllerName(std::string_view cr) { return std::string(cr) + "-controller"; }
inline std::string ControllerInternalName(std::string_view cr) { return std::string(cr) + "-controller-internal"; }
inline std::string ConfigName(std::string_view cr) { return std::string(cr) + "-config"; }
inline std::string RestApiName(std::string_view cr) { return std::string(cr) + "-restapi"; }
inline std::string AccountingName(std::string_view cr) { return std::string(cr) + "-accounting"; }
inline std::string DatabaseName(std::string_view cr) { return std::string(cr) + "-accounting-db"; }
inline std::string SshConfigName(std::string_view cr) { return std::string(cr) + "-ssh-config"; }
inline std::string SshHostKeysName(std::string_view cr) { return std::string(cr) + "-ssh-host-keys"; }
inline std::string WorkerServiceName(std::string_view controller) { return "slurm-workers-" + std::string(controller); }
inline std::string WorkerBudgetName(std::string_view controller) {
  return "slurm-workers-pdb-" + std::string(controller);
}

// Its SlurmCluster wants nothing of it to run.
inline bool IsStopped(const json::ObjectMeta& resource) {
  return resource.Annotation(std::string(kAnnotationStopped)) == "true";
}

// The lane and Slurm cluster of a Controller: "ns/name".
inline std::string ClusterOf(std::string_view ns, std::string_view controller) {
  return std::string(ns) + "/" + std::string(controller);
}

}  // namespace capstan::op
