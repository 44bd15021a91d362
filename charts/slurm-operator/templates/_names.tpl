{{/* Names, labels and the image. */}}

{{- define "slurm-operator.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{-   $name = .Values.fullnameOverride -}}
{{- else if not (contains $chart .Release.Name) -}}
{{-   $name = printf "%s-%s" .Release.Name $chart -}}
{{- end -}}
{{- $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "slurm-operator.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{/* Nothing that changes with a version may stand here: a Deployment's selector is immutable. */}}
{{- define "slurm-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "slurm-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/part-of: slurm-operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "slurm-operator.selectorLabels" . }}
{{- end -}}

{{- define "slurm-operator.serviceAccountName" -}}
{{- .Values.operator.serviceAccount.name | default (.Values.operator.serviceAccount.create | ternary (include "slurm-operator.fullname" .) "default") -}}
{{- end -}}

{{- define "slurm-operator.image" -}}
{{- $image := .Values.operator.image -}}
{{- if kindIs "string" $image -}}
{{-   $image | required "operator.image: an image is required." -}}
{{- else -}}
{{-   $parts := $image | default dict -}}
{{-   $repository := $parts.repository | default (printf "%s/capstan" (.Values.imagePrefix | trimSuffix "/")) -}}
{{-   if $parts.digest -}}
{{-     printf "%s@%s" $repository $parts.digest -}}
{{-   else -}}
{{-     $tag := $parts.tag | default .Chart.AppVersion -}}
{{-     printf "%s:%s" $repository (kindIs "string" $tag | ternary $tag (toJson $tag)) -}}
{{-   end -}}
{{- end -}}
{{- end -}}

{{/* The port of /metrics, 0 for none. */}}
{{- define "slurm-operator.metricsPort" -}}
{{- if and .Values.operator.metricsSecure (eq (int .Values.operator.metricsPort) 0) -}}
{{-   fail "operator.metricsSecure: there are no metrics to secure while operator.metricsPort is 0; set a port, or leave it false." -}}
{{- end -}}
{{- int .Values.operator.metricsPort -}}
{{- end -}}
