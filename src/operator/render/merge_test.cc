#include "operator/render/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/names.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"

namespace capstan::op::render {
namespace {

using ::testing::HasSubstr;

std::string Text(const Result<JsonObject>& object) {
  return object ? json::SerializeCanonical(Json(*object)) : object.error().message();
}

JsonObject Parsed(const char* text) { return json::Parse(text).value().as_object(); }

TEST(MergeContainer, UserArgumentsFollowOurs) {
  EXPECT_EQ(Text(MergeContainer(Parsed(R"({"name":"slurmd","args":["-Z"]})"),
                                {R"({"args":["-v"],"command":["x"],"name":"y"})"}, "")),
            R"({"args":["-Z","-v"],"command":["x"],"name":"slurmd"})");
}

TEST(MergeContainer, FalseZeroAndEmptyAreHonoured) {
  EXPECT_EQ(Text(MergeContainer(Parsed(R"({"securityContext":{"privileged":true,"runAsUser":401},"workingDir":"/x"})"),
                                {R"({"securityContext":{"privileged":false,"runAsUser":0},"workingDir":""})"}, "")),
            R"({"securityContext":{"privileged":false,"runAsUser":0},"workingDir":""})");
}

TEST(MergeContainer, NullRemovesWhatWeSet) {
  EXPECT_EQ(Text(MergeContainer(Parsed(R"({"lifecycle":{"preStop":{}},"name":"a"})"), {R"({"lifecycle":null})"}, "")),
            R"({"name":"a"})");
}

TEST(MergeContainer, ProbeHandlerReplacesAndThresholdsKeep) {
  const JsonObject base{{"livenessProbe", Patient(HttpProbe("/livez", "slurmd"))}};
  EXPECT_EQ(
      Text(MergeContainer(base, {R"({"livenessProbe":{"failureThreshold":9}})"}, "")),
      R"({"livenessProbe":{"failureThreshold":9,"httpGet":{"path":"/livez","port":"slurmd"},"periodSeconds":10}})");
  EXPECT_EQ(Text(MergeContainer(base, {R"({"livenessProbe":{"exec":{"command":["true"]}}})"}, "")),
            R"({"livenessProbe":{"exec":{"command":["true"]},"failureThreshold":6,"periodSeconds":10}})");
}

TEST(MergeContainer, BadJsonNamesTheField) {
  EXPECT_THAT(Text(MergeContainer({}, {"[1]"}, "spec.slurmd")), HasSubstr("spec.slurmd"));
}

TEST(MergePodSpec, OurTolerationsAndSearchesStay) {
  EXPECT_EQ(Text(MergePodSpec(Parsed(R"({"tolerations":[{"key":"ours"}],"dnsConfig":{"searches":["a"]}})"),
                              {R"({"tolerations":[{"key":"mine"}],"dnsConfig":{"searches":["b"]}})"}, "")),
            R"({"dnsConfig":{"searches":["a","b"]},"tolerations":[{"key":"ours"},{"key":"mine"}]})");
}

TEST(MergePodSpec, ContainersAreJoinedOursFirst) {
  EXPECT_EQ(
      Text(MergePodSpec(Parsed(R"({"containers":[{"name":"slurmd"}]})"), {R"({"containers":[{"name":"x"}]})"}, "")),
      R"({"containers":[{"name":"slurmd"},{"name":"x"}]})");
}

TEST(MergeService, AddsOurPortAndSelectorAndDropsExternalIps) {
  EXPECT_EQ(
      Text(MergeService(
          {R"({"type":"NodePort","externalIPs":["192.0.2.1"],"ports":[{"name":"x","port":1}],"selector":{"a":"b"}})"},
          {{"slurmctld", 6817, 30817, "slurmctld"}}, {{"a", "c"}}, "spec.service.spec")),
      R"({"ports":[{"name":"x","port":1},{"name":"slurmctld","nodePort":30817,"port":6817,"protocol":"TCP",)"
      R"("targetPort":"slurmctld"}],"selector":{"a":"c"},"type":"NodePort"})");
}

TEST(MergeService, RefusesPortsThatCollide) {
  EXPECT_EQ(Text(MergeService({R"({"ports":[{"name":"x","port":6817}]})"}, {{"slurmctld", 6817, 0, "slurmctld"}}, {},
                              "spec.service.spec")),
            "spec.service.spec.ports: the number 6817 is taken by another port of this Service");
}

// --- Metadata --------------------------------------------------------------------------------------------------------

TEST(Metadata, ClientsBookkeepingIsNotInherited) {
  json::ObjectMeta meta;
  meta.annotations = {{"kubectl.kubernetes.io/last-applied-configuration", "{}"},
                      {"meta.helm.sh/release-name", "r"},
                      {"argocd.argoproj.io/tracking-id", "x"},
                      {"capstan.dev/generate-keys", "true"},
                      {"capstan.dev/force-delete", "true"},
                      {"capstan.dev/topology", "dc/spine"},
                      {"capstan.dev/something-new", "true"},
                      {"capstan.dev/login-drain-cap", "1h"},
                      {"capstan.dev/embedded-database", "2Gi"},
                      {"nodeset.slinky.slurm.net/force-delete", "true"},
                      {"mine", "1"}};
  meta.labels = {{"helm.sh/chart", "slurm-1"}, {"app.kubernetes.io/version", "26.05"}, {"team", "hpc"}};
  EXPECT_EQ(Inherited(meta).annotations, (StringMap{{"mine", "1"}}));
  EXPECT_EQ(Inherited(meta).labels, meta.labels);
  EXPECT_EQ(InheritedByPod(meta).labels, (StringMap{{"team", "hpc"}})) << "an upgrade of the chart would restart pods";
}

TEST(Metadata, WhatIsAddedLaterWins) {
  Metadata metadata{{{"a", "1"}}, {}};
  metadata.Add({{"a", "2"}}, {{"b", "3"}});
  EXPECT_EQ(metadata, (Metadata{{{"a", "2"}}, {{"b", "3"}}}));
}

// The operator would have sent its token to whatever host it names.
TEST(MergeService, RefusesToLeadElsewhere) {
  for (const char* text : {R"({"type":"ExternalName"})", R"({"externalName":"example.com"})"}) {
    const auto merged = MergeService({.text = text}, {{"http", 6820, 0, "http"}}, {}, "spec.service.spec");
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().message(),
              "spec.service.spec: a Service of type ExternalName has no pods of ours behind it");
  }
}

}  // namespace
}  // namespace capstan::op::render
