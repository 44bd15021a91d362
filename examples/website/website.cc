#include "website.h"

namespace website {

using json::Field;

// The one description of a spec: from it come decoder, encoder, defaults and the definition's schema.
const json::Schema& WebsiteSpec::Schema() {
  static const json::Schema schema = json::Object<WebsiteSpec>({
      Field<&WebsiteSpec::html>("html").Required().Always().MaxLength(500'000).Doc("What visitors see."),
      Field<&WebsiteSpec::replicas>("replicas").Default("1").Minimum(0).Maximum(100).Doc("How many servers show it."),
      Field<&WebsiteSpec::port>("port").Minimum(1).Maximum(65535).Doc(
          "Of a Service for it; without one there is none."),
      Field<&WebsiteSpec::footer_from>("footerFrom")
          .MaxLength(253)
          .Doc("ConfigMap in the same namespace; the page ends with what it has under footer.html."),
  });
  return schema;
}

const json::Schema& WebsiteStatus::Schema() {
  static const json::Schema schema = json::Object<WebsiteStatus>({
      Field<&WebsiteStatus::observed_generation>("observedGeneration").Doc("The generation that this speaks of."),
      Field<&WebsiteStatus::ready_replicas>("readyReplicas").Always().Doc("Servers that show the page."),
      Field<&WebsiteStatus::page>("page").Doc("Digest of the page that is published."),
      json::ConditionsField(Field<&WebsiteStatus::conditions>("conditions")),
  });
  return schema;
}

const json::Schema& Website::Schema() {
  static const json::Schema schema =
      json::Object<Website>({
                                Field<&Website::metadata>("metadata"),
                                Field<&Website::spec>("spec").Required().Doc("What is wanted."),
                                Field<&Website::status>("status").Doc("What is seen."),
                            })
          .Doc("A page, and the servers that show it.");
  return schema;
}

json::CustomResource Definition() {
  constexpr const kube::Resource& resource = Website::kResource;
  return {.group = resource.group,
          .version = resource.version,
          .kind = resource.kind,
          .plural = resource.plural,
          .schema = &Website::Schema,
          .columns = {{"REPLICAS", "integer", ".spec.replicas", "Servers there should be"},
                      {"READY", "integer", ".status.readyReplicas", "Servers that show the page"},
                      {"STATUS", "string", ".status.conditions[?(@.type==\"Ready\")].reason", "How it is"}}};
}

const json::Schema& ConfigMap::Schema() {
  static const json::Schema schema = json::Object<ConfigMap>({Field<&ConfigMap::metadata>("metadata")});
  return schema;
}

const json::Schema& Service::Schema() {
  static const json::Schema schema = json::Object<Service>({Field<&Service::metadata>("metadata")});
  return schema;
}

const json::Schema& DeploymentStatus::Schema() {
  static const json::Schema schema = json::Object<DeploymentStatus>({
      Field<&DeploymentStatus::observed_generation>("observedGeneration"),
      Field<&DeploymentStatus::ready_replicas>("readyReplicas"),
  });
  return schema;
}

const json::Schema& Deployment::Schema() {
  static const json::Schema schema = json::Object<Deployment>({
      Field<&Deployment::metadata>("metadata"),
      Field<&Deployment::status>("status"),
  });
  return schema;
}

}  // namespace website
