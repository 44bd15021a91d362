#include "operator/objects.h"

#include <algorithm>

#include "json/schema.h"

namespace capstan::op {

using json::Field;

const json::Schema& PodCondition::Schema() {
  static const json::Schema schema = json::Object<PodCondition>({
      Field<&PodCondition::type>("type").Number(1),
      Field<&PodCondition::status>("status").Number(2),
      Field<&PodCondition::reason>("reason").Number(5),
      Field<&PodCondition::message>("message").Number(6),
      Field<&PodCondition::last_transition_time>("lastTransitionTime").Number(4),
  });
  return schema;
}

const json::Schema& ContainerWaiting::Schema() {
  static const json::Schema schema = json::Object<ContainerWaiting>({
      Field<&ContainerWaiting::reason>("reason").Number(1),
      Field<&ContainerWaiting::message>("message").Number(2),
  });
  return schema;
}

const json::Schema& ContainerTerminated::Schema() {
  static const json::Schema schema =
      json::Object<ContainerTerminated>({Field<&ContainerTerminated::exit_code>("exitCode").Number(1),
                                         Field<&ContainerTerminated::message>("message").Number(4)});
  return schema;
}

const json::Schema& ContainerState::Schema() {
  static const json::Schema schema = json::Object<ContainerState>({
      Field<&ContainerState::waiting>("waiting").Number(1),
      Field<&ContainerState::terminated>("terminated").Number(3),
  });
  return schema;
}

const json::Schema& ContainerStatus::Schema() {
  static const json::Schema schema = json::Object<ContainerStatus>({
      Field<&ContainerStatus::name>("name").Number(1),
      Field<&ContainerStatus::container_id>("containerID").Number(8),
      Field<&ContainerStatus::restart_count>("restartCount").Number(5),
      Field<&ContainerStatus::state>("state").Number(2),
      Field<&ContainerStatus::last_state>("lastState").Number(3),
  });
  return schema;
}

const json::Schema& Pod::Spec::Schema() {
  static const json::Schema schema = json::Object<Pod::Spec>({
      Field<&Pod::Spec::node_name>("nodeName").Number(10),
      Field<&Pod::Spec::hostname>("hostname").Number(16),
      Field<&Pod::Spec::host_network>("hostNetwork").Number(11),
  });
  return schema;
}

const json::Schema& Pod::Status::Schema() {
  static const json::Schema schema = json::Object<Pod::Status>({
      Field<&Pod::Status::phase>("phase").Number(1),
      Field<&Pod::Status::pod_ip>("podIP").Number(6),
      Field<&Pod::Status::conditions>("conditions").Number(2),
      Field<&Pod::Status::init_container_statuses>("initContainerStatuses").Number(10),
      Field<&Pod::Status::container_statuses>("containerStatuses").Number(8),
  });
  return schema;
}

const json::Schema& Pod::Schema() {
  static const json::Schema schema = json::Object<Pod>({
      Field<&Pod::metadata>("metadata").Number(1),
      Field<&Pod::spec>("spec").Number(2),
      Field<&Pod::status>("status").Number(3),
  });
  return schema;
}

const PodCondition* Pod::Condition(std::string_view type) const {
  const auto found = std::ranges::find(status.conditions, type, &PodCondition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

bool Pod::Ended() const { return status.phase == "Failed" || status.phase == "Succeeded"; }

bool Pod::Ready() const {
  const PodCondition* ready = Condition("Ready");
  return ready != nullptr && ready->status == "True";
}

const json::Schema& Taint::Schema() {
  static const json::Schema schema = json::Object<Taint>({
      Field<&Taint::key>("key").Number(1),
      Field<&Taint::value>("value").Number(2),
      Field<&Taint::effect>("effect").Number(3),
  });
  return schema;
}

const json::Schema& Node::Spec::Schema() {
  static const json::Schema schema = json::Object<Node::Spec>({
      Field<&Node::Spec::unschedulable>("unschedulable").Number(4),
      Field<&Node::Spec::taints>("taints").Number(5),
  });
  return schema;
}

const json::Schema& NodeCondition::Schema() {
  static const json::Schema schema = json::Object<NodeCondition>({
      Field<&NodeCondition::type>("type").Number(1),
      Field<&NodeCondition::status>("status").Number(2),
      Field<&NodeCondition::reason>("reason").Number(5),
      Field<&NodeCondition::message>("message").Number(6),
  });
  return schema;
}

const json::Schema& Node::Status::Schema() {
  static const json::Schema schema =
      json::Object<Node::Status>({Field<&Node::Status::conditions>("conditions").Number(4)});
  return schema;
}

const json::Schema& Node::Schema() {
  static const json::Schema schema = json::Object<Node>({
      Field<&Node::metadata>("metadata").Number(1),
      Field<&Node::spec>("spec").Number(2),
      Field<&Node::status>("status").Number(3),
  });
  return schema;
}

const json::Schema& WorkloadCondition::Schema() {
  static const json::Schema schema = json::Object<WorkloadCondition>({
      Field<&WorkloadCondition::type>("type"),
      Field<&WorkloadCondition::status>("status"),
      Field<&WorkloadCondition::reason>("reason"),
      Field<&WorkloadCondition::message>("message"),
  });
  return schema;
}

const json::Schema& WorkloadStatus::Schema() {
  static const json::Schema schema = json::Object<WorkloadStatus>({
      Field<&WorkloadStatus::observed_generation>("observedGeneration"),
      Field<&WorkloadStatus::replicas>("replicas"),
      Field<&WorkloadStatus::ready_replicas>("readyReplicas"),
      Field<&WorkloadStatus::updated_replicas>("updatedReplicas"),
      Field<&WorkloadStatus::update_revision>("updateRevision"),
      Field<&WorkloadStatus::conditions>("conditions"),
  });
  return schema;
}

const json::Schema& PodTemplateMeta::Schema() {
  static const json::Schema schema = json::Object<PodTemplateMeta>(
      {Field<&PodTemplateMeta::labels>("labels"), Field<&PodTemplateMeta::annotations>("annotations")});
  return schema;
}

const json::Schema& ContainerImage::Schema() {
  static const json::Schema schema = json::Object<ContainerImage>({
      Field<&ContainerImage::name>("name"),
      Field<&ContainerImage::image>("image"),
  });
  return schema;
}

const json::Schema& PodTemplateSpec::Schema() {
  static const json::Schema schema = json::Object<PodTemplateSpec>(
      {Field<&PodTemplateSpec::init_containers>("initContainers"), Field<&PodTemplateSpec::containers>("containers")});
  return schema;
}

const json::Schema& WorkloadTemplate::Schema() {
  static const json::Schema schema = json::Object<WorkloadTemplate>({
      Field<&WorkloadTemplate::metadata>("metadata"),
      Field<&WorkloadTemplate::spec>("spec"),
  });
  return schema;
}

const json::Schema& LabelSelector::Schema() {
  static const json::Schema schema = json::Object<LabelSelector>({Field<&LabelSelector::match_labels>("matchLabels")});
  return schema;
}

const json::Schema& StatefulSetSpec::Schema() {
  static const json::Schema schema = json::Object<StatefulSetSpec>({
      Field<&StatefulSetSpec::service_name>("serviceName"),
      Field<&StatefulSetSpec::pod_management_policy>("podManagementPolicy"),
      Field<&StatefulSetSpec::selector>("selector"),
      Field<&StatefulSetSpec::claim_templates>("volumeClaimTemplates"),
      Field<&StatefulSetSpec::pod_template>("template"),
  });
  return schema;
}

const json::Schema& StatefulSet::Schema() {
  static const json::Schema schema = json::Object<StatefulSet>({
      Field<&StatefulSet::metadata>("metadata"),
      Field<&StatefulSet::spec>("spec"),
      Field<&StatefulSet::status>("status"),
  });
  return schema;
}

const json::Schema& DeploymentSpec::Schema() {
  static const json::Schema schema = json::Object<DeploymentSpec>({Field<&DeploymentSpec::pod_template>("template")});
  return schema;
}

const json::Schema& Deployment::Schema() {
  static const json::Schema schema = json::Object<Deployment>({
      Field<&Deployment::metadata>("metadata"),
      Field<&Deployment::spec>("spec"),
      Field<&Deployment::status>("status"),
  });
  return schema;
}

const json::Schema& Service::Spec::Schema() {
  static const json::Schema schema =
      json::Object<Spec>({Field<&Spec::type>("type"), Field<&Spec::selector>("selector")});
  return schema;
}

const json::Schema& Service::Schema() {
  static const json::Schema schema =
      json::Object<Service>({Field<&Service::metadata>("metadata"), Field<&Service::spec>("spec")});
  return schema;
}

const json::Schema& PublishedConfig::Schema() {
  static const json::Schema schema = json::Object<PublishedConfig>({
      Field<&PublishedConfig::slurm_conf>("slurm.conf"),
      Field<&PublishedConfig::cgroup_conf>("cgroup.conf"),
      Field<&PublishedConfig::topology_yaml>("topology.yaml"),
  });
  return schema;
}

const json::Schema& ConfigMap::Schema() {
  static const json::Schema schema = json::Object<ConfigMap>({
      Field<&ConfigMap::metadata>("metadata"),
      Field<&ConfigMap::data>("data"),
  });
  return schema;
}

const json::Schema& ServiceMonitor::Schema() {
  static const json::Schema schema = json::Object<ServiceMonitor>({Field<&ServiceMonitor::metadata>("metadata")});
  return schema;
}

const json::Schema& RevisionData::Spec::Schema() {
  static const json::Schema schema =
      json::Object<RevisionData::Spec>({Field<&RevisionData::Spec::extra_conf>("extraConf")});
  return schema;
}
const json::Schema& RevisionData::Schema() {
  static const json::Schema schema = json::Object<RevisionData>({Field<&RevisionData::spec>("spec")});
  return schema;
}
const json::Schema& ControllerRevision::Schema() {
  static const json::Schema schema = json::Object<ControllerRevision>({
      Field<&ControllerRevision::data>("data"),
      Field<&ControllerRevision::metadata>("metadata"),
      Field<&ControllerRevision::revision>("revision"),
  });
  return schema;
}

const json::Schema& JobStatus::Schema() {
  static const json::Schema schema = json::Object<JobStatus>({Field<&JobStatus::conditions>("conditions")});
  return schema;
}
const json::Schema& Job::Schema() {
  static const json::Schema schema = json::Object<Job>({
      Field<&Job::metadata>("metadata"),
      Field<&Job::status>("status"),
  });
  return schema;
}

bool Job::Is(std::string_view condition) const {
  const auto found = std::ranges::find(status.conditions, condition, &WorkloadCondition::type);
  return found != status.conditions.end() && found->status == "True";
}

std::string Job::MessageOf(std::string_view condition) const {
  const auto found = std::ranges::find(status.conditions, condition, &WorkloadCondition::type);
  return found == status.conditions.end() ? "" : found->message;
}

const json::Schema& PodDisruptionBudget::Schema() {
  static const json::Schema schema =
      json::Object<PodDisruptionBudget>({Field<&PodDisruptionBudget::metadata>("metadata")});
  return schema;
}

}  // namespace capstan::op
