#include "api/accounting.h"

#include "api/tables.h"

namespace capstan::api {

using json::Field;

const json::Schema& StorageConfig::Schema() {
  static const json::Schema schema = json::Object<StorageConfig>({
      Field<&StorageConfig::database>("database").Default("\"slurm_acct_db\"").Doc("StorageLoc: name of the database."),
      Field<&StorageConfig::host>("host").Required().Doc("StorageHost: where MariaDB or MySQL listens."),
      Field<&StorageConfig::password_key_ref>("passwordKeyRef")
          .Required()
          .Doc("StoragePass: Secret key that holds it."),
      Field<&StorageConfig::port>("port").Default("3306").Minimum(0).Maximum(65535).Doc("StoragePort."),
      Field<&StorageConfig::username>("username").Doc("StorageUser."),
  });
  return schema;
}

const json::Schema& AccountingSpec::Schema() {
  using S = AccountingSpec;
  static const json::Schema schema =
      json::Object<S>({
                          Field<&S::external>("external")
                              .Default("false")
                              .Doc("slurmdbd runs outside of Kubernetes; none is made here."),
                          Field<&S::external_config>("externalConfig").Doc("Where the external slurmdbd is."),
                          Field<&S::extra_conf>("extraConf")
                              .MaxLength(kLongestConf)
                              .Doc("Text put at the end of slurmdbd.conf; what it sets wins."),
                          Field<&S::jwks_key_ref>("jwksKeyRef").Doc(kJwksDoc),
                          Field<&S::jwt_hs256_key_ref>("jwtHs256KeyRef").Doc(kJwtOldKeyDoc),
                          Field<&S::jwt_key_ref>("jwtKeyRef").Doc(kJwtKeyDoc),
                          Field<&S::service>("service").Doc("The Service <name>-accounting."),
                          Field<&S::slurm_key_ref>("slurmKeyRef").Doc(kSlurmKeyDoc),
                          Field<&S::slurmdbd>("slurmdbd").Doc(ContainerDoc("slurmdbd")),
                          Field<&S::storage_config>("storageConfig").Doc("The database behind slurmdbd."),
                          Field<&S::pod_template>("template").Doc("What is to be different in slurmdbd's pod."),
                      })
          .Rule("self.external || has(self.slurmKeyRef)", "slurmKeyRef must be set, unless external is true")
          .Rule("self.external || has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
                "jwtKeyRef must be set, unless external is true")
          .Rule("!self.external || has(self.externalConfig)", "externalConfig must be set when external is true")
          .Rule(kJwtKeyRule, kJwtKeyMessage);
  return schema;
}

const json::Schema& AccountingStatus::Schema() {
  static const json::Schema schema = json::Object<AccountingStatus>({
      ConditionsField(Field<&AccountingStatus::conditions>("conditions")),
  });
  return schema;
}

const json::Schema& Accounting::Schema() {
  static const json::Schema schema =
      json::Object<Accounting>({
                                   Field<&Accounting::metadata>("metadata"),
                                   SpecField(Field<&Accounting::spec>("spec"), "slurmdbd as it is wanted."),
                                   StatusField(Field<&Accounting::status>("status")),
                               })
          .Doc("A slurmdbd, which keeps the records of jobs and users for one or more clusters.");
  return schema;
}

}  // namespace capstan::api
