#include "api/restapi.h"

#include "api/tables.h"

namespace capstan::api {

using json::Field;

const json::Schema& RestApiSpec::Schema() {
  using S = RestApiSpec;
  static const json::Schema schema = json::Object<S>({
      ControllerRefField(Field<&S::controller_ref>("controllerRef")),
      Field<&S::replicas>("replicas")
          .Default("1")
          .Minimum(0)
          .Maximum(kMostReplicas)
          .Doc("Replicas of the Deployment <name>-restapi."),
      Field<&S::service>("service").Doc("The Service <name>-restapi."),
      Field<&S::slurmrestd>("slurmrestd").Doc(ContainerDoc("slurmrestd")),
      Field<&S::pod_template>("template").Doc("What is to be different in slurmrestd's pods."),
  });
  return schema;
}

const json::Schema& RestApiStatus::Schema() {
  static const json::Schema schema = json::Object<RestApiStatus>({
      ConditionsField(Field<&RestApiStatus::conditions>("conditions")),
  });
  return schema;
}

const json::Schema& RestApi::Schema() {
  static const json::Schema schema =
      json::Object<RestApi>({
                                Field<&RestApi::metadata>("metadata"),
                                SpecField(Field<&RestApi::spec>("spec"), "slurmrestd as it is wanted."),
                                StatusField(Field<&RestApi::status>("status")),
                            })
          .Doc("A slurmrestd, Slurm's HTTP interface. Capstan itself speaks to the cluster through it.");
  return schema;
}

}  // namespace capstan::api
