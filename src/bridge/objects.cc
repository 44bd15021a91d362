#include "bridge/objects.h"

#include <algorithm>

#include "bridge/names.h"

namespace capstan::bridge {

bool Pod::HasGate(std::string_view name) const {
  return std::ranges::find(spec.scheduling_gates, name, &SchedulingGate::name) != spec.scheduling_gates.end();
}

bool Pod::IsReleased(std::string_view scheduler_name) const {
  return !HasGate(kGate) && (IsBound() || spec.scheduler_name != scheduler_name);
}

const PodCondition* Pod::Condition(std::string_view type) const {
  const auto found = std::ranges::find(status.conditions, type, &PodCondition::type);
  return found != status.conditions.end() ? &*found : nullptr;
}

bool Node::IsReady() const {
  return std::ranges::any_of(status.conditions,
                             [](const NodeCondition& one) { return one.type == "Ready" && one.status == "True"; });
}

const NodeCondition* Node::Condition(std::string_view type) const {
  const auto found = std::ranges::find(status.conditions, type, &NodeCondition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

std::string Node::InternalAddress() const {
  const auto found = std::ranges::find(status.addresses, "InternalIP", &NodeAddress::type);
  return found == status.addresses.end() ? "" : found->address;
}

bool Node::IsExternal() const { return metadata.labels.contains(std::string(kExternalNode)); }

const std::string& Node::SlurmName() const {
  static const std::string key(kSlurmNodeName);
  const std::string& label = metadata.Label(key);
  return label.empty() ? metadata.name : label;
}

const json::Schema& Resources::Schema() {
  static const json::Schema schema = json::Object<Resources>({
      json::Field<&Resources::requests>("requests"),
      json::Field<&Resources::limits>("limits"),
  });
  return schema;
}

const json::Schema& Container::Schema() {
  static const json::Schema schema = json::Object<Container>({
      json::Field<&Container::resources>("resources"),
      json::Field<&Container::restart_policy>("restartPolicy"),
  });
  return schema;
}

const json::Schema& SchedulingGate::Schema() {
  static const json::Schema schema = json::Object<SchedulingGate>({
      json::Field<&SchedulingGate::name>("name"),
  });
  return schema;
}

const json::Schema& PodCondition::Schema() {
  static const json::Schema schema = json::Object<PodCondition>({
      json::Field<&PodCondition::type>("type"),
      json::Field<&PodCondition::status>("status"),
      json::Field<&PodCondition::reason>("reason"),
      json::Field<&PodCondition::message>("message"),
      json::Field<&PodCondition::last_transition>("lastTransitionTime"),
  });
  return schema;
}

const json::Schema& Pod::Spec::Schema() {
  static const json::Schema schema = json::Object<Pod::Spec>({
      json::Field<&Pod::Spec::node_name>("nodeName"),
      json::Field<&Pod::Spec::scheduler_name>("schedulerName"),
      json::Field<&Pod::Spec::scheduling_gates>("schedulingGates"),
      json::Field<&Pod::Spec::node_selector>("nodeSelector"),
      json::Field<&Pod::Spec::affinity>("affinity"),
      json::Field<&Pod::Spec::tolerations>("tolerations"),
      json::Field<&Pod::Spec::init_containers>("initContainers"),
      json::Field<&Pod::Spec::containers>("containers"),
      json::Field<&Pod::Spec::resources>("resources"),
      json::Field<&Pod::Spec::overhead>("overhead"),
  });
  return schema;
}

const json::Schema& Pod::Status::Schema() {
  static const json::Schema schema = json::Object<Pod::Status>({
      json::Field<&Pod::Status::phase>("phase"),
      json::Field<&Pod::Status::start_time>("startTime"),
      json::Field<&Pod::Status::conditions>("conditions"),
  });
  return schema;
}

const json::Schema& Pod::Schema() {
  static const json::Schema schema = json::Object<Pod>({
      json::Field<&Pod::metadata>("metadata"),
      json::Field<&Pod::spec>("spec"),
      json::Field<&Pod::status>("status"),
  });
  return schema;
}

const json::Schema& NodeCondition::Schema() {
  static const json::Schema schema = json::Object<NodeCondition>({
      json::Field<&NodeCondition::type>("type"),
      json::Field<&NodeCondition::status>("status"),
      json::Field<&NodeCondition::reason>("reason"),
      json::Field<&NodeCondition::message>("message"),
  });
  return schema;
}

const json::Schema& Node::Spec::Schema() {
  static const json::Schema schema = json::Object<Node::Spec>({
      json::Field<&Node::Spec::unschedulable>("unschedulable"),
      json::Field<&Node::Spec::taints>("taints"),
  });
  return schema;
}

const json::Schema& NodeAddress::Schema() {
  static const json::Schema schema = json::Object<NodeAddress>({
      json::Field<&NodeAddress::type>("type"),
      json::Field<&NodeAddress::address>("address"),
  });
  return schema;
}

const json::Schema& Node::Status::Schema() {
  static const json::Schema schema = json::Object<Node::Status>({
      json::Field<&Node::Status::conditions>("conditions"),
      json::Field<&Node::Status::allocatable>("allocatable"),
      json::Field<&Node::Status::addresses>("addresses"),
  });
  return schema;
}

const json::Schema& Node::Schema() {
  static const json::Schema schema = json::Object<Node>({
      json::Field<&Node::metadata>("metadata"),
      json::Field<&Node::spec>("spec"),
      json::Field<&Node::status>("status"),
  });
  return schema;
}

bool Job::HasFinished() const {
  return std::ranges::any_of(status.conditions, [](const NodeCondition& one) {
    return (one.type == "Complete" || one.type == "Failed" || one.type == "SuccessCriteriaMet" ||
            one.type == "FailureTarget") &&
           one.status == "True";
  });
}

const json::Schema& Job::Spec::Schema() {
  static const json::Schema schema = json::Object<Job::Spec>({
      json::Field<&Job::Spec::parallelism>("parallelism"),
      json::Field<&Job::Spec::completions>("completions"),
      json::Field<&Job::Spec::active_deadline_seconds>("activeDeadlineSeconds"),
  });
  return schema;
}

const json::Schema& Job::Status::Schema() {
  static const json::Schema schema = json::Object<Job::Status>({
      json::Field<&Job::Status::conditions>("conditions"),
  });
  return schema;
}

const json::Schema& Job::Schema() {
  static const json::Schema schema = json::Object<Job>({
      json::Field<&Job::metadata>("metadata"),
      json::Field<&Job::spec>("spec"),
      json::Field<&Job::status>("status"),
  });
  return schema;
}

const json::Schema& PodGroup::Spec::Schema() {
  static const json::Schema schema = json::Object<PodGroup::Spec>({
      json::Field<&PodGroup::Spec::min_member>("minMember"),
      json::Field<&PodGroup::Spec::min_resources>("minResources"),
  });
  return schema;
}

const json::Schema& PodGroup::Schema() {
  static const json::Schema schema = json::Object<PodGroup>({
      json::Field<&PodGroup::metadata>("metadata"),
      json::Field<&PodGroup::spec>("spec"),
  });
  return schema;
}

const json::Schema& LeaderWorkerSet::Template::Schema() {
  static const json::Schema schema = json::Object<LeaderWorkerSet::Template>({
      json::Field<&LeaderWorkerSet::Template::size>("size"),
  });
  return schema;
}

const json::Schema& LeaderWorkerSet::Spec::Schema() {
  static const json::Schema schema = json::Object<LeaderWorkerSet::Spec>({
      json::Field<&LeaderWorkerSet::Spec::leader_worker_template>("leaderWorkerTemplate"),
      json::Field<&LeaderWorkerSet::Spec::startup_policy>("startupPolicy"),
  });
  return schema;
}

const json::Schema& LeaderWorkerSet::Schema() {
  static const json::Schema schema = json::Object<LeaderWorkerSet>({
      json::Field<&LeaderWorkerSet::metadata>("metadata"),
      json::Field<&LeaderWorkerSet::spec>("spec"),
  });
  return schema;
}

bool JobSet::HasFinished() const {
  return std::ranges::any_of(status.conditions, [](const NodeCondition& one) {
    return (one.type == "Completed" || one.type == "Failed") && one.status == "True";
  });
}

const json::Schema& JobSet::PodTemplate::Schema() {
  static const json::Schema schema = json::Object<JobSet::PodTemplate>({
      json::Field<&JobSet::PodTemplate::metadata>("metadata"),
  });
  return schema;
}

const json::Schema& JobSet::JobSpec::Schema() {
  static const json::Schema schema = json::Object<JobSet::JobSpec>({
      json::Field<&JobSet::JobSpec::parallelism>("parallelism"),
      json::Field<&JobSet::JobSpec::completions>("completions"),
      json::Field<&JobSet::JobSpec::active_deadline_seconds>("activeDeadlineSeconds"),
      json::Field<&JobSet::JobSpec::pod_template>("template"),
  });
  return schema;
}

const json::Schema& JobSet::Template::Schema() {
  static const json::Schema schema = json::Object<JobSet::Template>({
      json::Field<&JobSet::Template::metadata>("metadata"),
      json::Field<&JobSet::Template::spec>("spec"),
  });
  return schema;
}

const json::Schema& JobSet::DependsOn::Schema() {
  static const json::Schema schema = json::Object<JobSet::DependsOn>({
      json::Field<&JobSet::DependsOn::name>("name"),
  });
  return schema;
}

const json::Schema& JobSet::ReplicatedJob::Schema() {
  static const json::Schema schema = json::Object<JobSet::ReplicatedJob>({
      json::Field<&JobSet::ReplicatedJob::name>("name"),
      json::Field<&JobSet::ReplicatedJob::replicas>("replicas"),
      json::Field<&JobSet::ReplicatedJob::job_template>("template"),
      json::Field<&JobSet::ReplicatedJob::depends_on>("dependsOn"),
  });
  return schema;
}

const json::Schema& JobSet::StartupPolicy::Schema() {
  static const json::Schema schema = json::Object<JobSet::StartupPolicy>({
      json::Field<&JobSet::StartupPolicy::startup_policy_order>("startupPolicyOrder"),
  });
  return schema;
}

const json::Schema& JobSet::Spec::Schema() {
  static const json::Schema schema = json::Object<JobSet::Spec>({
      json::Field<&JobSet::Spec::replicated_jobs>("replicatedJobs"),
      json::Field<&JobSet::Spec::startup_policy>("startupPolicy"),
  });
  return schema;
}

const json::Schema& JobSet::Schema() {
  static const json::Schema schema = json::Object<JobSet>({
      json::Field<&JobSet::metadata>("metadata"),
      json::Field<&JobSet::spec>("spec"),
      json::Field<&JobSet::status>("status"),
  });
  return schema;
}

const json::Schema& Namespace::Schema() {
  static const json::Schema schema = json::Object<Namespace>({
      json::Field<&Namespace::metadata>("metadata"),
  });
  return schema;
}

}  // namespace capstan::bridge
