{{/* Names and labels. Everything that has a name gets it here. */}}

{{- define "slurm.fullname" -}}
{{- $chart := .Values.nameOverride | default .Chart.Name -}}
{{- $name := .Release.Name -}}
{{- if .Values.fullnameOverride -}}
{{-   $name = .Values.fullnameOverride -}}
{{- else if not (contains $chart .Release.Name) -}}
{{-   $name = printf "%s-%s" .Release.Name $chart -}}
{{- end -}}
{{- $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "slurm.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "slurm.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/part-of: slurm
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* Metadata of an object: (list ROOT NAME). */}}
{{- define "slurm.metadata" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
namespace: {{ include "slurm.namespace" $root }}
labels:
  {{- include "slurm.labels" $root | nindent 2 }}
{{- end -}}

{{/* The labels by which the pods of the RestApi are found. */}}
{{- define "slurm.restapiSelector" -}}
app.kubernetes.io/name: slurmrestd
app.kubernetes.io/instance: {{ include "slurm.fullname" . }}
{{- end -}}

{{/*
Metadata of a custom resource: (list ROOT NAME METADATA [ANNOTATIONS]). The user's METADATA stands on the resource as well as in its pod template; the
chart's own labels and ANNOTATIONS win.
*/}}
{{- define "slurm.resourceMetadata" -}}
{{- $root := index . 0 -}}
{{- $given := index . 2 | default dict -}}
{{- $labels := dict -}}
{{- include "slurm.mergeInto" (list $labels ($given.labels | default dict)) -}}
{{- include "slurm.mergeInto" (list $labels (include "slurm.labels" $root | fromYaml)) -}}
{{- $annotations := dict -}}
{{- include "slurm.mergeInto" (list $annotations ($given.annotations | default dict)) -}}
{{- if gt (len .) 3 -}}
{{-   include "slurm.mergeInto" (list $annotations (index . 3)) -}}
{{- end -}}
name: {{ index . 1 }}
namespace: {{ include "slurm.namespace" $root }}
labels:
  {{- toYaml $labels | nindent 2 }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The annotation by which the operator, whose own images may begin otherwise, knows those of imagePrefix as Capstan's: (list ROOT METADATA). One that is given stays. */}}
{{- define "slurm.imageAnnotations" -}}
{{- $prefix := (index . 0).Values.imagePrefix | trimSuffix "/" -}}
{{- $given := (index . 1 | default dict).annotations | default dict -}}
{{- or (eq $prefix "capstan") (hasKey $given "capstan.dev/image-prefix") | ternary dict (dict "capstan.dev/image-prefix" $prefix) | toJson -}}
{{- end -}}

{{/*
The name of a Kubernetes object built from a key of the values: (list ROOT KIND KEY). The name is also the value of a label on the pods, and a
label holds 63 characters; the API server would refuse the pods long after the installation said it was done.
*/}}
{{- define "slurm.setName" -}}
{{- $root := index . 0 -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" (index . 2)) -}}
{{-   fail (printf "%s set %s: a name is made of small letters, digits and dashes, with no dash at its ends." (index . 1) (index . 2)) -}}
{{- end -}}
{{- $name := printf "%s-%s-%s" (include "slurm.fullname" $root) (index . 1) (index . 2) -}}
{{- if gt (len $name) 63 -}}
{{-   fail (printf "the name %s is %d characters long and 63 are possible: shorten the key %s or set fullnameOverride." $name (len $name) (index . 2)) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/*
<fullname>, where a StatefulSet is called <fullname> with a suffix: (list ROOT SUFFIX). Its pods carry the label controller-revision-hash, which is
that name with "-" and ten characters.
*/}}
{{- define "slurm.statefulName" -}}
{{- $name := include "slurm.fullname" (index . 0) -}}
{{- $possible := sub 52 (len (index . 1)) | int -}}
{{- if gt (len $name) $possible -}}
{{-   fail (printf "the name %s is %d characters long and %d are possible: choose a shorter release name or set fullnameOverride." $name (len $name) $possible) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "slurm.controllerName" -}}
{{- if .Values.controller.external -}}
{{-   include "slurm.fullname" . -}}
{{- else -}}
{{-   include "slurm.statefulName" (list . "-controller") -}}
{{- end -}}
{{- end -}}

{{- define "slurm.accountingName" -}}
{{- if .Values.accounting.external -}}
{{-   include "slurm.fullname" . -}}
{{- else -}}
{{-   include "slurm.statefulName" (list . (.Values.accounting.database.embedded.enabled | ternary "-accounting-db" "-accounting")) -}}
{{- end -}}
{{- end -}}
