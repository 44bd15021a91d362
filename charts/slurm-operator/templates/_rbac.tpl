{{/*
What the operator may do, the least that its work needs. A key Secret is read by name and created when it is missing, never listed, changed or
deleted. Which names those are only custom resources say, so that its account may get any Secret whose name it knows; operator.namespaces
bounds that.
*/}}
{{- define "slurm-operator.rules" -}}
- apiGroups: [slinky.slurm.net]
  resources: [accountings, controllers, loginsets, nodesets, restapis, tokens]
  verbs: [get, list, watch]
- apiGroups: [slinky.slurm.net]
  resources: [loginsets, nodesets, tokens] # the finalizer of a NodeSet; whose the fields of a status are
  verbs: [patch]
- apiGroups: [slinky.slurm.net]
  resources: [accountings/status, controllers/status, loginsets/status, nodesets/status, restapis/status, tokens/status]
  verbs: [patch]
- apiGroups: [slinky.slurm.net] # children that block their owner's deletion, where the API server checks that
  resources: [controllers/finalizers, nodesets/finalizers, restapis/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods/status] # conditions of a former operator go
  verbs: [patch]
- apiGroups: [""]
  resources: [configmaps, services]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, create]
- apiGroups: [""]
  resources: [persistentvolumeclaims] # never deleted: they hold the state of Slurm
  verbs: [get, create]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

{{/* Nodes have no namespace. */}}
{{- define "slurm-operator.nodeRules" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
{{- end -}}

{{- define "slurm-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "slurm-operator.serviceAccountName" . }}
  namespace: {{ include "slurm-operator.namespace" . }}
{{- end -}}

{{/* The namespaces of operator.namespaces as a JSON list. */}}
{{- define "slurm-operator.namespaces" -}}
{{- $names := list -}}
{{- range splitList "," (.Values.operator.namespaces | default "") -}}
{{-   $names = append $names (trim .) -}}
{{- end -}}
{{- compact $names | uniq | toJson -}}
{{- end -}}
