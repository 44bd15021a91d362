{{/* Parts of the NodeSet resource that need more than a line. */}}

{{/* Fields that go into the resource as they are, when they are given; those after oversubscribeNode have no default here. */}}
{{- define "slurm.nodesetFields" -}}
{{- $fields := list "scalingMode" "pinToNode" "workloadDisruptionProtection" "pruneSlurmNodeRecords" "ordinalPadding" "oversubscribeNode"
      "minReadySeconds" "revisionHistoryLimit" "persistentVolumeClaimRetentionPolicy" "volumeClaimTemplates" -}}
{{- $kept := dict -}}
{{- range $fields -}}
{{-   if hasKey $ . -}}
{{-     $_ := set $kept . (get $ .) -}}
{{-   end -}}
{{- end -}}
{{- /* A number that is not given belongs to kubectl scale or an autoscaler; a DaemonSet's is that of the nodes. */ -}}
{{- if and (kindIs "float64" (get . "replicas")) (ne .scalingMode "DaemonSet") -}}
{{-   $_ := set $kept "replicas" .replicas -}}
{{- end -}}
{{- toYaml $kept -}}
{{- end -}}

{{/* (list PATH PARTITION) */}}
{{- define "slurm.nodesetPartition" -}}
{{- $where := index . 0 -}}
{{- with index . 1 -}}
enabled: {{ .enabled }}
{{- with include "slurm.confOneLine" (dict "where" (printf "%s.partition.configMap" $where) "text" .config "map" .configMap) }}
config: {{ . | toJson }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* Only the strategy in use; the defaults hold a budget for rolling updates in any case. */}}
{{- define "slurm.updateStrategy" -}}
type: {{ .type }}
{{- if and (eq .type "RollingUpdate") .rollingUpdate }}
rollingUpdate:
  {{- toYaml .rollingUpdate | nindent 2 }}
{{- else if and (eq .type "ScheduledUpdate") .scheduledUpdate }}
scheduledUpdate:
  {{- toYaml .scheduledUpdate | nindent 2 }}
{{- end }}
{{- end -}}
