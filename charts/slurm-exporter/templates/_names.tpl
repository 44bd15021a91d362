{{/* Names and labels. */}}

{{- define "slurm-exporter.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "slurm-exporter.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "slurm-exporter.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "slurm-exporter.selectorLabels" . }}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Nothing that changes with a version may stand here: a Deployment's selector is immutable. */}}
{{- define "slurm-exporter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "slurm-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: exporter
{{- end -}}

{{- define "slurm-exporter.image" -}}
{{- $image := .Values.exporter.image -}}
{{- $repository := $image.repository | default (printf "%s/capstan" (.Values.imagePrefix | trimSuffix "/")) -}}
{{- $tag := $image.tag | default .Chart.AppVersion -}}
{{- printf "%s:%s" $repository (kindIs "string" $tag | ternary $tag (toJson $tag)) -}}
{{- end -}}
