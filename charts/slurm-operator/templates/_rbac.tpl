{{/*
What the operator may do stands in _rules.tpl: the least that its work needs. A key Secret is read by name and created when it is missing, never listed, changed or
deleted. Which names those are only custom resources say, so that its account may get any Secret whose name it knows; operator.namespaces
bounds that.
*/}}

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
