#include "api/loginset.h"

#include "api/tables.h"

namespace capstan::api {

using json::Field;

const json::Schema& RollingDeployment::Schema() {
  static const json::Schema schema = json::Object<RollingDeployment>({
      Field<&RollingDeployment::max_surge>("maxSurge").Doc("maxSurge of the Deployment."),
      Field<&RollingDeployment::max_unavailable>("maxUnavailable").Doc("maxUnavailable of the Deployment."),
  });
  return schema;
}

const json::Schema& DeploymentStrategy::Schema() {
  static const json::Schema schema = json::Object<DeploymentStrategy>({
      Field<&DeploymentStrategy::rolling_update>("rollingUpdate").Doc("rollingUpdate of the Deployment's strategy."),
      Field<&DeploymentStrategy::type>("type").Doc("Recreate or RollingUpdate."),
  });
  return schema;
}

const json::Schema& LoginSetSpec::Schema() {
  using S = LoginSetSpec;
  static const json::Schema schema =
      json::Object<S>(
          {
              ControllerRefField(Field<&S::controller_ref>("controllerRef")),
              Field<&S::extra_sshd_config>("extraSshdConfig")
                  .MaxLength(kLongestConf)
                  .Doc("Text put at the end of sshd_config."),
              Field<&S::initconf>("initconf").Doc(ContainerDoc("initconf")),
              Field<&S::login>("login").Doc(ContainerDoc("login")),
              Field<&S::replicas>("replicas")
                  .Default("1")
                  .Minimum(0)
                  .Maximum(kMostReplicas)
                  .Doc("Replicas of the Deployment <name>."),
              Field<&S::root_ssh_authorized_keys>("rootSshAuthorizedKeys")
                  .MaxLength(kLongestConf)
                  .Doc("authorized_keys of root."),
              Field<&S::service>("service").Doc("The Service <name>, by which users reach SSH."),
              Field<&S::sssd_conf_ref>("sssdConfRef")
                  .Required()
                  .Rule("self.name != ''", "sssdConfRef.name must not be empty, it must name the Secret with sssd.conf")
                  .Doc("Secret key with sssd.conf, which says who the users are."),
              Field<&S::strategy>("strategy").Doc("strategy of the Deployment."),
              Field<&S::pod_template>("template").Doc("What is to be different in the login pods."),
          })
          .Rule(kControllerRefRule, kControllerRefMessage);
  return schema;
}

const json::Schema& LoginSetStatus::Schema() {
  using S = LoginSetStatus;
  static const json::Schema schema = json::Object<S>({
      ConditionsField(Field<&S::conditions>("conditions")),
      Field<&S::replicas>("replicas").Always().Doc("Pods there are."),
      Field<&S::selector>("selector").Doc("Label selector of the pods, for the scale subresource."),
  });
  return schema;
}

const json::Schema& LoginSet::Schema() {
  static const json::Schema schema =
      json::Object<LoginSet>({
                                 Field<&LoginSet::metadata>("metadata"),
                                 SpecField(Field<&LoginSet::spec>("spec"), "The login hosts as they are wanted."),
                                 StatusField(Field<&LoginSet::status>("status")),
                             })
          .Doc("Hosts that users log in to by SSH, with Slurm's commands.");
  return schema;
}

}  // namespace capstan::api
