// No field is accepted in silence: what a user may write in a spec changes what is wanted, or what is said.
#include <gtest/gtest.h>

#include <map>

#include "json/codec.h"
#include "json/merge.h"
#include "json/value.h"
#include "operator/accounting/config.h"
#include "operator/accounting/decide.h"
#include "operator/accounting/questions.h"
#include "operator/controller/decide.h"
#include "operator/controller/questions.h"
#include "operator/controller/unheeded.h"
#include "operator/host_keys.h"
#include "operator/loginset/decide.h"
#include "operator/names.h"
#include "operator/nodeset/decide.h"
#include "operator/nodeset/reservation.h"
#include "operator/nodeset/revision.h"
#include "operator/nodeset/unheeded.h"
#include "operator/restapi/decide.h"
#include "operator/testing/world.h"
#include "operator/token/decide.h"
#include "operator/token/questions.h"

namespace capstan::op {
namespace {

// One field of a spec, a value of it that is not the default, and what else must be so for it to matter.
struct Sample {
  std::string value;
  std::string with = "{}";
};
using Samples = std::map<std::string, Sample, std::less<>>;

const std::string kMetadata = R"({"a":"b"})";
const std::string kContainer = R"({"workingDir":"/x"})";
const std::string kFile = R"([{"name":"files"}])";
const std::string kPersistent = R"({"persistence":{"enabled":true}})";
const std::string kMonitor = R"({"metrics":{"enabled":true,"serviceMonitor":{"enabled":true}}})";
const std::string kExternal = R"({"external":true,"externalConfig":{"host":"h","port":7000}})";
const std::string kJwks = R"({"jwksKeyRef":{"name":"jwks","key":"a"}})";
const std::string kFormerKey = R"({"jwtKeyRef":null,"jwtHs256KeyRef":{"name":"keys","key":"a"}})";
const std::string kScheduled =
    R"({"updateStrategy":{"type":"ScheduledUpdate","scheduledUpdate":{"startTime":"2030-01-01T00:00:00Z","duration":"1h"}}})";
const std::string kSsh = R"({"ssh":{"enabled":true,"sssdConfRef":{"name":"keys","key":"a"}}})";
const std::string kHa = R"({"ha":{"enabled":true},"persistence":{"enabled":true,"existingClaim":"c"}})";

const Samples kService = {
    {"service.metadata.annotations", {kMetadata}},
    {"service.metadata.labels", {kMetadata}},
    {"service.nodePort", {"30000"}},
    {"service.port", {"7000"}},
    {"service.spec", {R"({"type":"NodePort"})"}},
};
const Samples kJwtKey = {
    {"jwtHs256KeyRef.key", {"\"b\"", kFormerKey}},
    {"jwtHs256KeyRef.name", {"\"other\"", kFormerKey}},
    {"jwtKeyRef.key", {"\"b\""}},
    {"jwtKeyRef.name", {"\"other\""}},
};
const Samples kTemplate = {
    {"template.metadata.annotations", {kMetadata}},
    {"template.metadata.labels", {kMetadata}},
    {"template.spec", {R"({"nodeSelector":{"a":"b"}})"}},
};

const Samples kController = {
    {"accountingRef.name", {"\"db\""}},
    {"clusterName", {"\"other\""}},
    {"configFileRefs", {kFile}},
    {"epilogScriptRefs", {kFile}},
    {"epilogSlurmctldScriptRefs", {kFile}},
    {"external", {"true", R"({"externalConfig":{"host":"h","port":7000}})"}},
    {"externalConfig.host", {"\"other\"", kExternal}},
    {"externalConfig.port", {"7001", kExternal}},
    {"extraConf", {"\"ReturnToService=2\""}},
    {"ha.backups", {"2", kHa}},
    {"ha.enabled", {"true", kPersistent}},
    {"jwksKeyRef.key", {"\"b\"", kJwks}},
    {"jwksKeyRef.name", {"\"other\"", kJwks}},
    {"logfile", {kContainer}},
    {"metrics.enabled", {"true"}},
    {"metrics.serviceMonitor.annotations", {kMetadata, kMonitor}},
    {"metrics.serviceMonitor.enabled", {"true"}},
    {"metrics.serviceMonitor.endpoints", {R"([{"path":"/x"}])", kMonitor}},
    {"metrics.serviceMonitor.interval", {"\"5s\"", kMonitor}},
    {"metrics.serviceMonitor.labels", {kMetadata, kMonitor}},
    {"metrics.serviceMonitor.scrapeTimeout", {"\"5s\"", kMonitor}},
    {"persistence.accessModes", {R"(["ReadWriteMany"])", kPersistent}},
    {"persistence.dataSource", {R"({"kind":"k","name":"n"})", kPersistent}},
    {"persistence.dataSourceRef", {R"({"kind":"k","name":"n"})", kPersistent}},
    {"persistence.enabled", {"false"}},
    {"persistence.existingClaim", {"\"c\"", kPersistent}},
    {"persistence.resources", {R"({"requests":{"storage":"9Gi"}})", kPersistent}},
    {"persistence.selector", {R"({"matchLabels":{"a":"b"}})", kPersistent}},
    {"persistence.storageClassName", {"\"fast\"", kPersistent}},
    {"persistence.volumeAttributesClassName", {"\"fast\"", kPersistent}},
    {"persistence.volumeMode", {"\"Filesystem\"", kPersistent}},
    {"persistence.volumeName", {"\"v\"", kPersistent}},
    {"prologScriptRefs", {kFile}},
    {"prologSlurmctldScriptRefs", {kFile}},
    {"slurmKeyRef.key", {"\"b\""}},
    {"slurmKeyRef.name", {"\"other\""}},
    {"slurmctld", {kContainer}},
};

const Samples kNodeSet = {
    {"controllerRef.name", {"\"other\""}},
    {"extraConf", {"\"Weight=7\""}},
    {"logfile", {kContainer}},
    {"minReadySeconds", {"60"}},
    {"ordinalPadding", {"3"}},
    {"oversubscribeNode", {"true"}},
    {"partition.config", {"\"State=UP\"", R"({"partition":{"enabled":true}})"}},
    {"partition.enabled", {"true"}},
    {"replicas", {"5"}},
    {"revisionHistoryLimit", {"3"}},
    {"scalingMode", {"\"DaemonSet\""}},
    {"slurmd", {kContainer}},
    {"ssh.enabled", {"true", R"({"ssh":{"sssdConfRef":{"name":"keys","key":"a"}}})"}},
    {"ssh.extraSshdConfig", {"\"X yes\"", kSsh}},
    {"ssh.sssdConfRef.key", {"\"b\"", kSsh}},
    {"ssh.sssdConfRef.name", {"\"other\"", kSsh}},
    {"updateStrategy.rollingUpdate.maxUnavailable", {"2"}},
    {"updateStrategy.scheduledUpdate.duration", {"\"2h\"", kScheduled}},
    {"updateStrategy.scheduledUpdate.flags", {R"(["DAILY"])", kScheduled}},
    {"updateStrategy.scheduledUpdate.startTime", {"\"2031-01-01T00:00:00Z\"", kScheduled}},
    {"updateStrategy.type", {"\"OnDelete\""}},
    {"volumeClaimTemplates", {R"([{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"]}}])"}},
    {"workloadDisruptionProtection", {"false"}},
};

const Samples kAccounting = {
    {"external", {"true", R"({"externalConfig":{"host":"h","port":7000}})"}},
    {"externalConfig.host", {"\"other\"", kExternal}},
    {"externalConfig.port", {"7001", kExternal}},
    {"extraConf", {"\"PurgeJobAfter=12months\""}},
    {"jwksKeyRef.key", {"\"b\"", kJwks}},
    {"jwksKeyRef.name", {"\"other\"", kJwks}},
    {"slurmKeyRef.key", {"\"b\""}},
    {"slurmKeyRef.name", {"\"other\""}},
    {"slurmdbd", {kContainer}},
    {"storageConfig.database", {"\"other\""}},
    {"storageConfig.host", {"\"other\""}},
    {"storageConfig.passwordKeyRef.key", {"\"b\""}},
    {"storageConfig.passwordKeyRef.name", {"\"other\""}},
    {"storageConfig.port", {"3307"}},
    {"storageConfig.username", {"\"other\""}},
};

const Samples kLoginSet = {
    {"controllerRef.name", {"\"other\""}},
    {"extraSshdConfig", {"\"X yes\""}},
    {"initconf", {kContainer}},
    {"login", {kContainer}},
    {"replicas", {"3"}},
    {"rootSshAuthorizedKeys", {"\"ssh-ed25519 AAAA root\""}},
    {"sssdConfRef.key", {"\"b\""}},
    {"sssdConfRef.name", {"\"other\""}},
    {"strategy.rollingUpdate.maxSurge", {"2"}},
    {"strategy.rollingUpdate.maxUnavailable", {"1"}},
    {"strategy.type", {"\"Recreate\""}},
};

const Samples kToken = {
    {"lifetime", {"\"1h\""}},     {"refresh", {"false"}},
    {"secretRef.key", {"\"b\""}}, {"secretRef.name", {"\"other-secret\""}},
    {"username", {"\"bob\""}},
};

const Samples kRestApi = {
    {"controllerRef.name", {"\"other\""}},
    {"replicas", {"3"}},
    {"slurmrestd", {kContainer}},
};

// Selectors of keys have had it in the peer, too, and their page says that it does nothing.
constexpr std::string_view kNeverHadAnEffect = ".optional";
// A changed configuration reaches slurmctld as it runs, whatever they say; a sidecar of an older release stays a while.
constexpr std::string_view kForTheSidecar[] = {"inplaceReconfigure", "reconfigure"};

// What they do takes more than this world has: nodeset/claims_test.cc, pins_test.cc, daemon_set_test.cc and history_test.cc
// try them.
constexpr std::string_view kTriedElsewhere[] = {"persistentVolumeClaimRetentionPolicy.whenDeleted",
                                                "persistentVolumeClaimRetentionPolicy.whenScaled", "pinToNode",
                                                "pruneSlurmNodeRecords", "revisionHistoryLimit"};

bool IsExcepted(std::string_view field) {
  return field.ends_with(kNeverHadAnEffect) || std::ranges::find(kForTheSidecar, field) != std::end(kForTheSidecar) ||
         std::ranges::find(kTriedElsewhere, field) != std::end(kTriedElsewhere);
}

void AddLeaves(const json::Type& type, const std::string& path, std::vector<std::string>& leaves) {
  if (type.kind == json::Kind::kOptional) return AddLeaves(*type.element, path, leaves);
  if (type.kind != json::Kind::kObject) return leaves.push_back(path);
  for (const json::Member& member : type.schema().members())
    AddLeaves(member.type(), path + (path.empty() ? "" : ".") + member.name(), leaves);
}

class FieldsTest : public ::testing::Test {
 protected:
  FieldsTest() {
    world.Add<Node>();
    world.Secret("keys", {"a", "b"}, "keys");
    world.Secret("other", {"a", "b"}, "other");
    world.Secret("w-ssh-host-keys", {kHostKeyFiles.begin(), kHostKeyFiles.end()});
    world.Secret("login-ssh-host-keys", {kHostKeyFiles.begin(), kHostKeyFiles.end()});
    for (const char* fine : {"host keys slurm/w-ssh-host-keys", "host keys slurm/login-ssh-host-keys",
                             "sssd.conf slurm/keys a", "sssd.conf slurm/keys b", "sssd.conf slurm/other a"})
      world.Answer(fine, std::make_shared<const std::string>());
    world.Files("files", {"10-a.sh"});
    for (const char* jwks : {"jwks a", "jwks b", "other a"})
      world.Answer("jwks slurm/" + std::string(jwks), std::make_shared<const std::string>());
    world.Answer("claim slurm/c",
                 std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"uid", {"ReadWriteMany"}}));
    world.Absent("Slurm reservation slurm/main/SlurmOperatorMaint-w");
    api::Accounting accounting{.metadata = {.name = "db"}};
    accounting.spec.external = true;
    accounting.spec.external_config = {"db.example.com", 7819};
    world.Put(accounting);
    spec["Controller"] = R"({"slurmKeyRef":{"name":"keys","key":"a"},"jwtKeyRef":{"name":"keys","key":"a"}})";
    spec["NodeSet"] = R"({"controllerRef":{"name":"main"},"replicas":2})";
    spec["RestApi"] = R"({"controllerRef":{"name":"main"}})";
    spec["Accounting"] = R"({"slurmKeyRef":{"name":"keys","key":"a"},"jwtKeyRef":{"name":"keys","key":"a"},
        "storageConfig":{"host":"mariadb","username":"slurm","passwordKeyRef":{"name":"keys","key":"a"}}})";
    spec["LoginSet"] = R"({"controllerRef":{"name":"main"},"sssdConfRef":{"name":"keys","key":"a"}})";
    spec["Token"] = R"({"jwtKeyRef":{"name":"keys","key":"a"},"username":"alice"})";
  }

  template <class T>
  T Made(const std::string& name) {
    T object;
    object.metadata = {.name = name, .namespace_ = "slurm", .generation = 1};
    const auto decoded = json::Decode<decltype(object.spec)>(spec.at(std::string(T::kResource.kind)));
    EXPECT_TRUE(decoded) << spec.at(std::string(T::kResource.kind)) << decoded.error().message();
    if (decoded) object.spec = *decoded;
    return object;
  }

  // Its slurmdbd.conf is there, as it is wanted, and made from a password that is another one in each place.
  void PutAccounting() {
    auto accounting = Made<api::Accounting>("acct");
    world.Put(accounting);
    accounting.spec = api::WithDefaults(std::move(accounting.spec));
    if (*accounting.spec.external) return;
    const auto conf = accounting::MakeSlurmdbdConf(accounting);
    ASSERT_TRUE(conf) << conf.error().message();
    const api::SecretKeySelector& password = accounting.spec.storage_config->password_key_ref;
    const api::SecretKeySelector& salt = *accounting.spec.slurm_key_ref;
    const std::string digest = password.name + password.key;
    const accounting::ConfState question({"slurm", AccountingName("acct")}, {"slurm", password.name}, password.key,
                                         {"slurm", salt.name}, salt.key);
    world.Answer(question.id(), std::make_shared<const accounting::ConfState::Value>(accounting::ConfState::Value{
                                    .password_digest = digest,
                                    .password_wrong = {},
                                    .present = true,
                                    .controller_uid = "uid-acct",
                                    .made_from = Sha256Hex(conf->before + "\n" + conf->after + "\n" + digest)}));
  }

  // Its token is about to end.
  void PutToken() {
    const auto token = Made<api::Token>("token");
    world.Put(token);
    const api::SecretKeySelector key = *api::JwtKey(token.spec);
    const api::SecretKeySelector secret = token.spec.secret_ref.value_or(api::SecretKeySelector());
    const token::IssuedToken question({"slurm", secret.name.empty() ? "token-jwt-" + token.spec.username : secret.name},
                                      secret.key.empty() ? "SLURM_JWT" : secret.key, {"slurm", key.name}, key.key);
    token::IssuedToken::Value issued{
        .uid = "uid-secret", .controller_uid = "uid-token", .key_uid = "uid-key", .key_bytes = 64};
    issued.claims = slurm::TokenClaims{.user = "alice", .issued_at = world.now - 14min, .expires_at = world.now + 1min};
    world.Answer(question.id(), std::make_shared<const token::IssuedToken::Value>(issued));
  }

  // Everything that is wanted and said for the specs as they are.
  std::string Everything() {
    auto set = Made<api::NodeSet>("w");
    set.metadata.finalizers = {std::string(kFinalizerDrain)};
    if (nodeset::IsScheduled(set.spec)) set.metadata.finalizers.emplace_back(kFinalizerReservation);
    world.Put(Made<api::Controller>("main"));
    world.Put(Made<api::RestApi>("main"));
    world.Put(Service{
        .metadata = {.name = "main-restapi",
                     .owner_references = {{.kind = "RestApi", .name = "main", .uid = "uid-main", .controller = true}}},
        .spec = {.type = "ClusterIP",
                 .selector = {{"app.kubernetes.io/name", "slurmrestd"}, {"app.kubernetes.io/instance", "main"}}}});
    world.Put(Made<api::LoginSet>("login"));
    PutAccounting();
    PutToken();
    world.Put(set);
    Pod pod;
    pod.metadata = {.name = "w-0",
                    .owner_references = {{.kind = "NodeSet", .name = "w", .uid = "uid-w", .controller = true}}};
    pod.metadata.labels = {{std::string(kLabelPodHostname), "w-0"}, {std::string(kLabelRevision), "older"}};
    pod.spec.node_name = "k0";
    pod.status.phase = "Running";
    pod.status.conditions = {{.type = "Ready", .status = "True", .last_transition_time = world.now - 1s}};
    world.Put(pod);
    slurm::Node node{.name = "w-0"};
    node.state.Add(slurm::NodeFlag::kAllocated);
    world.Nodes("slurm/main", {node});
    ConfigMap published{.metadata = {.name = "main-config"}};
    published.data.slurm_conf = "ClusterName=x\n";
    world.Put(published);
    std::string all;
    for (const auto& [decide, name] : {std::pair(&controller::Decide, "main"), std::pair(&restapi::Decide, "main"),
                                       std::pair(&nodeset::Decide, "w"), std::pair(&accounting::Decide, "acct"),
                                       std::pair(&loginset::Decide, "login"), std::pair(&token::Decide, "token")}) {
      const plan::Plan plan = world.Decide(decide, name);
      for (const plan::Child& child : plan.children) all += child.body + "\n";
      for (const plan::Action& action : plan.actions) {
        all += std::string(action.effect->verb()) + " " + action.effect->target() + " " +
               std::to_string(action.effect->content()) + "\n";
      }
      all += plan.status.value_or("no status") +
             (plan.slurm ? plan.slurm->server + plan.slurm->token_secret.name + plan.slurm->token_key : "") + "\n";
    }
    return all;
  }

  template <class T>
  void EachFieldMatters(Samples samples, const std::vector<const Samples*>& more) {
    for (const Samples* others : more) samples.insert(others->begin(), others->end());
    std::vector<std::string> leaves;
    AddLeaves(json::kType<decltype(T::spec)>, "", leaves);
    EXPECT_GT(leaves.size(), 8u);
    for (const std::string& field : leaves) {
      if (IsExcepted(field)) continue;
      const auto sample = samples.find(field);
      if (sample == samples.end()) {
        ADD_FAILURE() << T::kResource.kind << " spec." << field << " has no sample here: does it do anything?";
        continue;
      }
      EXPECT_TRUE(Matters<T>(field, sample->second))
          << T::kResource.kind << " spec." << field
          << " changes nothing and nothing says so: let it, or give it a sentence in render/unheeded.cc";
    }
  }

  // Also that the plan is the same one when nothing has changed: else each field would seem to matter.
  template <class T>
  bool Matters(const std::string& field, const Sample& sample) {
    std::string& text = spec.at(std::string(T::kResource.kind));
    const std::string plain = text;
    json::Value value = *json::Parse(plain);
    json::ApplyMergePatch(value, *json::Parse(sample.with));
    text = json::Serialize(value);
    const std::string before = Everything();
    EXPECT_EQ(Everything(), before) << field;
    std::string nested = sample.value;
    std::vector<std::string> steps;
    for (size_t at = 0; at != std::string::npos;) {
      const size_t dot = field.find('.', at);
      steps.push_back(field.substr(at, dot - at));
      at = dot == std::string::npos ? dot : dot + 1;
    }
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) nested = "{\"" + *step + "\":" + nested + "}";
    json::ApplyMergePatch(value, *json::Parse(nested));
    text = json::Serialize(value);
    const bool said = IsSaid(field, api::WithDefaults(Made<T>("x").spec));
    const bool matters = said || Everything() != before;
    text = plain;
    return matters;
  }

  template <class Spec>
  static bool IsSaid(const std::string& field, const Spec& spec) {
    if constexpr (requires { Unheeded(spec); }) {
      return std::ranges::any_of(Unheeded(spec), [&](const auto& row) {
        const bool below = field == row.field || field.starts_with(std::string(row.field) + ".");
        return below && row.asked(spec);
      });
    }
    return false;
  }
  static auto Unheeded(const api::ControllerSpec&) { return controller::kUnheeded; }
  static auto Unheeded(const api::NodeSetSpec&) { return nodeset::kUnheeded; }

  test::TestWorld world;
  std::map<std::string, std::string> spec;  // by kind
};

// pruneSlurmNodeRecords, rollingUpdate.maxUnavailable and others were taken without a word, and did nothing.
TEST_F(FieldsTest, EachOfAControllerMattersOrIsAnswered) {
  EachFieldMatters<api::Controller>(kController, {&kJwtKey, &kService, &kTemplate});
}
TEST_F(FieldsTest, EachOfANodeSetMattersOrIsAnswered) { EachFieldMatters<api::NodeSet>(kNodeSet, {&kTemplate}); }
TEST_F(FieldsTest, EachOfARestApiMattersOrIsAnswered) {
  EachFieldMatters<api::RestApi>(kRestApi, {&kService, &kTemplate});
}
TEST_F(FieldsTest, EachOfAnAccountingMattersOrIsAnswered) {
  EachFieldMatters<api::Accounting>(kAccounting, {&kJwtKey, &kService, &kTemplate});
}
TEST_F(FieldsTest, EachOfALoginSetMattersOrIsAnswered) {
  EachFieldMatters<api::LoginSet>(kLoginSet, {&kService, &kTemplate});
}
TEST_F(FieldsTest, EachOfATokenMattersOrIsAnswered) { EachFieldMatters<api::Token>(kToken, {&kJwtKey}); }

// What an external slurmctld cannot be told from here was taken all the same.
TEST_F(FieldsTest, EachOfAnExternalControllerMattersOrIsAnswered) {
  spec["Controller"] = R"({"external":true,"externalConfig":{"host":"h","port":7000},
      "slurmKeyRef":{"name":"keys","key":"a"},"jwtKeyRef":{"name":"keys","key":"a"}})";
  Samples samples = kController;
  samples["external"] = {"false"};
  EachFieldMatters<api::Controller>(samples, {&kJwtKey, &kService, &kTemplate});
}

}  // namespace
}  // namespace capstan::op
