#include "api/controller.h"

#include <algorithm>

#include "api/tables.h"
#include "json/codec.h"

namespace capstan::api {
namespace {

using json::Field;

constexpr std::string_view kQuantityPattern =
    R"re(^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$)re";
constexpr std::string_view kPrometheusDuration =
    "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$";

// The parts of core/v1 PersistentVolumeClaimSpec, as the API server declares them.
constexpr std::string_view kDataSource =
    R"({"type":"object","x-kubernetes-map-type":"atomic","required":["kind","name"],
  "properties":{"apiGroup":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"}}})";
constexpr std::string_view kDataSourceRef = R"({"type":"object","required":["kind","name"],"properties":{
  "apiGroup":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"}}})";
constexpr std::string_view kSelector = R"({"type":"object","x-kubernetes-map-type":"atomic","properties":{
  "matchExpressions":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"object","required":["key","operator"],
    "properties":{"key":{"type":"string"},"operator":{"type":"string"},
    "values":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string"}}}}},
  "matchLabels":{"type":"object","additionalProperties":{"type":"string"}}}})";

std::string ClaimResources() {
  const std::string quantities =
      R"({"type":"object","additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":")" +
      std::string(kQuantityPattern) + R"(","x-kubernetes-int-or-string":true}})";
  return R"({"type":"object","properties":{"limits":)" + quantities + R"(,"requests":)" + quantities + "}}";
}

json::Member ScriptsField(json::Member member, std::string_view doc) {
  return std::move(member).Nullable().Doc("ConfigMaps whose keys " + std::string(doc));
}

constexpr std::string_view kHaRule =
    "has(self.ha) && self.ha.enabled ? has(self.persistence) && self.persistence.enabled && "
    "has(self.persistence.existingClaim) && self.persistence.existingClaim != '' : true";
constexpr std::string_view kKeptEnabledRule =
    "(has(self.persistence) ? self.persistence.enabled : true) == "
    "(has(oldSelf.persistence) ? oldSelf.persistence.enabled : true)";
constexpr std::string_view kKeptClaimRule =
    "(has(self.persistence) && !self.persistence.enabled) || "
    "(has(self.persistence) && has(self.persistence.existingClaim) ? self.persistence.existingClaim : '') == "
    "(has(oldSelf.persistence) && has(oldSelf.persistence.existingClaim) ? oldSelf.persistence.existingClaim "
    ": '')";
constexpr std::string_view kKeptKeyRule =
    "!has(oldSelf.slurmKeyRef) || (has(self.slurmKeyRef) && (self.slurmKeyRef.name == "
    "oldSelf.slurmKeyRef.name || self.slurmKeyRef.key.endsWith('.jwks')))";

// The name in force is the one given, or "<namespace>_<name>". CEL does not see the namespace.
constexpr std::string_view kClusterName = "has(self.spec) && has(self.spec.clusterName) ? self.spec.clusterName : ''";
constexpr std::string_view kOldClusterName =
    "has(oldSelf.spec) && has(oldSelf.spec.clusterName) ? oldSelf.spec.clusterName : ''";

std::string KeptClusterNameRule() {
  const std::string now = "(" + std::string(kClusterName) + ")";
  const std::string before = "(" + std::string(kOldClusterName) + ")";
  const std::string suffix = ".endsWith('_' + self.metadata.name)";
  return now + " == " + before + " || (" + before + " == '' && " + now + suffix + ") || (" + now + " == '' && " +
         before + suffix + ")";
}

}  // namespace

const json::Schema& Persistence::Schema() {
  static const json::Schema schema = json::Object<Persistence>({
      Field<&Persistence::access_modes>("accessModes").Atomic().Doc("accessModes of the claim."),
      Field<&Persistence::data_source>("dataSource").RawSchema(kDataSource).Doc("dataSource of the claim."),
      Field<&Persistence::data_source_ref>("dataSourceRef")
          .RawSchema(kDataSourceRef)
          .Doc("dataSourceRef of the claim."),
      Field<&Persistence::enabled>("enabled").Required().Default("true").Doc(
          "Keep slurmctld's state (jobs, reservations, node states) in a volume. Without it a restart "
          "forgets them."),
      Field<&Persistence::existing_claim>("existingClaim")
          .MaxLength(kLongestName)
          .Doc("Name of a PersistentVolumeClaim to use instead of one of our own."),
      Field<&Persistence::resources>("resources").RawSchema(ClaimResources()).Doc("resources of the claim."),
      Field<&Persistence::selector>("selector").RawSchema(kSelector).Doc("selector of the claim."),
      Field<&Persistence::storage_class_name>("storageClassName").Doc("storageClassName of the claim."),
      Field<&Persistence::volume_attributes_class_name>("volumeAttributesClassName")
          .Doc("volumeAttributesClassName of the claim."),
      Field<&Persistence::volume_mode>("volumeMode").Doc("volumeMode of the claim."),
      Field<&Persistence::volume_name>("volumeName").Doc("volumeName of the claim."),
  });
  return schema;
}

std::string Persistence::ClaimSpec() const {
  Persistence claim = *this;
  claim.enabled.reset();
  claim.existing_claim.clear();
  return json::Encode(claim);
}

const json::Schema& HighAvailability::Schema() {
  static const json::Schema schema = json::Object<HighAvailability>({
      Field<&HighAvailability::backups>("backups")
          .Default("1")
          .Minimum(1)
          .Maximum(kMostBackups)
          .Doc("How many slurmctld stand by; the StatefulSet has one replica more."),
      Field<&HighAvailability::enabled>("enabled").Required().Default("false").Doc("Run backup controllers."),
  });
  return schema;
}

const json::Schema& MetricsEndpoint::Schema() {
  static const json::Schema schema = json::Object<MetricsEndpoint>({
      Field<&MetricsEndpoint::interval>("interval").Pattern(kPrometheusDuration).Doc("Interval of this path."),
      Field<&MetricsEndpoint::path>("path").Required().Doc("HTTP path, such as /metrics/jobs."),
      Field<&MetricsEndpoint::scrape_timeout>("scrapeTimeout")
          .Pattern(kPrometheusDuration)
          .Doc("Time limit of this path."),
  });
  return schema;
}

const json::Schema& ServiceMonitor::Schema() {
  static const json::Schema schema = json::Object<ServiceMonitor>({
      Field<&ServiceMonitor::annotations>("annotations").Nullable().Doc("Annotations of the ServiceMonitor."),
      Field<&ServiceMonitor::enabled>("enabled").Default("false").Doc(
          "Make a ServiceMonitor for the Prometheus operator, where the API server has that kind."),
      Field<&ServiceMonitor::endpoints>("endpoints")
          .Nullable()
          .Doc("What to scrape; absent: every path slurmctld has."),
      Field<&ServiceMonitor::interval>("interval").Pattern(kPrometheusDuration).Doc("How often to scrape."),
      Field<&ServiceMonitor::labels>("labels").Nullable().Doc("Labels of the ServiceMonitor."),
      Field<&ServiceMonitor::scrape_timeout>("scrapeTimeout")
          .Pattern(kPrometheusDuration)
          .Doc("Time limit of one scrape."),
  });
  return schema;
}

const json::Schema& Metrics::Schema() {
  static const json::Schema schema = json::Object<Metrics>({
      Field<&Metrics::enabled>("enabled").Default("false").Doc(
          "Let slurmctld serve metrics: MetricsType=metrics/openmetrics in slurm.conf."),
      Field<&Metrics::service_monitor>("serviceMonitor")
          .Nullable()
          .AbsentIsEmpty()
          .Doc("How Prometheus finds slurmctld's metrics."),
  });
  return schema;
}

const json::Schema& ControllerSpec::Schema() {
  using S = ControllerSpec;
  static const json::Schema schema =
      json::Object<S>(
          {
              Field<&S::accounting_ref>("accountingRef")
                  .Doc("The Accounting whose slurmdbd this cluster reports to: AccountingStorage* in "
                       "slurm.conf."),
              Field<&S::cluster_name>("clusterName")
                  .MaxLength(kLongestName)
                  .Rule("size(bytes(self)) <= 40",
                        "clusterName must be at most 40 bytes long: slurmdbd makes database table names of it")
                  .Doc("ClusterName in slurm.conf; absent: <namespace>_<name>. Cannot be changed later."),
              ScriptsField(Field<&S::config_file_refs>("configFileRefs"),
                           "become files beside slurm.conf (cgroup.conf, gres.conf, ...). slurm.conf, slurmdbd.conf "
                           "and the keys' files may not be among them."),
              ScriptsField(Field<&S::epilog_script_refs>("epilogScriptRefs"),
                           "are Epilog scripts, run by slurmd after a job."),
              ScriptsField(Field<&S::epilog_slurmctld_script_refs>("epilogSlurmctldScriptRefs"),
                           "are EpilogSlurmctld scripts, run by slurmctld after a job."),
              Field<&S::external>("external")
                  .Default("false")
                  .Doc("slurmctld runs outside of Kubernetes; only the parts that workers and logins need "
                       "are made here."),
              Field<&S::external_config>("externalConfig").Doc("Where the external slurmctld is."),
              Field<&S::extra_conf>("extraConf")
                  .MaxLength(kLongestConf)
                  .Doc("Text put at the end of slurm.conf; what it sets wins."),
              Field<&S::ha>("ha").AbsentIsEmpty().Doc("High availability: further slurmctld that take over."),
              Field<&S::inplace_reconfigure>("inplaceReconfigure")
                  .Default("false")
                  .Doc("Without effect: a changed configuration always reaches slurmctld as it runs "
                       "(docs/configuration.md)."),
              Field<&S::jwks_key_ref>("jwksKeyRef").Doc(kJwksDoc),
              Field<&S::jwt_hs256_key_ref>("jwtHs256KeyRef").Doc(kJwtOldKeyDoc),
              Field<&S::jwt_key_ref>("jwtKeyRef").Doc(kJwtKeyDoc),
              Field<&S::logfile>("logfile").Doc(ContainerDoc("logfile")),
              Field<&S::metrics>("metrics").AbsentIsEmpty().Doc("slurmctld's own metrics."),
              Field<&S::persistence>("persistence").AbsentIsEmpty().Doc("Where slurmctld keeps its state."),
              ScriptsField(Field<&S::prolog_script_refs>("prologScriptRefs"),
                           "are Prolog scripts, run by slurmd before a job."),
              ScriptsField(Field<&S::prolog_slurmctld_script_refs>("prologSlurmctldScriptRefs"),
                           "are PrologSlurmctld scripts, run by slurmctld before a job."),
              Field<&S::reconfigure>("reconfigure").Doc(ContainerDoc("reconfigure")),
              Field<&S::service>("service").Doc("The Service <name>-controller, by which clients reach slurmctld."),
              Field<&S::slurm_key_ref>("slurmKeyRef").Doc(kSlurmKeyDoc),
              Field<&S::slurmctld>("slurmctld").Doc(ContainerDoc("slurmctld")),
              Field<&S::pod_template>("template").Doc("What is to be different in slurmctld's pod."),
          })
          .Rule("self.external || has(self.slurmKeyRef)", "slurmKeyRef must be set, unless external is true")
          .Rule("self.external || has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
                "jwtKeyRef must be set, unless external is true")
          .Rule("!self.external || has(self.externalConfig)", "externalConfig must be set when external is true")
          .Rule(kHaRule,
                "ha needs persistence.existingClaim, a claim with access mode ReadWriteMany: all slurmctld "
                "share one state")
          .Rule(
              kKeptKeyRule,
              "slurmKeyRef cannot be changed but to a set of keys, whose name ends with .jwks (docs/keys.md): daemons "
              "with the old key would be locked out")
          .Rule(kJwtKeyRule, kJwtKeyMessage)
          .Rule(kKeptEnabledRule,
                "persistence.enabled cannot be changed: slurmctld would start without its jobs. Create "
                "another Controller.")
          .Rule(kKeptClaimRule, "persistence.existingClaim cannot be changed: slurmctld would start without its jobs");
  return schema;
}

int32_t ControllerSpec::Replicas() const {
  if (*external || !*ha->enabled) return 1;
  return 1 + std::clamp(*ha->backups, 1, kMostBackups);
}

const json::Schema& ControllerStatus::Schema() {
  static const json::Schema schema = json::Object<ControllerStatus>({
      ConditionsField(Field<&ControllerStatus::conditions>("conditions")),
  });
  return schema;
}

const json::Schema& Controller::Schema() {
  static const json::Schema schema =
      json::Object<Controller>({
                                   Field<&Controller::metadata>("metadata"),
                                   SpecField(Field<&Controller::spec>("spec"), "The cluster as it is wanted."),
                                   StatusField(Field<&Controller::status>("status")),
                               })
          .Doc("A Slurm cluster, by its slurmctld.")
          .Rule(KeptClusterNameRule(),
                "clusterName cannot be changed: slurmctld refuses state, and slurmdbd jobs, of another name")
          // One that has a status is older than this rule: the rest of an object is not looked at when it is the object that
          // is asked about, so that its status and finalizers could not be written.
          .Rule("has(self.status) || (" + std::string(kClusterName) + ") != '' || size(self.metadata.name) <= 38",
                "spec.clusterName must be set (at most 40 bytes): <namespace>_<name> would be longer than 40");
  return schema;
}

std::string Controller::ClusterName() const {
  return spec.cluster_name.empty() ? metadata.namespace_ + "_" + metadata.name : spec.cluster_name;
}

}  // namespace capstan::api
