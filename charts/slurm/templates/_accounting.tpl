{{/* The annotation by which the operator runs a database for trials beside slurmdbd; nothing without one. */}}
{{- define "slurm.embeddedDatabase" -}}
{{- $embedded := .Values.accounting.database.embedded -}}
{{- if $embedded.enabled -}}
{{-   if .Values.accounting.external -}}
{{-     fail "accounting.database.embedded and accounting.external exclude each other: an external slurmdbd has a database of its own." -}}
{{-   end -}}
capstan.dev/embedded-database: {{ $embedded.size | quote }}
{{- end -}}
{{- end -}}
