#include "operator/objects.h"

#include <algorithm>

#include "json/schema.h"

namespace capstan::op {

using json::Field;

const json::Schema& PodCondition::Schema() {
  static const json::Schema schema = json::Object<PodCondition>({
      Field<&PodCondition::type>("type"),
      Field<&PodCondition::status>("status"),
      Field<&PodCondition::reason>("reason"),
      Field<&PodCondition::message>("message"),
      Field<&PodCondition::last_transition_time>("lastTransitionTime"),
  });
  return schema;
}

const json::Schema& ContainerWaiting::Schema() {
  static const json::Schema schema = json::Object<ContainerWaiting>({
      Field<&ContainerWaiting::reason>("reason"),
      Field<&ContainerWaiting::message>("message"),
  });
  return schema;
}

const json::Schema& ContainerState::Schema() {
  static const json::Schema schema = json::Object<ContainerState>({Field<&ContainerState::waiting>("waiting")});
  return schema;
}

const json::Schema& ContainerStatus::Schema() {
  static const json::Schema schema = json::Object<ContainerStatus>({
      Field<&ContainerStatus::name>("name"),
      Field<&ContainerStatus::restart_count>("restartCount"),
      Field<&ContainerStatus::state>("state"),
  });
  return schema;
}

const json::Schema& Pod::Spec::Schema() {
  static const json::Schema schema = json::Object<Pod::Spec>({
      Field<&Pod::Spec::node_name>("nodeName"),
      Field<&Pod::Spec::hostname>("hostname"),
  });
  return schema;
}

const json::Schema& Pod::Status::Schema() {
  static const json::Schema schema = json::Object<Pod::Status>({
      Field<&Pod::Status::phase>("phase"),
      Field<&Pod::Status::pod_ip>("podIP"),
      Field<&Pod::Status::conditions>("conditions"),
      Field<&Pod::Status::init_container_statuses>("initContainerStatuses"),
      Field<&Pod::Status::container_statuses>("containerStatuses"),
  });
  return schema;
}

const json::Schema& Pod::Schema() {
  static const json::Schema schema = json::Object<Pod>({
      Field<&Pod::metadata>("metadata"),
      Field<&Pod::spec>("spec"),
      Field<&Pod::status>("status"),
  });
  return schema;
}

const PodCondition* Pod::Condition(std::string_view type) const {
  const auto found = std::ranges::find(status.conditions, type, &PodCondition::type);
  return found == status.conditions.end() ? nullptr : &*found;
}

bool Pod::Ready() const {
  const PodCondition* ready = Condition("Ready");
  return ready != nullptr && ready->status == "True";
}

const json::Schema& CordonedNode::Schema() {
  static const json::Schema schema = json::Object<CordonedNode>({Field<&CordonedNode::metadata>("metadata")});
  return schema;
}

const json::Schema& WorkloadSpec::Schema() {
  static const json::Schema schema = json::Object<WorkloadSpec>({
      Field<&WorkloadSpec::replicas>("replicas"),
      Field<&WorkloadSpec::service_name>("serviceName"),
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
      Field<&WorkloadStatus::conditions>("conditions"),
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

const json::Schema& Deployment::Schema() {
  static const json::Schema schema = json::Object<Deployment>({
      Field<&Deployment::metadata>("metadata"),
      Field<&Deployment::spec>("spec"),
      Field<&Deployment::status>("status"),
  });
  return schema;
}

const json::Schema& Service::Schema() {
  static const json::Schema schema = json::Object<Service>({Field<&Service::metadata>("metadata")});
  return schema;
}

const json::Schema& PublishedConfig::Schema() {
  static const json::Schema schema = json::Object<PublishedConfig>({
      Field<&PublishedConfig::slurm_conf>("slurm.conf"),
      Field<&PublishedConfig::cgroup_conf>("cgroup.conf"),
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

const json::Schema& PodDisruptionBudget::Schema() {
  static const json::Schema schema =
      json::Object<PodDisruptionBudget>({Field<&PodDisruptionBudget::metadata>("metadata")});
  return schema;
}

}  // namespace capstan::op
