{{/*
The pod template of a custom resource: (dict "root" ROOT "metadata" MAP "spec" MAP ["hostname" PREFIX]). The global pull secrets follow the pod's
own; the global priority class and the host name apply unless the pod has its own.
*/}}
{{- define "slurm.podTemplate" -}}
{{- $values := .root.Values -}}
{{- $spec := deepCopy (.spec | default dict) -}}
{{- $_ := set $spec "imagePullSecrets" (concat ($spec.imagePullSecrets | default list) ($values.imagePullSecrets | default list) | uniq) -}}
{{- if and $values.priorityClass.enabled (not $spec.priorityClassName) -}}
{{-   $_ := set $spec "priorityClassName" (include "slurm.priorityClassName" .root) -}}
{{- end -}}
{{- if and .hostname (not $spec.hostname) -}}
{{-   $_ := set $spec "hostname" .hostname -}}
{{- end -}}
{{- with include "slurm.pruned" .metadata -}}
metadata:
  {{- . | nindent 2 }}
{{ end -}}
spec:
  {{- include "slurm.pruned" $spec | default "{}" | nindent 2 }}
{{- end -}}

{{- define "slurm.priorityClassName" -}}
{{- .Values.priorityClass.name | default "slurm-priority-critical" -}}
{{- end -}}
