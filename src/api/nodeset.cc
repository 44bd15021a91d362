#include "api/nodeset.h"

#include "api/tables.h"

namespace capstan::api {
namespace {

using json::Field;

// A PodSpec of which the API server is told one member, so that rules can speak of it.
constexpr std::string_view kWorkerPodSpec =
    R"({"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"hostname":{"type":"string","nullable":true,"maxLength":253,
    "description":"Begins the Slurm node names: the ordinal is put behind it. A DNS name, or the beginning of one."}}})";
constexpr std::string_view kHostnameRule =
    "!has(self.spec) || !has(self.spec.hostname) || self.spec.hostname == '' || "
    "self.spec.hostname.matches('^[a-z0-9]([-a-z0-9.]*)$') && !self.spec.hostname.contains('..') && "
    "!self.spec.hostname.contains('.-') && !self.spec.hostname.contains('-.')";

constexpr std::string_view kClaims =
    R"({"type":"array","nullable":true,"maxItems":64,"x-kubernetes-list-type":"atomic",
    "items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})";

constexpr std::string_view kSameClaims =
    "(has(self.volumeClaimTemplates) ? self.volumeClaimTemplates : []) == "
    "(has(oldSelf.volumeClaimTemplates) ? oldSelf.volumeClaimTemplates : [])";

}  // namespace

const json::Schema& NodeSetSsh::Schema() {
  static const json::Schema schema =
      json::Object<NodeSetSsh>(
          {
              Field<&NodeSetSsh::enabled>("enabled").Required().Default("false").Doc(
                  "Run sshd and SSSD in the workers; pam_slurm_adopt lets in only users with a job there."),
              Field<&NodeSetSsh::extra_sshd_config>("extraSshdConfig")
                  .MaxLength(kLongestConf)
                  .Doc("Text put at the end of sshd_config."),
              Field<&NodeSetSsh::sssd_conf_ref>("sssdConfRef").Required().Doc("Secret key with sssd.conf."),
          })
          .Rule("!self.enabled || self.sssdConfRef.name != ''",
                "sssdConfRef.name must not be empty when ssh is enabled, it must name the Secret with "
                "sssd.conf");
  return schema;
}

const json::Schema& WorkerTemplate::Schema() {
  static const json::Schema schema =
      json::Object<WorkerTemplate>(
          {
              Field<&WorkerTemplate::metadata>("metadata").Doc("Labels and annotations of the pods."),
              Field<&WorkerTemplate::spec>("spec").RawSchema(kWorkerPodSpec).Doc(kPodSpecDoc),
          })
          .Rule(kHostnameRule,
                "spec.hostname must begin a DNS name: lower case letters, digits, '-' and '.', beginning "
                "with a letter or digit");
  return schema;
}

const json::Schema& NodeSetPartition::Schema() {
  static const json::Schema schema = json::Object<NodeSetPartition>({
      Field<&NodeSetPartition::config>("config")
          .MaxLength(kLongestLine)
          .Pattern("^[^\n]+$")
          .Doc("Options of the partition's line in slurm.conf, such as MaxTime=UNLIMITED State=UP."),
      Field<&NodeSetPartition::enabled>("enabled").Required().Default("false").Doc(
          "Make a partition of exactly these nodes."),
  });
  return schema;
}

const json::Schema& NodeSetRollingUpdate::Schema() {
  static const json::Schema schema = json::Object<NodeSetRollingUpdate>({
      Field<&NodeSetRollingUpdate::max_unavailable>("maxUnavailable")
          .Default("\"25%\"")
          .Rule("type(self) == int ? self > 0 : self.matches('^0*[1-9][0-9]*%$')",
                "maxUnavailable must be a number above 0 or a percentage above 0%")
          .Doc("How many workers may be away for an update at the same time; percentages are rounded up."),
  });
  return schema;
}

const json::Schema& ScheduledUpdate::Schema() {
  static const json::Schema schema = json::Object<ScheduledUpdate>({
      Field<&ScheduledUpdate::duration>("duration")
          .Default("\"30m\"")
          .MaxLength(64)
          .Rule("self.matches('" + std::string(kGoDurationPattern) + "') && duration(self) >= duration('1m')",
                "duration must be at least one minute, written like 30m or 1h30m")
          .Doc("Length of the maintenance reservation."),
      Field<&ScheduledUpdate::flags>("flags").Nullable().Doc(
          "Flags of the reservation besides MAINT and IGNORE_JOBS; with HOURLY, DAILY, WEEKLY, WEEKDAY or WEEKEND it "
          "comes again."),
      Field<&ScheduledUpdate::start_time>("startTime").Doc("When the reservation begins and workers are renewed."),
  });
  return schema;
}

const json::Schema& NodeSetUpdateStrategy::Schema() {
  using S = NodeSetUpdateStrategy;
  static const json::Schema schema =
      json::Object<S>({
                          Field<&S::rolling_update>("rollingUpdate").AbsentIsEmpty().Doc("For type RollingUpdate."),
                          Field<&S::scheduled_update>("scheduledUpdate").Doc("For type ScheduledUpdate."),
                          Field<&S::type>("type")
                              .Default("\"RollingUpdate\"")
                              .Enum({"RollingUpdate", "OnDelete", "ScheduledUpdate"})
                              .Doc("How workers get a new template: drained and replaced in turn, only when somebody "
                                   "deletes them, or all within a maintenance reservation in Slurm."),
                      })
          .Rule(
              "self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate) && "
              "has(self.scheduledUpdate.startTime) && "
              "has(self.scheduledUpdate.duration))",
              "scheduledUpdate.startTime and scheduledUpdate.duration must be set when type is "
              "ScheduledUpdate");
  return schema;
}

const json::Schema& ClaimRetentionPolicy::Schema() {
  static const json::Schema schema = json::Object<ClaimRetentionPolicy>({
      Field<&ClaimRetentionPolicy::when_deleted>("whenDeleted")
          .Default("\"Retain\"")
          .Enum({"Retain", "Delete"})
          .Doc("What becomes of the claims when the NodeSet is deleted."),
      Field<&ClaimRetentionPolicy::when_scaled>("whenScaled")
          .Default("\"Retain\"")
          .Enum({"Retain", "Delete"})
          .Doc("What becomes of a worker's claims when it is scaled in. Delete also removes those that earlier "
               "scale-ins kept."),
  });
  return schema;
}

const json::Schema& NodeSetSpec::Schema() {
  using S = NodeSetSpec;
  static const json::Schema schema =
      json::Object<S>(
          {
              ControllerRefField(Field<&S::controller_ref>("controllerRef")),
              Field<&S::extra_conf>("extraConf")
                  .MaxLength(kLongestLine)
                  .Rule("self.matches('^\\\\s*([^\\\\s=]+=\\\\S*(\\\\s+|$))*$')",
                        "extraConf must be Key=Value words with blanks between, such as Weight=10 Gres=gpu:4")
                  .Doc("Key=Value words for slurmd --conf: what the node says of itself when it registers."),
              Field<&S::logfile>("logfile").Doc(ContainerDoc("logfile")),
              Field<&S::min_ready_seconds>("minReadySeconds")
                  .Minimum(0)
                  .Doc("How long a worker must be ready to count as available."),
              Field<&S::ordinal_padding>("ordinalPadding")
                  .Default("0")
                  .Minimum(0)
                  .Maximum(kMostOrdinalDigits)
                  .Doc("Digits of the ordinal in names, filled up with zeros."),
              Field<&S::oversubscribe_node>("oversubscribeNode")
                  .Default("false")
                  .Doc("Allow several workers on one Kubernetes node; otherwise anti-affinity keeps them "
                       "apart."),
              Field<&S::partition>("partition").AbsentIsEmpty().Doc("A Slurm partition of these nodes."),
              Field<&S::claim_retention>("persistentVolumeClaimRetentionPolicy")
                  .AbsentIsEmpty()
                  .Doc("What becomes of claims made from volumeClaimTemplates."),
              Field<&S::pin_to_node>("pinToNode")
                  .Default("false")
                  .Doc("A worker that comes back goes to the Kubernetes node it was on, while that is there and fits. "
                       "For "
                       "scalingMode StatefulSet."),
              Field<&S::prune_slurm_node_records>("pruneSlurmNodeRecords")
                  .Default("\"Never\"")
                  .Enum({"Never", "NodeNotFound"})
                  .Doc("When Slurm's record of a node that it has lost is removed: never, or once the Kubernetes "
                       "node is gone or has another name. For scalingMode DaemonSet."),
              Field<&S::replicas>("replicas")
                  .Default("1")
                  .Minimum(0)
                  .Maximum(kMostWorkers)
                  .Doc("How many workers. For scalingMode StatefulSet; the scale subresource sets it."),
              Field<&S::revision_history_limit>("revisionHistoryLimit")
                  .Default("0")
                  .Minimum(0)
                  .Doc("How many ControllerRevisions are kept besides those of workers that there are."),
              Field<&S::scaling_mode>("scalingMode")
                  .Default("\"StatefulSet\"")
                  .Enum({"DaemonSet", "StatefulSet"})
                  .Doc("Numbered workers that the scheduler places, or one worker on every matching "
                       "Kubernetes node."),
              Field<&S::slurmd>("slurmd").Doc(ContainerDoc("slurmd")),
              Field<&S::ssh>("ssh").AbsentIsEmpty().Doc("SSH to the workers."),
              Field<&S::pod_template>("template").Doc("What is to be different in the workers' pods."),
              Field<&S::update_strategy>("updateStrategy").AbsentIsEmpty().Doc("How changes reach workers that run."),
              Field<&S::volume_claim_templates>("volumeClaimTemplates")
                  .RawSchema(kClaims)
                  .Doc("core/v1 PersistentVolumeClaims of which each worker gets its own. Cannot be changed "
                       "later."),
              Field<&S::workload_disruption_protection>("workloadDisruptionProtection")
                  .Default("true")
                  .Doc("Protect workers from eviction by a PodDisruptionBudget, unless they are drained and run no "
                       "job."),
          })
          .Rule(kControllerRefRule, kControllerRefMessage)
          .Rule(kSameClaims,
                "volumeClaimTemplates cannot be changed: the claims that exist would not follow. Create "
                "another NodeSet.");
  return schema;
}

const json::Schema& NodeSetStatus::Schema() {
  using S = NodeSetStatus;
  static const json::Schema schema = json::Object<S>({
      Field<&S::available_replicas>("availableReplicas").Always().Doc("Pods ready for at least minReadySeconds."),
      Field<&S::collision_count>("collisionCount").Doc("How often a revision name was taken."),
      ConditionsField(Field<&S::conditions>("conditions")),
      Field<&S::desired>("desired").Always().Doc("Pods there should be."),
      Field<&S::node_set_hash>("nodeSetHash").Doc("Revision of the template now wanted."),
      Field<&S::observed_generation>("observedGeneration").Doc("The metadata.generation that this speaks of."),
      Field<&S::ordinal_to_node>("ordinalToNode")
          .Nullable()
          .Doc("With pinToNode: the Kubernetes node of each ordinal."),
      Field<&S::ready_replicas>("readyReplicas").Always().Doc("Pods that are ready."),
      Field<&S::replicas>("replicas").Always().Doc("Pods there are."),
      Field<&S::selector>("selector").Doc("Label selector of the pods, for the scale subresource."),
      Field<&S::slurm_allocated>("slurmAllocated").Always().Doc("Slurm nodes that are allocated or mixed."),
      Field<&S::slurm_down>("slurmDown").Always().Doc("Slurm nodes that are down."),
      Field<&S::slurm_drain>("slurmDrain").Always().Doc("Slurm nodes that are draining or drained."),
      Field<&S::slurm_idle>("slurmIdle").Always().Doc("Slurm nodes that are idle."),
      Field<&S::unavailable_replicas>("unavailableReplicas").Always().Doc("Wanted pods that are not available."),
      Field<&S::updated_replicas>("updatedReplicas").Always().Doc("Pods of the revision now wanted."),
  });
  return schema;
}

const json::Schema& NodeSet::Schema() {
  static const json::Schema schema =
      json::Object<NodeSet>({
                                Field<&NodeSet::metadata>("metadata"),
                                SpecField(Field<&NodeSet::spec>("spec"), "The workers as they are wanted."),
                                StatusField(Field<&NodeSet::status>("status")),
                            })
          .Doc("A set of alike workers: pods with slurmd that register as dynamic Slurm nodes.");
  return schema;
}

}  // namespace capstan::api
