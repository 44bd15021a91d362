{{/* What both webhooks have in common. The caBundle is the bridge's to write, or cert-manager's. */}}
{{- define "slurm-bridge.webhook" -}}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: Fail
timeoutSeconds: 5
reinvocationPolicy: IfNeeded
clientConfig:
  service:
    name: {{ include "slurm-bridge.fullname" . }}-admission
    namespace: {{ include "slurm-bridge.namespace" . }}
    path: /mutate--v1-pod
    port: 443
rules:
  - apiGroups: [""]
    apiVersions: [v1]
    resources: [pods]
    operations: [CREATE]
    scope: Namespaced
{{- end -}}

{{/* Label value: the bridge among all of a cluster. The same as the programs make of --namespace and --name. */}}
{{- define "slurm-bridge.bridge" -}}
{{- $bridge := printf "%s.%s" (include "slurm-bridge.namespace" .) (include "slurm-bridge.fullname" .) -}}
{{- if gt (len $bridge) 63 -}}
{{- fail (printf "the name %s of the bridge is longer than 63 characters; choose a shorter fullnameOverride or namespace." $bridge) -}}
{{- end -}}
{{- $bridge -}}
{{- end -}}
