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
      Field<&Metadata::namespace_>("namespace").Number(3),
      Field<&Metadata::name>("name").Number(1),
      Field<&Metadata::uid>("uid").Number(5),
      Field<&Metadata::resource_version>("resourceVersion").AsText().Number(6),
      Field<&Metadata::deletion_timestamp>("deletionTimestamp").Number(9),
  });
  return schema;
}

const Schema& Pod::Spec::Schema() {
  static const json::Schema schema = Object<Spec>({
      Field<&Spec::node_name>("nodeName").Number(10),
      Field<&Spec::scheduler_name>("schedulerName").Number(19),
      Field<&Spec::priority>("priority").Number(25),
  });
  return schema;
}

const Schema& Pod::Status::Schema() {
  static const json::Schema schema = Object<Status>({
      Field<&Status::phase>("phase").Number(1),
      Field<&Status::host_ip>("hostIP").Number(5),
  });
  return schema;
}

const Schema& Pod::Schema() {
  static const json::Schema schema = Object<Pod>({
      Field<&Pod::metadata>("metadata").Number(1),
      Field<&Pod::spec>("spec").Number(2),
      Field<&Pod::status>("status").Number(3),
  });
  return schema;
}

const Schema& Secret::Schema() {
  static const json::Schema schema = Object<Secret>({
      Field<&Secret::metadata>("metadata").Number(1),
      Field<&Secret::type>("type").Number(3),
      Field<&Secret::data>("data").Number(2),
  });
  return schema;
}

const Schema& Node::Spec::Schema() {
  static const json::Schema schema = Object<Spec>({
      Field<&Spec::unschedulable>("unschedulable").Number(4),
      Field<&Spec::provider_id>("providerID").Number(3),
      Field<&Spec::taints>("taints").Number(5),
  });
  return schema;
}

const Schema& Node::Schema() {
  static const json::Schema schema = Object<Node>({
      Field<&Node::metadata>("metadata").Number(1),
      Field<&Node::spec>("spec").Number(2),
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
