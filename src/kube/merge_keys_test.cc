#include "kube/merge_keys.h"

#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

json::Value J(std::string_view text) {
  Result<json::Value> value = json::Parse(text);
  if (!value) ADD_FAILURE() << text << ": " << value.error().message();
  return value.value_or(json::Value());
}

struct MergeCase {
  const json::MergeShape& shape;
  const char* base;
  const char* overlay;
  const char* merged;
};

TEST(MergeKeys, EveryListOfTheCoreKindsMergesByItsRule) {
  const MergeCase cases[] = {
      {kPodSpecShape, R"({"containers":[{"name":"slurmd","image":"a","env":[{"name":"A","value":"1"}]}]})",
       R"({"containers":[{"name":"side"},{"name":"slurmd","env":[{"name":"B","value":""}]}]})",
       R"({"containers":[{"name":"slurmd","image":"a","env":[{"name":"B","value":""},{"name":"A","value":"1"}]},{"name":"side"}]})"},
      {kPodSpecShape, R"({"initContainers":[{"name":"a"}]})", R"({"initContainers":[{"name":"b"}]})",
       R"({"initContainers":[{"name":"a"},{"name":"b"}]})"},
      {kPodSpecShape, R"({"volumes":[{"name":"v","emptyDir":{}}]})",
       R"({"volumes":[{"name":"v","configMap":{"name":"c"}}]})",
       R"({"volumes":[{"name":"v","configMap":{"name":"c"}}]})"},
      {kPodSpecShape, R"({"tolerations":[{"key":"worker"}]})", R"({"tolerations":[{"key":"mine"},{"key":"worker"}]})",
       R"({"tolerations":[{"key":"worker"},{"key":"mine"}]})"},
      {kPodSpecShape, R"({"tolerations":[{"key":"worker"}]})",
       R"({"tolerations":[{"$patch":"replace"},{"key":"mine"}]})", R"({"tolerations":[{"key":"mine"}]})"},
      {kPodSpecShape, R"({"dnsConfig":{"searches":["w.ns.svc"]}})", R"({"dnsConfig":{"searches":["corp"]}})",
       R"({"dnsConfig":{"searches":["w.ns.svc","corp"]}})"},
      {kPodSpecShape,
       R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"}]}}})",
       R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"b"}]}}})",
       R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a"},{"topologyKey":"b"}]}}})"},
      {kPodSpecShape, R"({"hostAliases":[{"ip":"127.0.0.1","hostnames":["a"]}]})",
       R"({"hostAliases":[{"ip":"127.0.0.1","hostnames":["b"]}]})",
       R"({"hostAliases":[{"ip":"127.0.0.1","hostnames":["b"]}]})"},
      {kPodSpecShape, R"({"imagePullSecrets":[{"name":"a"}]})", R"({"imagePullSecrets":[{"name":"b"}]})",
       R"({"imagePullSecrets":[{"name":"b"},{"name":"a"}]})"},
      {kPodSpecShape, R"({"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":1}]})",
       R"({"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","maxSkew":2},{"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]})",
       R"({"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule"},{"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]})"},
      {kPodSpecShape, R"({"securityContext":{"runAsNonRoot":true,"runAsUser":401}})",
       R"({"securityContext":{"runAsNonRoot":false,"runAsUser":0}})",
       R"({"securityContext":{"runAsNonRoot":false,"runAsUser":0}})"},
      {kContainerShape, R"({"readinessProbe":{"httpGet":{"path":"/"},"periodSeconds":5}})",
       R"({"readinessProbe":{"failureThreshold":9}})",
       R"({"readinessProbe":{"httpGet":{"path":"/"},"periodSeconds":5,"failureThreshold":9}})"},
      {kContainerShape, R"({"readinessProbe":{"httpGet":{"path":"/"},"periodSeconds":5}})",
       R"({"readinessProbe":{"tcpSocket":{"port":1}}})",
       R"({"readinessProbe":{"periodSeconds":5,"tcpSocket":{"port":1}}})"},
      {kContainerShape, R"({"readinessProbe":{"httpGet":{}}})", R"({"readinessProbe":null})", "{}"},
      {kContainerShape, R"({"volumeMounts":[{"mountPath":"/a","name":"x"}]})",
       R"({"volumeMounts":[{"mountPath":"/a","name":"y"},{"mountPath":"/b","name":"y"}]})",
       R"({"volumeMounts":[{"mountPath":"/a","name":"y"},{"mountPath":"/b","name":"y"}]})"},
      {kContainerShape, R"({"volumeDevices":[{"devicePath":"/d","name":"x"}]})",
       R"({"volumeDevices":[{"devicePath":"/d","name":"y"}]})",
       R"({"volumeDevices":[{"devicePath":"/d","name":"y"}]})"},
      {kContainerShape, R"({"ports":[{"name":"slurmd","containerPort":6818}]})",
       R"({"ports":[{"containerPort":6818,"hostPort":6818},{"containerPort":6818,"protocol":"UDP"}]})",
       R"({"ports":[{"name":"slurmd","containerPort":6818,"hostPort":6818},{"containerPort":6818,"protocol":"UDP"}]})"},
      {kContainerShape, R"({"command":["a"],"args":["b"]})", R"({"command":["c","d"]})",
       R"({"command":["c","d"],"args":["b"]})"},
      {kServiceSpecShape, R"({"ports":[{"port":80}],"type":"ClusterIP"})",
       R"({"ports":[{"port":80,"nodePort":30000}]})", R"({"ports":[{"port":80,"nodePort":30000}],"type":"ClusterIP"})"},
      {kPodTemplateShape, R"({"metadata":{"labels":{"a":"1"}},"spec":{"hostname":"x"}})",
       R"({"metadata":{"labels":{"a":"","b":"2"}},"spec":{"hostname":""}})",
       R"({"metadata":{"labels":{"a":"","b":"2"}},"spec":{"hostname":""}})"},
      {kPersistentVolumeClaimSpecShape, R"({"accessModes":["ReadWriteOnce"]})", R"({"accessModes":["ReadWriteMany"]})",
       R"({"accessModes":["ReadWriteMany"]})"},
  };
  for (const MergeCase& c : cases) {
    json::Value value = J(c.base);
    const Result<void> done = json::StrategicMerge(value, J(c.overlay), c.shape);
    ASSERT_TRUE(done) << c.overlay << ": " << done.error().message();
    EXPECT_EQ(json::Serialize(value), json::Serialize(J(c.merged))) << c.overlay;
  }
}

TEST(MergeKeys, NamesMisspeltFields) {
  json::Value value = J(R"({"spec":{"nodeSelecter":{},"containers":[{"name":"a","img":"x"},{"name":"a"}]}})");
  EXPECT_EQ(json::Normalize(value, kPodTemplateShape),
            (std::vector<std::string>{"spec.nodeSelecter is not a field that Kubernetes is known to have here",
                                      "spec.containers has name \"a\" twice; the last one is taken"}));
}

}  // namespace
}  // namespace capstan::kube
