#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/kinds.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/tables.h"
#include "api/token.h"
#include "json/codec.h"
#include "json/openapi.h"
#include "source_dir.h"

namespace capstan::api {
namespace {

std::string ReadSource(const std::string& path) {
  std::ifstream file(testing::SourceDir() + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// --- Generated files -------------------------------------------------------------------------------------------------

TEST(GeneratedFiles, DefinitionsAreThoseOfTheTables) {
  for (const KindInfo& kind : Kinds()) {
    const std::string path = "charts/slurm-operator-crds/templates/" + CrdFileName(kind);
    EXPECT_EQ(ReadSource(path), CrdYaml(kind)) << "run: capstan crds --dir charts/slurm-operator-crds/templates";
    EXPECT_EQ(CrdYaml(kind).find("{{"), std::string::npos) << "Helm would take it for a template";
  }
}

TEST(GeneratedFiles, EveryFieldIsExplained) {
  for (const KindInfo& kind : Kinds()) {
    for (const json::ReferenceRow& row : json::ReferenceRows(kind.schema(), std::string(kind.kind))) {
      if (row.path.ends_with(".metadata") && row.doc.empty()) continue;  // the object's own
      EXPECT_FALSE(row.doc.empty()) << row.path;
      EXPECT_TRUE(row.doc.empty() || row.doc.ends_with('.')) << row.path;
    }
  }
}

// It is written by hand, and a kind that it does not name could run a pod of any sort.
TEST(TemplatePolicy, NamesEachKindThatTakesAPodsTemplate) {
  const std::string policy = ReadSource("charts/slurm-operator/templates/template-policy.yaml");
  std::string named;
  for (size_t at = 0; (at = policy.find("resources: [", at)) != std::string::npos; ++at)
    named += policy.substr(at, policy.find(']', at) - at);
  for (const KindInfo& kind : Kinds()) {
    const bool has_template =
        std::ranges::any_of(json::ReferenceRows(kind.schema(), std::string(kind.kind)),
                            [](const json::ReferenceRow& row) { return row.path.ends_with(".spec.template.spec"); });
    EXPECT_EQ(named.find(std::string(kind.plural)) != std::string::npos, has_template) << kind.kind;
  }
}

TEST(GeneratedFiles, JsonSaysTheSameAsYaml) {
  for (const KindInfo& kind : Kinds()) {
    const Result<json::Value> json = json::Parse(CrdJson(kind));
    ASSERT_TRUE(json);
    EXPECT_EQ(json::FindText(*json, {"spec", "names", "kind"}), kind.kind);
  }
}

// --- Defaults --------------------------------------------------------------------------------------------------------

TEST(Defaults, NodeSetWithNothingGivenIsComplete) {
  const NodeSetSpec spec = WithDefaults(NodeSetSpec());
  EXPECT_EQ(*spec.replicas, 1);
  EXPECT_EQ(*spec.scaling_mode, kScalingStatefulSet);
  EXPECT_EQ(*spec.update_strategy->type, kUpdateRolling);
  EXPECT_EQ(*spec.update_strategy->rolling_update->max_unavailable, json::IntOrString("25%"));
  EXPECT_FALSE(spec.update_strategy->scheduled_update);
  EXPECT_EQ(*spec.revision_history_limit, 0);
  EXPECT_EQ(*spec.claim_retention->when_deleted, kRetain);
  EXPECT_EQ(*spec.claim_retention->when_scaled, kRetain);
  EXPECT_EQ(*spec.ordinal_padding, 0);
  EXPECT_FALSE(*spec.pin_to_node);
  EXPECT_TRUE(*spec.workload_disruption_protection);
  EXPECT_EQ(*spec.prune_slurm_node_records, kPruneNever);
  EXPECT_FALSE(*spec.oversubscribe_node);
  EXPECT_FALSE(*spec.ssh->enabled);
  EXPECT_FALSE(*spec.partition->enabled);
}

TEST(Defaults, ControllerWithNothingGivenIsComplete) {
  const ControllerSpec spec = WithDefaults(ControllerSpec());
  EXPECT_FALSE(*spec.external);
  EXPECT_TRUE(*spec.persistence->enabled);
  EXPECT_EQ(spec.Replicas(), 1);
  EXPECT_FALSE(*spec.metrics->enabled);
  EXPECT_FALSE(*spec.metrics->service_monitor->enabled);
  EXPECT_FALSE(*spec.inplace_reconfigure);
  EXPECT_FALSE(spec.slurm_key_ref) << "a reference is never made up";
  EXPECT_FALSE(spec.external_config);
}

TEST(Defaults, HonourFalseZeroAndEmpty) {
  const Result<NodeSet> set =
      json::Decode<NodeSet>(R"({"spec":{"replicas":0,"workloadDisruptionProtection":false,"extraConf":""}})");
  ASSERT_TRUE(set);
  const NodeSetSpec spec = WithDefaults(set->spec);
  EXPECT_EQ(*spec.replicas, 0);
  EXPECT_FALSE(*spec.workload_disruption_protection);
}

TEST(Defaults, OthersHaveTheirs) {
  EXPECT_EQ(*WithDefaults(RestApiSpec()).replicas, 1);
  EXPECT_EQ(*WithDefaults(LoginSetSpec()).replicas, 1);
  EXPECT_TRUE(*WithDefaults(TokenSpec()).refresh);
  AccountingSpec accounting;
  accounting.storage_config.emplace();
  accounting = WithDefaults(accounting);
  EXPECT_EQ(*accounting.storage_config->port, 3306);
  EXPECT_EQ(*accounting.storage_config->database, "slurm_acct_db");
  EXPECT_FALSE(WithDefaults(AccountingSpec()).storage_config);
}

TEST(Defaults, HighAvailabilityCountsTheFirst) {
  const Result<Controller> controller = json::Decode<Controller>(R"({"spec":{"ha":{"enabled":true,"backups":2}}})");
  ASSERT_TRUE(controller);
  EXPECT_EQ(WithDefaults(controller->spec).Replicas(), 3);
  ControllerSpec external = controller->spec;
  external.external = true;
  EXPECT_EQ(WithDefaults(external).Replicas(), 1);
}

// --- Structs ---------------------------------------------------------------------------------------------------------

TEST(Controller, IsNamedByItsSpecOrItself) {
  const Result<Controller> derived = json::Decode<Controller>(R"({"metadata":{"name":"slurm","namespace":"hpc"}})");
  EXPECT_EQ(derived->ClusterName(), "hpc_slurm");
  const Result<Controller> given =
      json::Decode<Controller>(R"({"metadata":{"name":"slurm","namespace":"hpc"},"spec":{"clusterName":"c"}})");
  EXPECT_EQ(given->ClusterName(), "c");
}

TEST(Controller, ClaimSpecIsWithoutTheSwitches) {
  const Result<Controller> controller = json::Decode<Controller>(
      R"({"spec":{"persistence":{"enabled":true,"existingClaim":"x","accessModes":["ReadWriteOnce"],"storageClassName":"",
         "resources":{"requests":{"storage":"4Gi"}}}}})");
  ASSERT_TRUE(controller);
  EXPECT_EQ(controller->spec.persistence->ClaimSpec(),
            R"({"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"4Gi"}},"storageClassName":""})");
}

TEST(JwtKey, PrefersThePresentName) {
  TokenSpec spec;
  EXPECT_EQ(JwtKey(spec), nullptr);
  spec.jwt_hs256_key_ref = SecretKeySelector{.name = "old", .key = "k", .optional = {}};
  EXPECT_EQ(JwtKey(spec)->name, "old");
  spec.jwt_key_ref = SecretKeySelector{.name = "new", .key = "k", .optional = {}};
  EXPECT_EQ(JwtKey(spec)->name, "new");
}

TEST(NodeSetStatus, WritesZeroCountsButNoEmptyText) {
  const std::string text = json::Encode(NodeSetStatus());
  EXPECT_NE(text.find("\"replicas\":0"), std::string::npos);
  EXPECT_NE(text.find("\"slurmDrain\":0"), std::string::npos);
  EXPECT_EQ(text.find("selector"), std::string::npos);
  EXPECT_EQ(text.find("conditions"), std::string::npos);
}

TEST(Kinds, KeepTemplatesAsTheyWereWritten) {
  const Result<NodeSet> set = json::Decode<NodeSet>(
      R"({"spec":{"slurmd":{"image":"x","zzz":[1, 2]},"template":{"spec":{"hostname":"gpu-"},"metadata":{"labels":null}}}})");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->spec.slurmd.text, R"({"image":"x","zzz":[1, 2]})");
  EXPECT_EQ(set->spec.pod_template.spec.text, R"({"hostname":"gpu-"})");
}

TEST(Duration, ReadsWhatGoWrites) {
  const struct {
    const char* text;
    Duration duration;
  } good[] = {{"15m", 15min}, {"1h30m0s", 90min}, {"1.5h", 90min},       {"250ms", 250ms},
              {"0", 0s},      {"-1s", -1s},       {"1h0.5s", 3600500ms}, {"1\xC2\xB5s", 1us}};
  for (const auto& c : good) EXPECT_EQ(ParseGoDuration(c.text), c.duration) << c.text;
  for (const char* text : {"", "1", "1 m", "m", "1d", "1.2.3s", "-", ".s", "999999999h"}) {
    EXPECT_FALSE(ParseGoDuration(text)) << text;
  }
}

TEST(Maxima, CountAsTheMaximumInObjectsThatAreOlder) {
  const auto spec = json::Decode<ControllerSpec>(R"({"ha":{"enabled":true,"backups":2000000000}})");
  EXPECT_EQ(WithDefaults(*spec).Replicas(), 1 + kMostBackups);
}

}  // namespace
}  // namespace capstan::api
