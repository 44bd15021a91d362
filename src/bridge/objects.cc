#include "bridge/objects.h"

#include <algorithm>

namespace capstan::bridge {

bool Pod::HasGate(std::string_view name) const {
  return std::ranges::find(spec.scheduling_gates, name, &SchedulingGate::name) != spec.scheduling_gates.end();
}

const PodCondition* Pod::Condition(std::string_view type) const {
  const auto found = std::ranges::find(status.conditions, type, &PodCondition::type);
  return found != status.conditions.end() ? &*found : nullptr;
}

bool Node::IsReady() const {
  return std::ranges::any_of(status.conditions,
                             [](const NodeCondition& one) { return one.type == "Ready" && one.status == "True"; });
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
  });
  return schema;
}

const json::Schema& Pod::Spec::Schema() {
  static const json::Schema schema = json::Object<Pod::Spec>({
      json::Field<&Pod::Spec::node_name>("nodeName"),
      json::Field<&Pod::Spec::scheduling_gates>("schedulingGates"),
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
  });
  return schema;
}

const json::Schema& Node::Spec::Schema() {
  static const json::Schema schema = json::Object<Node::Spec>({
      json::Field<&Node::Spec::unschedulable>("unschedulable"),
  });
  return schema;
}

const json::Schema& Node::Status::Schema() {
  static const json::Schema schema = json::Object<Node::Status>({
      json::Field<&Node::Status::conditions>("conditions"),
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

const json::Schema& Namespace::Schema() {
  static const json::Schema schema = json::Object<Namespace>({
      json::Field<&Namespace::metadata>("metadata"),
  });
  return schema;
}

}  // namespace capstan::bridge
