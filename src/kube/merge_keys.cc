#include "kube/merge_keys.h"

namespace capstan::kube {
namespace {

using json::MergeField;
using json::MergeKey;
using json::MergeShape;
using Name = std::string_view;

constexpr MergeKey kName[] = {{"name", ""}};
constexpr MergeKey kIp[] = {{"ip", ""}};
constexpr MergeKey kMountPath[] = {{"mountPath", ""}};
constexpr MergeKey kDevicePath[] = {{"devicePath", ""}};
constexpr MergeKey kContainerPort[] = {{"containerPort", ""}, {"protocol", "TCP"}};
constexpr MergeKey kPort[] = {{"port", ""}, {"protocol", "TCP"}};
constexpr MergeKey kSpread[] = {{"topologyKey", ""}, {"whenUnsatisfiable", "DoNotSchedule"}};
constexpr MergeKey kUid[] = {{"uid", ""}};

// --- Containers ------------------------------------------------------------------------------------------------------

constexpr Name kVariableSources[] = {"value", "valueFrom"};
constexpr Name kVariableKnown[] = {"name", "value", "valueFrom"};
constexpr MergeShape kVariable{.fields = {}, .one_of = kVariableSources, .known = kVariableKnown};

constexpr Name kHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
constexpr Name kProbeKnown[] = {"exec",
                                "httpGet",
                                "tcpSocket",
                                "grpc",
                                "periodSeconds",
                                "timeoutSeconds",
                                "successThreshold",
                                "failureThreshold",
                                "initialDelaySeconds",
                                "terminationGracePeriodSeconds"};
constexpr MergeShape kProbe{.fields = {}, .one_of = kHandlers, .known = kProbeKnown};
constexpr MergeShape kHandler{.fields = {}, .one_of = kHandlers};
constexpr MergeField kLifecycleFields[] = {{.name = "postStart", .shape = &kHandler},
                                           {.name = "preStop", .shape = &kHandler}};
constexpr Name kLifecycleKnown[] = {"postStart", "preStop", "stopSignal"};
constexpr MergeShape kLifecycle{.fields = kLifecycleFields, .known = kLifecycleKnown};

constexpr Name kContainerPortKnown[] = {"name", "hostPort", "containerPort", "protocol", "hostIP"};
constexpr MergeShape kContainerPortShape{.fields = {}, .known = kContainerPortKnown};
constexpr Name kMountKnown[] = {"name",    "readOnly",         "recursiveReadOnly", "mountPath",
                                "subPath", "mountPropagation", "subPathExpr"};
constexpr MergeShape kMount{.fields = {}, .known = kMountKnown};

constexpr MergeField kResourcesFields[] = {{.name = "claims", .keys = kName}};
constexpr Name kResourcesKnown[] = {"limits", "requests", "claims"};
constexpr MergeShape kResources{.fields = kResourcesFields, .known = kResourcesKnown};

constexpr MergeField kContainerFields[] = {
    {.name = "env", .shape = &kVariable, .keys = kName},
    {.name = "ports", .shape = &kContainerPortShape, .keys = kContainerPort},
    {.name = "volumeMounts", .shape = &kMount, .keys = kMountPath},
    {.name = "volumeDevices", .keys = kDevicePath},
    {.name = "resources", .shape = &kResources},
    {.name = "livenessProbe", .shape = &kProbe},
    {.name = "readinessProbe", .shape = &kProbe},
    {.name = "startupProbe", .shape = &kProbe},
    {.name = "lifecycle", .shape = &kLifecycle},
};
constexpr Name kContainerKnown[] = {"name",
                                    "image",
                                    "command",
                                    "args",
                                    "workingDir",
                                    "ports",
                                    "envFrom",
                                    "env",
                                    "resources",
                                    "resizePolicy",
                                    "restartPolicy",
                                    "restartPolicyRules",
                                    "volumeMounts",
                                    "volumeDevices",
                                    "livenessProbe",
                                    "readinessProbe",
                                    "startupProbe",
                                    "lifecycle",
                                    "terminationMessagePath",
                                    "terminationMessagePolicy",
                                    "imagePullPolicy",
                                    "securityContext",
                                    "stdin",
                                    "stdinOnce",
                                    "tty"};
constexpr MergeShape kContainer{.fields = kContainerFields, .known = kContainerKnown};

// --- Pods ------------------------------------------------------------------------------------------------------------

constexpr MergeField kPodTermFields[] = {
    {.name = "requiredDuringSchedulingIgnoredDuringExecution", .append = true},
    {.name = "preferredDuringSchedulingIgnoredDuringExecution", .append = true},
};
constexpr Name kTermsKnown[] = {"requiredDuringSchedulingIgnoredDuringExecution",
                                "preferredDuringSchedulingIgnoredDuringExecution"};
constexpr MergeShape kPodTerms{.fields = kPodTermFields, .known = kTermsKnown};
// Required node terms are alternatives: appending one would weaken the others. They are replaced.
constexpr MergeField kNodeTermFields[] = {{.name = "preferredDuringSchedulingIgnoredDuringExecution", .append = true}};
constexpr MergeShape kNodeTerms{.fields = kNodeTermFields, .known = kTermsKnown};
constexpr MergeField kAffinityFields[] = {{.name = "nodeAffinity", .shape = &kNodeTerms},
                                          {.name = "podAffinity", .shape = &kPodTerms},
                                          {.name = "podAntiAffinity", .shape = &kPodTerms}};
constexpr Name kAffinityKnown[] = {"nodeAffinity", "podAffinity", "podAntiAffinity"};
constexpr MergeShape kAffinity{.fields = kAffinityFields, .known = kAffinityKnown};

constexpr MergeField kDnsFields[] = {
    {.name = "nameservers", .append = true}, {.name = "searches", .append = true}, {.name = "options", .keys = kName}};
constexpr Name kDnsKnown[] = {"nameservers", "searches", "options"};
constexpr MergeShape kDns{.fields = kDnsFields, .known = kDnsKnown};

constexpr MergeField kSecurityFields[] = {{.name = "supplementalGroups", .append = true},
                                          {.name = "sysctls", .keys = kName}};
constexpr MergeShape kSecurity{.fields = kSecurityFields};

constexpr MergeField kPodFields[] = {
    {.name = "containers", .shape = &kContainer, .keys = kName, .base_first = true},
    {.name = "initContainers", .shape = &kContainer, .keys = kName, .base_first = true},
    {.name = "volumes", .keys = kName, .retain_keys = true},
    {.name = "imagePullSecrets", .keys = kName},
    {.name = "hostAliases", .keys = kIp},
    {.name = "topologySpreadConstraints", .keys = kSpread},
    {.name = "resourceClaims", .keys = kName, .retain_keys = true},
    {.name = "schedulingGates", .keys = kName},
    {.name = "resources", .shape = &kResources},
    {.name = "tolerations", .append = true},
    {.name = "affinity", .shape = &kAffinity},
    {.name = "dnsConfig", .shape = &kDns},
    {.name = "securityContext", .shape = &kSecurity},
};
constexpr Name kPodKnown[] = {"volumes",
                              "initContainers",
                              "containers",
                              "ephemeralContainers",
                              "restartPolicy",
                              "terminationGracePeriodSeconds",
                              "activeDeadlineSeconds",
                              "dnsPolicy",
                              "nodeSelector",
                              "serviceAccountName",
                              "serviceAccount",
                              "automountServiceAccountToken",
                              "nodeName",
                              "hostNetwork",
                              "hostPID",
                              "hostIPC",
                              "shareProcessNamespace",
                              "securityContext",
                              "imagePullSecrets",
                              "hostname",
                              "subdomain",
                              "affinity",
                              "schedulerName",
                              "tolerations",
                              "hostAliases",
                              "priorityClassName",
                              "priority",
                              "dnsConfig",
                              "readinessGates",
                              "runtimeClassName",
                              "enableServiceLinks",
                              "preemptionPolicy",
                              "overhead",
                              "topologySpreadConstraints",
                              "setHostnameAsFQDN",
                              "os",
                              "hostUsers",
                              "schedulingGates",
                              "resourceClaims",
                              "resources",
                              "hostnameOverride",
                              "workloadRef"};

constexpr MergeField kMetadataFields[] = {{.name = "finalizers", .append = true},
                                          {.name = "ownerReferences", .keys = kUid}};
constexpr MergeShape kMetadata{.fields = kMetadataFields};

// --- Others ----------------------------------------------------------------------------------------------------------

constexpr Name kServicePortKnown[] = {"name", "protocol", "appProtocol", "port", "targetPort", "nodePort"};
constexpr MergeShape kServicePort{.fields = {}, .known = kServicePortKnown};
constexpr MergeField kServiceFields[] = {{.name = "ports", .shape = &kServicePort, .keys = kPort}};
constexpr Name kServiceKnown[] = {"ports",
                                  "selector",
                                  "clusterIP",
                                  "clusterIPs",
                                  "type",
                                  "externalIPs",
                                  "sessionAffinity",
                                  "loadBalancerIP",
                                  "loadBalancerSourceRanges",
                                  "externalName",
                                  "externalTrafficPolicy",
                                  "healthCheckNodePort",
                                  "publishNotReadyAddresses",
                                  "sessionAffinityConfig",
                                  "ipFamilies",
                                  "ipFamilyPolicy",
                                  "allocateLoadBalancerNodePorts",
                                  "loadBalancerClass",
                                  "internalTrafficPolicy",
                                  "trafficDistribution"};
constexpr Name kClaimKnown[] = {"accessModes", "selector",      "resources",
                                "volumeName",  "volumeMode",    "storageClassName",
                                "dataSource",  "dataSourceRef", "volumeAttributesClassName"};

}  // namespace

const MergeShape kContainerShape = kContainer;
const MergeShape kPodSpecShape{.fields = kPodFields, .known = kPodKnown};
const MergeShape kServiceSpecShape{.fields = kServiceFields, .known = kServiceKnown};
const MergeShape kPersistentVolumeClaimSpecShape{.fields = {}, .known = kClaimKnown};

namespace {
constexpr MergeShape kPod{.fields = kPodFields, .known = kPodKnown};
constexpr MergeField kTemplateFields[] = {{.name = "metadata", .shape = &kMetadata}, {.name = "spec", .shape = &kPod}};
constexpr Name kTemplateKnown[] = {"metadata", "spec"};
constexpr Name kStrategyKnown[] = {"type", "rollingUpdate"};
}  // namespace

const MergeShape kPodTemplateShape{.fields = kTemplateFields, .known = kTemplateKnown};
const MergeShape kDeploymentStrategyShape{.fields = {}, .known = kStrategyKnown};

}  // namespace capstan::kube
