#include "doctor/cluster.h"

#include <algorithm>

#include "base/text.h"

namespace capstan::doctor {

using json::Field;
using json::Object;
using json::Schema;

const Schema& CustomResource::Status::Schema() {
  static const json::Schema schema =
      Object<Status>({Field<&Status::conditions>("conditions"), Field<&Status::issued_at>("issuedAt")});
  return schema;
}
const Schema& CustomResource::Schema() {
  static const json::Schema schema =
      Object<CustomResource>({Field<&CustomResource::metadata>("metadata"), Field<&CustomResource::spec>("spec"),
                              Field<&CustomResource::status>("status")});
  return schema;
}

const Schema& Node::Taint::Schema() {
  static const json::Schema schema = Object<Taint>({Field<&Taint::key>("key"), Field<&Taint::effect>("effect")});
  return schema;
}
const Schema& Node::Spec::Schema() {
  static const json::Schema schema =
      Object<Spec>({Field<&Spec::unschedulable>("unschedulable"), Field<&Spec::taints>("taints")});
  return schema;
}
const Schema& Node::Status::Schema() {
  static const json::Schema schema = Object<Status>({Field<&Status::conditions>("conditions")});
  return schema;
}
const Schema& Node::Schema() {
  static const json::Schema schema =
      Object<Node>({Field<&Node::metadata>("metadata"), Field<&Node::spec>("spec"), Field<&Node::status>("status")});
  return schema;
}
bool Node::Ready() const {
  return std::ranges::any_of(status.conditions, [](const op::PodCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

const Schema& Claim::Status::Schema() {
  static const json::Schema schema = Object<Status>({Field<&Status::phase>("phase")});
  return schema;
}
const Schema& Claim::Schema() {
  static const json::Schema schema =
      Object<Claim>({Field<&Claim::metadata>("metadata"), Field<&Claim::status>("status")});
  return schema;
}

const Schema& Event::Regarding::Schema() {
  static const json::Schema schema = Object<Regarding>(
      {Field<&Regarding::kind>("kind"), Field<&Regarding::namespace_>("namespace"), Field<&Regarding::name>("name")});
  return schema;
}
const Schema& Event::Schema() {
  static const json::Schema schema =
      Object<Event>({Field<&Event::metadata>("metadata"), Field<&Event::regarding>("regarding"),
                     Field<&Event::type>("type"), Field<&Event::reason>("reason"), Field<&Event::note>("note")});
  return schema;
}

const Schema& OperatorDeployment::Container::Schema() {
  static const json::Schema schema =
      Object<Container>({Field<&Container::image>("image"), Field<&Container::args>("args")});
  return schema;
}
const Schema& OperatorDeployment::PodSpec::Schema() {
  static const json::Schema schema = Object<PodSpec>({Field<&PodSpec::containers>("containers")});
  return schema;
}
const Schema& OperatorDeployment::Template::Schema() {
  static const json::Schema schema = Object<Template>({Field<&Template::spec>("spec")});
  return schema;
}
const Schema& OperatorDeployment::Spec::Schema() {
  static const json::Schema schema =
      Object<Spec>({Field<&Spec::replicas>("replicas"), Field<&Spec::pod_template>("template")});
  return schema;
}
const Schema& OperatorDeployment::Schema() {
  static const json::Schema schema = Object<OperatorDeployment>({Field<&OperatorDeployment::metadata>("metadata"),
                                                                 Field<&OperatorDeployment::spec>("spec"),
                                                                 Field<&OperatorDeployment::status>("status")});
  return schema;
}
std::string OperatorDeployment::Flag(std::string_view flag) const {
  const std::string prefix = "--" + std::string(flag) + "=";
  for (const Container& container : spec.pod_template.spec.containers) {
    for (const std::string& arg : container.args) {
      if (arg.starts_with(prefix)) return arg.substr(prefix.size());
    }
  }
  return "";
}
bool OperatorDeployment::Watches(std::string_view ns) const {
  const std::string namespaces = Flag("namespaces");
  if (namespaces.empty()) return true;
  const std::vector<std::string_view> named = Split(namespaces, ',');
  return std::ranges::find(named, ns) != named.end();
}

const CustomResource* Cluster::Find(std::string_view kind, const kube::Key& key) const {
  const auto found = std::ranges::find_if(
      resources.items, [&](const CustomResource& resource) { return resource.kind == kind && resource.key() == key; });
  return found == resources.items.end() ? nullptr : &*found;
}
const Node* Cluster::FindNode(std::string_view name) const {
  const auto found = std::ranges::find(nodes.items, name, [](const Node& node) { return node.metadata.name; });
  return found == nodes.items.end() ? nullptr : &*found;
}

}  // namespace capstan::doctor
