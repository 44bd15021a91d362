{{/* References to Secrets and ConfigMaps. */}}

{{- define "slurm.slurmKeyRef" -}}
name: {{ .Values.slurmKey.secretRef.name | default (printf "%s-auth-slurm" (include "slurm.fullname" .)) }}
key: {{ .Values.slurmKey.secretRef.key | default "slurm.key" }}
{{- end -}}

{{- define "slurm.jwtKeyRef" -}}
name: {{ .Values.jwtKey.secretRef.name | default (printf "%s-auth-jwt" (include "slurm.fullname" .)) }}
key: {{ .Values.jwtKey.secretRef.key | default "jwt.key" }}
{{- end -}}

{{- define "slurm.jwksKeyRef" -}}
name: {{ .Values.jwksKeys.configMapRef.name | default (printf "%s-auth-jwks" (include "slurm.fullname" .)) }}
key: {{ .Values.jwksKeys.configMapRef.key | default "jwks.json" }}
{{- end -}}

{{- define "slurm.sssdConfRef" -}}
name: {{ .Values.sssd.secretRef.name | default (printf "%s-sssd-conf" (include "slurm.fullname" .)) }}
key: {{ .Values.sssd.secretRef.key | default "sssd.conf" }}
{{- end -}}

{{/* The key references that every Slurm daemon in this cluster needs. */}}
{{- define "slurm.keyRefs" -}}
slurmKeyRef:
  {{- include "slurm.slurmKeyRef" . | nindent 2 }}
jwtKeyRef:
  {{- include "slurm.jwtKeyRef" . | nindent 2 }}
{{- if .Values.jwksKeys.enabled }}
jwksKeyRef:
  {{- include "slurm.jwksKeyRef" . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Which keys the operator may create: "true" for both, "slurm" or "jwt" for one, nothing for none. The keys of a cluster of which a part runs
elsewhere exist already, and a new one would lock the two parts out from each other.
*/}}
{{- define "slurm.generateKeys" -}}
{{- $hybrid := or .Values.controller.external (and .Values.accounting.enabled .Values.accounting.external) -}}
{{- if not $hybrid -}}
{{-   if and .Values.slurmKey.create .Values.jwtKey.create -}}
true
{{-   else if .Values.slurmKey.create -}}
slurm
{{-   else if .Values.jwtKey.create -}}
jwt
{{-   end -}}
{{- end -}}
{{- end -}}

{{/*
A field that lists ConfigMaps: (dict "root" ROOT "field" FIELD "suffix" SUFFIX "files" FILES "refs" LIST "filesFirst" BOOL ["last" SUFFIX]). The chart's
own ConfigMap <fullname>-<suffix> is listed when it has files, before or after the user's; <fullname>-<last> when it is given. Nothing when the list
is empty.
*/}}
{{- define "slurm.configMapRefs" -}}
{{- $own := list -}}
{{- if .files -}}
{{-   $own = list (printf "%s-%s" (include "slurm.fullname" .root) .suffix) -}}
{{- end -}}
{{- $names := list -}}
{{- range .refs -}}
{{-   $names = append $names .name -}}
{{- end -}}
{{- $names = .filesFirst | ternary (concat $own $names) (concat $names $own) -}}
{{- with .last -}}
{{-   $names = append $names (printf "%s-%s" (include "slurm.fullname" $.root) .) -}}
{{- end -}}
{{- with $names -}}
{{ $.field }}:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* A ConfigMap of files, if there are any: (list ROOT SUFFIX FILES PREFIX). */}}
{{- define "slurm.fileConfigMap" -}}
{{- $root := index . 0 -}}
{{- $prefix := index . 3 -}}
{{- with index . 2 -}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "slurm.metadata" (list $root (printf "%s-%s" (include "slurm.fullname" $root) (index $ 1))) | nindent 2 }}
data:
  {{- range $file, $text := . }}
  {{ printf "%s%s" $prefix $file | quote }}: {{ $text | toJson }}
  {{- end }}
{{ end -}}
{{- end -}}
