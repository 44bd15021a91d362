#include "runtime/objects.h"

#include <tuple>

namespace capstan::bench {

using json::Field;
using json::Object;
using json::Schema;

bool operator==(const Metadata& a, const Metadata& b) {
  const auto rest = [](const Metadata& m) { return std::tie(m.namespace_, m.name, m.uid, m.deletion_timestamp); };
  return rest(a) == rest(b);
}

const Schema& Metadata::Schema() {
  static const json::Schema schema = Object<Metadata>({
      Field<&Metadata::namespace_>("namespace"),
      Field<&Metadata::name>("name"),
      Field<&Metadata::uid>("uid"),
      Field<&Metadata::resource_version>("resourceVersion").AsText(),
      Field<&Metadata::deletion_timestamp>("deletionTimestamp"),
  });
  return schema;
}

const Schema& Pod::Spec::Schema() {
  static const json::Schema schema = Object<Spec>({
      Field<&Spec::node_name>("nodeName"),
      Field<&Spec::scheduler_name>("schedulerName"),
      Field<&Spec::priority>("priority"),
  });
  return schema;
}

const Schema& Pod::Status::Schema() {
  static const json::Schema schema = Object<Status>({
      Field<&Status::phase>("phase"),
      Field<&Status::host_ip>("hostIP"),
  });
  return schema;
}

const Schema& Pod::Schema() {
  static const json::Schema schema = Object<Pod>({
      Field<&Pod::metadata>("metadata"),
      Field<&Pod::spec>("spec"),
      Field<&Pod::status>("status"),
  });
  return schema;
}

const Schema& Secret::Schema() {
  static const json::Schema schema = Object<Secret>({
      Field<&Secret::metadata>("metadata"),
      Field<&Secret::type>("type"),
      Field<&Secret::data>("data"),
  });
  return schema;
}

const Schema& Node::Spec::Schema() {
  static const json::Schema schema = Object<Spec>({
      Field<&Spec::unschedulable>("unschedulable"),
      Field<&Spec::provider_id>("providerID"),
      Field<&Spec::taints>("taints"),
  });
  return schema;
}

const Schema& Node::Schema() {
  static const json::Schema schema = Object<Node>({
      Field<&Node::metadata>("metadata"),
      Field<&Node::spec>("spec"),
  });
  return schema;
}

const Schema& Source::Spec::Schema() {
  static const json::Schema schema = Object<Spec>({Field<&Spec::text>("text")});
  return schema;
}

const Schema& Source::Schema() {
  static const json::Schema schema = Object<Source>({
      Field<&Source::metadata>("metadata"),
      Field<&Source::spec>("spec"),
  });
  return schema;
}

const Schema& ConfigMap::Schema() {
  static const json::Schema schema = Object<ConfigMap>({Field<&ConfigMap::metadata>("metadata")});
  return schema;
}

}  // namespace capstan::bench
