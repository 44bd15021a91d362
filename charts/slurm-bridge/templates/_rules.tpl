{{/* Made by `capstan rights bridge`; do not edit. */}}
{{- define "slurm-bridge.rules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, patch, delete]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [namespaces, nodes]
  verbs: [get, list, watch]
{{- end -}}
